"""Frames that are built here are those of the library, whatever their length."""

import pytest
from websockets.frames import Frame, Opcode

from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from server.outlet import framed_payload


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
@pytest.mark.parametrize(("codec", "opcode"), [(MSGPACK, Opcode.BINARY), (JSON, Opcode.TEXT)])
def test_a_frame_is_the_librarys(codec: Codec, opcode: Opcode, size: int) -> None:
    payload = b"x" * size
    expected = Frame(opcode, payload).serialize(mask=False, extensions=[])
    assert framed_payload(codec, payload.decode() if codec.is_text else payload) == expected
