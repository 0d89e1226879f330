"""Messages that are read past the library: what it would have read, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.streams import StreamReader
from websockets.uri import parse_uri

from server.inlet import is_between_messages, is_pong, whole_message


def frame(payload: bytes, opcode: Opcode = Opcode.BINARY, *, fin: bool = True, mask: bool = True) -> bytes:
    return Frame(opcode, payload, fin).serialize(mask=mask)


def as_the_library_reads(data: bytes) -> tuple[bytes | str, int] | None:
    """The first frame of `data`, if the library finds a whole data frame there, and what it took."""
    reader = StreamReader()
    reader.feed_data(data)
    parsing = Frame.parse(reader.read_exact, mask=True, max_size=2**16)
    try:
        next(parsing)
    except StopIteration as done:
        found: Frame = done.value
        if not found.fin or found.opcode not in (Opcode.TEXT, Opcode.BINARY):
            return None
        payload = bytes(found.data)
        try:
            message = payload if found.opcode is Opcode.BINARY else payload.decode()
        except UnicodeDecodeError:
            return None
        return message, len(data) - len(reader.buffer)
    except ProtocolError:
        return None
    return None


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 125, 126, 127, 500, 65_535])
@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.BINARY])
def test_a_whole_message_is_read(size: int, opcode: Opcode) -> None:
    payload = b"x" * size
    data = b"before" + frame(payload, opcode) + b"behind"
    message = payload.decode() if opcode is Opcode.TEXT else payload
    assert whole_message(data, 6) == (message, len(data) - 6)


OTHERS = {
    "nothing": b"",
    "the beginning of a message in pieces": frame(b"abc", fin=False),
    "the end of a message in pieces": frame(b"abc", Opcode.CONT),
    "a ping": frame(b"abc", Opcode.PING),
    "a close": frame(b"abc", Opcode.CLOSE),
    "no mask": frame(b"abc", mask=False),
    "no UTF-8": frame(b"\xff\xfe", Opcode.TEXT),
    "a long message": frame(bytes(65_536)),
    "a reserved bit": b"\xc2" + frame(b"abc")[1:],
    "an opcode that does not exist": b"\x83" + frame(b"abc")[1:],
    "a longer head than it needs": b"\x82\xfe\x00\x03" + frame(b"abc")[2:],
}


@pytest.mark.parametrize("what", OTHERS)
def test_everything_else_is_the_librarys(what: str) -> None:
    assert whole_message(OTHERS[what], 0) is None


@pytest.mark.parametrize("payload", [b"abc", b"x" * 200])
def test_what_has_not_come_to_its_end_is_the_librarys(payload: bytes) -> None:
    whole = frame(payload)
    assert all(whole_message(whole[:end], 0) is None for end in range(len(whole)))


@st.composite
def beginnings(draw: st.DrawFn) -> bytes:
    """Frames of any kind, some of them cut off."""
    opcode = draw(st.sampled_from(list(Opcode)))
    is_control = opcode >= Opcode.CLOSE
    payload = draw(st.binary(max_size=125 if is_control else 300))
    whole = frame(payload, opcode, fin=is_control or draw(st.booleans()), mask=draw(st.booleans()))
    return whole[: len(payload) + draw(st.integers(0, 12))]


@given(beginnings() | st.binary(max_size=12), st.binary(max_size=8))
def test_what_is_read_is_what_the_library_reads(data: bytes, behind: bytes) -> None:
    found = whole_message(data + behind, 0)
    assert found is None or found == as_the_library_reads(data + behind)


@pytest.mark.parametrize("payload", [b"", b"punto", b"x" * 125])
def test_a_pong_by_itself_is_one(payload: bytes) -> None:
    whole = frame(payload, Opcode.PONG)
    assert is_pong(whole)
    others = [frame(payload, Opcode.PONG, mask=False), frame(payload, Opcode.PING), frame(payload), whole + whole]
    assert not any(is_pong(data) for data in (*others, *(whole[:end] for end in range(len(whole)))))


@given(beginnings() | st.binary(max_size=12), st.binary(max_size=8))
def test_what_is_taken_for_a_pong_is_one_to_the_library(data: bytes, behind: bytes) -> None:
    if is_pong(data + behind):
        protocol = opened()
        protocol.receive_data(data + behind)
        (pong,) = protocol.events_received()
        assert isinstance(pong, Frame)
        assert pong.opcode is Opcode.PONG
        assert is_between_messages(protocol)


def opened() -> ServerProtocol:
    """A server's side behind its handshake."""
    protocol = ServerProtocol()
    client = ClientProtocol(parse_uri("ws://punto.test/"))
    client.send_request(client.connect())
    protocol.receive_data(b"".join(client.data_to_send()))
    (request,) = protocol.events_received()
    assert not is_between_messages(protocol)
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    return protocol


def test_a_message_may_begin_only_where_the_library_has_read_to_the_end_of_one() -> None:
    messages = [
        frame(b"abc"),
        frame(b"x" * 200),
        frame(b"") + frame(b"", Opcode.PING),
        frame(b"a", fin=False) + frame(b"b", Opcode.PING) + frame(b"c", Opcode.CONT),
        frame(b"abc", Opcode.PONG),
    ]
    protocol = opened()
    assert is_between_messages(protocol)
    for message in messages:
        starts = {0, len(message)} | ({len(frame(b""))} if message is messages[2] else set())
        for at in range(len(message)):
            assert is_between_messages(protocol) == (at in starts), message[:at]
            protocol.receive_data(message[at : at + 1])
    assert is_between_messages(protocol)
    protocol.receive_data(frame(b"\x03\xe8", Opcode.CLOSE))
    assert not is_between_messages(protocol)
