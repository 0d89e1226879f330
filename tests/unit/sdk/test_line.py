"""One socket against a peer that cuts, garbles, floods and stalls: what is delivered, and how the line ends."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close, Frame, Opcode
from websockets.typing import Subprotocol

from client_sdk.line import Line, LineEnd, open_line
from client_sdk.protocol.codec import CODECS, JSON, MSGPACK, BadMessage, Codec
from tests.unit.sdk.scripted import QUICK

UNREAD: Final = LineEnd(None, "a message could not be read")
DROPPED: Final = LineEnd(None, "dropped")
HEARD: Final = {"type": "crowd", "table": "Tisch Ä 🂡"}
KINDS: Final = {JSON.subprotocol: Opcode.TEXT, MSGPACK.subprotocol: Opcode.BINARY}


@asynccontextmanager
async def house(codec: Codec = MSGPACK, greeting: bytes = b"", **changes: Any) -> AsyncIterator[tuple[Line, Any]]:
    """A line, and the other end of it, which has said `greeting` with its handshake and answers nothing by itself."""
    came: asyncio.Future[ServerConnection] = asyncio.get_running_loop().create_future()

    async def keep(peer: ServerConnection) -> None:
        peer.transport.write(greeting)
        came.set_result(peer)
        await peer.wait_closed()

    names = [Subprotocol(name) for name in CODECS]
    async with serve(keep, "127.0.0.1", 0, subprotocols=names, compression=None, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        line = await open_line(f"ws://127.0.0.1:{port}", codec, replace(QUICK, **changes))
        peer = await came
        try:
            yield line, peer
        finally:
            line.abort()
            peer.transport.abort()


async def ran(line: Line, deliver: Callable[[Any], None]) -> LineEnd:
    """Run a line to its end."""
    async with asyncio.timeout(5):
        return await line.run(deliver)


def frame(data: bytes, opcode: Opcode = Opcode.BINARY, *, fin: bool = True) -> bytes:
    """A frame as a server sends it."""
    return Frame(opcode, data, fin).serialize(mask=False)


def goodbye(code: int, reason: str = "") -> bytes:
    """A close frame."""
    return frame(Close(code, reason).serialize(), Opcode.CLOSE)


def parted(whole: bytes, cuts: Iterable[int], kind: Opcode) -> list[bytes]:
    """One message in so many frames, with a ping after each."""
    places = [0, *sorted(cuts), len(whole)]
    parts = [whole[first:last] for first, last in pairwise(places)]
    frames = []
    for at, part in enumerate(parts):
        frames.append(frame(part, Opcode.CONT if at else kind, fin=at == len(parts) - 1))
        frames.append(frame(b"still there?", Opcode.PING))
    return frames


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_message_in_parts_is_one_message(data: st.DataObject) -> None:
    """Wherever it is cut: in a character of several bytes, with empty parts, over several reads, with pings between."""
    codec = data.draw(st.sampled_from([JSON, MSGPACK]))
    told = codec.encode(HEARD)
    whole = told.encode() if isinstance(told, str) else told
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=6))
    sent = b"".join(parted(whole, cuts, KINDS[codec.subprotocol]) * 2) + goodbye(1001)
    pieces = data.draw(st.lists(st.integers(0, len(sent)), max_size=4))

    async def play() -> None:
        heard: list[Any] = []
        async with house(codec) as (line, peer):
            running = asyncio.create_task(ran(line, heard.append))
            places = [0, *sorted(pieces), len(sent)]
            for first, last in pairwise(places):
                peer.transport.write(sent[first:last])
                await asyncio.sleep(0)
            assert await running == LineEnd(1001, "")
        assert [codec.decode(one) for one in heard] == [HEARD, HEARD]

    asyncio.run(play())


async def test_parts_without_an_end_and_without_content_are_not_kept() -> None:
    heard: list[Any] = []
    async with house() as (line, peer):
        running = asyncio.create_task(ran(line, heard.append))
        peer.transport.write(frame(b"whole", fin=False) + frame(b"", Opcode.CONT, fin=False) * 50_000)
        await peer.ping()
        await asyncio.sleep(0.05)
        assert len(line._socket._parts) == len(b"whole")
        peer.transport.write(frame(b"", Opcode.CONT))
        await line.close()
        await running
    assert heard == [b"whole"]


async def test_a_message_in_parts_that_is_too_large_ends_the_line() -> None:
    heard: list[Any] = []
    async with house(message_bytes_max=1_000) as (line, peer):
        peer.transport.write(frame(b"a" * 999, fin=False) + frame(b"bb", Opcode.CONT))
        assert await ran(line, heard.append) == DROPPED
    assert heard == []


async def test_what_comes_before_somebody_listens_is_heard_first() -> None:
    heard: list[Any] = []
    async with house(greeting=frame(b"1") + frame(b"2")) as (line, peer):
        await asyncio.sleep(0.02)
        peer.transport.write(frame(b"3") + goodbye(1001))
        await ran(line, heard.append)
    assert heard == [b"1", b"2", b"3"]


@pytest.mark.parametrize("parts", [[b"\xff"], [b"\xe2\x82", b"("], [b"whole", b"\xc3"]])
async def test_text_that_is_none_ends_the_line(parts: list[bytes]) -> None:
    heard: list[Any] = []
    async with house(JSON) as (line, peer):
        whole = b"".join(parts)
        peer.transport.write(b"".join(parted(whole, [len(parts[0])], Opcode.TEXT)))
        assert await ran(line, heard.append) == UNREAD
    assert heard == []


async def test_words_and_a_goodbye_in_one_breath_are_all_heard() -> None:
    heard: list[Any] = []
    async with house() as (line, peer):
        peer.transport.write(frame(b"1") + frame(b"2") + goodbye(4001, "elsewhere"))
        assert await ran(line, heard.append) == LineEnd(4001, "elsewhere")
    assert heard == [b"1", b"2"]


async def test_a_goodbye_in_the_middle_of_a_message_keeps_its_code() -> None:
    heard: list[Any] = []
    async with house() as (line, peer):
        peer.transport.write(frame(b"half of it", fin=False) + goodbye(4001, "elsewhere"))
        assert await ran(line, heard.append) == LineEnd(4001, "elsewhere")
    assert heard == []


@pytest.mark.parametrize("unspeakable", [goodbye(4001, "elsewhere"), b"\xff\xff\xff\xff"])
async def test_a_peer_that_says_goodbye_and_stays_is_left(unspeakable: bytes) -> None:
    """Also one that broke the protocol, and is told so in vain. No ping would notice for seconds."""
    async with house(close_ms=100, ping_interval_ms=60_000) as (line, peer):
        peer.transport.pause_reading()
        peer.transport.write(unspeakable)
        end = await ran(line, lambda _: None)
    assert end.close_code in (4001, None)


class TestFailures:
    """What `deliver` raises ends the line, and is told to whoever runs it."""

    async def test_a_fault_of_ours_is_raised_and_nothing_more_delivered(self) -> None:
        heard: list[Any] = []

        def stumble(told: Any) -> None:
            heard.append(told)
            raise LookupError("ours")

        async with house() as (line, peer):
            peer.transport.write(frame(b"1") + frame(b"2") + frame(b"\xff", Opcode.TEXT) + goodbye(1000))
            with pytest.raises(LookupError, match="ours"):
                await ran(line, stumble)
            await asyncio.wait_for(peer.wait_closed(), 5)
        assert heard == [b"1"]

    async def test_a_fault_in_what_came_early_is_raised_too(self) -> None:
        heard: list[Any] = []

        def stumble(told: Any) -> None:
            heard.append(told)
            raise LookupError("ours")

        async with house(greeting=frame(b"1") + frame(b"2")) as (line, _):
            await asyncio.sleep(0.02)
            with pytest.raises(LookupError):
                await ran(line, stumble)
        assert heard == [b"1"]

    async def test_what_cannot_be_read_is_the_peers_fault(self) -> None:
        def read(told: Any) -> None:
            MSGPACK.decode(told)

        async with house() as (line, peer):
            peer.transport.write(frame(b"\xc1"))
            assert await ran(line, read) == UNREAD
        with pytest.raises(BadMessage):
            read(b"\xc1")

    async def test_a_run_that_is_cancelled_drops_the_line(self) -> None:
        async with house() as (line, peer):
            running = asyncio.create_task(line.run(lambda _: None))
            await asyncio.sleep(0.02)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await asyncio.wait_for(peer.wait_closed(), 5)


class TestWriting:
    """What a peer does not take is bounded, and never noticed too late."""

    async def test_posts_leave_in_their_order_from_within_a_delivery_too(self) -> None:
        async with house() as (line, peer):
            line.post(b"1")
            running = asyncio.create_task(ran(line, line.post))
            line.post(b"2")
            await peer.send(b"3")
            await peer.send(b"4")
            async with asyncio.timeout(5):
                assert [await peer.recv() for _ in range(4)] == [b"1", b"2", b"3", b"4"]
            line.abort()
            assert await running == DROPPED

    async def test_a_peer_that_takes_nothing_is_dropped(self) -> None:
        outbox_max = 100_000
        async with house(outbox_bytes_max=outbox_max) as (line, peer):
            peer.transport.pause_reading()
            running = asyncio.create_task(ran(line, lambda _: None))
            transport = line._socket.transport
            sizes = []
            for _ in range(100_000):
                line.post(b"x" * 1_000)
                if transport.is_closing():
                    break
                sizes.append(transport.get_write_buffer_size())
            assert 0 < max(sizes) <= outbox_max + 100
            assert await running == DROPPED

    async def test_a_ping_does_not_wait_for_room(self) -> None:
        """Else a line that is full would never be noticed: no more pings, no pong that is missing."""
        async with house(ping_interval_ms=50, ping_timeout_ms=50, close_ms=100) as (line, peer):
            peer.transport.pause_reading()
            running = asyncio.create_task(ran(line, lambda _: None))
            while line._socket.transport.get_write_buffer_size() < 200_000:
                line.post(b"x" * 10_000)
            assert await running == DROPPED

    async def test_after_the_end_nothing_is_written_or_told(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        async with house() as (line, peer):
            running = asyncio.create_task(ran(line, lambda _: None))
            await asyncio.sleep(0)
            line.abort()
            for _ in range(20):  # the transport would complain after the fifth
                line.post(b"too late")
            assert await running == DROPPED
            line.post(b"too late")
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(peer.recv(), 5)
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_line_that_is_not_read_for_a_while_loses_nothing() -> None:
    heard: list[Any] = []
    async with house() as (line, peer):
        running = asyncio.create_task(ran(line, heard.append))
        line.pause_reading()
        line.pause_reading()
        await peer.send(b"1")
        await asyncio.sleep(0.02)
        assert heard == []
        line.resume_reading()
        await peer.send(b"2")
        await peer.close(1001)
        assert await running == LineEnd(1001, "")
        line.pause_reading()
        line.resume_reading()
    assert heard == [b"1", b"2"]
