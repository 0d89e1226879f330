"""Frames that are built here are those of the library, whatever their length; and what is written comes in its order,
whether it went past the transport or not."""

import asyncio
import socket
from types import SimpleNamespace
from typing import cast

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import State

from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from server.outlet import Outlet, framed_payload


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
@pytest.mark.parametrize(("codec", "opcode"), [(MSGPACK, Opcode.BINARY), (JSON, Opcode.TEXT)])
def test_a_frame_is_the_librarys(codec: Codec, opcode: Opcode, size: int) -> None:
    payload = b"x" * size
    expected = Frame(opcode, payload).serialize(mask=False, extensions=[])
    assert framed_payload(codec, payload.decode() if codec.is_text else payload) == expected


class Held(asyncio.Protocol):
    """Tells an outlet when the transport holds bytes back and when it does not any more, as a socket does."""

    outlet: Outlet
    times = 0

    def pause_writing(self) -> None:
        self.times += 1
        self.outlet.look()

    def resume_writing(self) -> None:
        self.outlet.look()


async def opened(bytes_max: int) -> tuple[Outlet, Held, SimpleNamespace, asyncio.WriteTransport, socket.socket]:
    """An outlet on a socket whose other end reads only when it is told to."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    held = Held()
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: held, sock=ours)
    transport.set_write_buffer_limits(0)
    protocol = SimpleNamespace(state=State.OPEN)
    websocket = cast(ServerConnection, SimpleNamespace(protocol=protocol, transport=transport))
    held.outlet = Outlet(websocket, MSGPACK, bytes_max)
    return held.outlet, held, protocol, transport, theirs


async def test_one_that_is_closing_is_never_full_and_waits_for_nobody() -> None:
    outlet, _, _, transport, theirs = await opened(bytes_max=10)
    while outlet.offer(b"x" * 100_000):
        pass
    waiting = asyncio.create_task(outlet.until_taken())
    await asyncio.sleep(0)
    assert not waiting.done(), "it is full"
    outlet.close_soon(4_001, "enough")
    async with asyncio.timeout(1):
        await waiting
        await outlet.until_taken()
    assert not outlet.is_full
    assert outlet.offer(b"behind a close frame"), "nobody is to be told that it is behind"
    transport.abort()
    theirs.close()


@pytest.mark.parametrize("bytes_each", [100, 70_000])
async def test_nothing_overtakes_what_the_system_has_not_taken(bytes_each: int) -> None:
    outlet, held, protocol, transport, theirs = await opened(bytes_max=100_000_000)
    loop = asyncio.get_running_loop()
    expected = received = b""
    for number in range(200):
        frame = bytes([number % 256]) * bytes_each
        expected += frame
        if number % 3:
            assert outlet.offer(frame)
        else:
            outlet.write(frame)
        if number % 50 == 49:
            received += await loop.sock_recv(theirs, 1_000_000)
    while len(received) < len(expected):
        received += await loop.sock_recv(theirs, 1_000_000)
    assert received == expected
    assert held.times > 0 or bytes_each == 100

    protocol.state = State.CLOSING
    outlet.look()
    outlet.write(b"behind a close frame")
    assert outlet.offer(b"behind a close frame")
    transport.close()
    assert await loop.sock_recv(theirs, 1_000) == b""
    theirs.close()
