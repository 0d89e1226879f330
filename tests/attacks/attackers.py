"""What strangers do to a node, each as hard as it can, until it is stopped. `size` is how many lines they have.

They come through a proxy: few addresses with many lines each. Where the node cuts them off they come back.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Final

from websockets.frames import Frame, Opcode

from tests.attacks.line import Line, Target, framed, handshake

OPENINGS_AT_ONCE: Final = 50
PAUSE_S: Final = 0.05
LINES_OF_AN_ADDRESS: Final = 40
BATCH: Final = 50
TABLE: Final = "royal-1"
Attack = Callable[[Target, int, Counter[str]], Coroutine[None, None, None]]


async def half_open(target: Target, size: int, seen: Counter[str]) -> None:
    """TCP connections that say nothing, or half a request."""

    async def one(number: int) -> None:
        line = await Line.open(target)
        seen["opened"] += 1
        if number % 2:
            line.writer.write(handshake(target, _address(number))[:60])
        await line.swallow()
        seen["cut off"] += 1
        line.cut()

    await _all(size, one, seen)


async def slow_loris(target: Target, size: int, seen: Counter[str]) -> None:
    """Handshakes byte by byte, and behind a quick one a hello byte by byte."""

    async def one(number: int) -> None:
        if number % 2:
            line, rest = await Line.open(target), handshake(target, _address(number))
        else:
            line = await Line.shaken(target, _address(number))
            rest = framed({"type": "hello", "request_id": "x", "name": "Loris", "client": "slow"})
        seen["opened"] += 1
        try:
            for place in range(len(rest) - 1):
                line.writer.write(rest[place : place + 1])
                await line.drained()
                await asyncio.sleep(0.3)
        finally:
            seen["cut off"] += 1
            line.cut()

    await _all(size, one, seen)


async def flood_of_acts(target: Target, size: int, seen: Counter[str]) -> None:
    """Seated guests that send acts without a pause."""

    async def one(number: int) -> None:
        line = await _guest(target, number)
        line.send(type="join", request_id="join", table=TABLE, buy_in=10_000)
        acts = (
            framed({"type": "undo", "request_id": f"{number}-{n}", "table": TABLE, "round": 1})
            for n in itertools.count()
        )
        await _pour(line, acts, seen)

    await _all(size, one, seen)


async def flood_of_questions(target: Target, size: int, seen: Counter[str]) -> None:
    """Guests that ask for the lobby without a pause: each page is five reads of the store."""

    async def one(number: int) -> None:
        line = await _guest(target, number)
        await _pour(line, itertools.repeat(framed({"type": "list_tables", "request_id": "x"})), seen)

    await _all(size, one, seen)


async def rubbish(target: Target, size: int, seen: Counter[str]) -> None:
    """Frames that are no messages: deep, cut, of the other kind, and those that announce four billion elements."""
    frames = [
        Frame(Opcode.BINARY, b"\xdd\xff\xff\xff\xff"),
        Frame(Opcode.BINARY, b"\xdf\xff\xff\xff\xff"),
        Frame(Opcode.BINARY, b"\xc6\xff\xff\xff\xff"),
        Frame(Opcode.BINARY, b"\x91" * 16_000),
        Frame(Opcode.BINARY, b"\xff"),
        Frame(Opcode.TEXT, b"{}"),
    ]
    packed = [frame.serialize(mask=True) for frame in frames]

    async def one(number: int) -> None:
        line = await Line.shaken(target, _address(number))
        await _pour(line, itertools.cycle(packed), seen)

    await _all(size, one, seen)


async def big_frames(target: Target, size: int, seen: Counter[str]) -> None:
    """Messages of a megabyte, whole, in pieces without end, and empty pieces without end."""
    whole = Frame(Opcode.BINARY, bytes(2**20)).serialize(mask=True)
    start = Frame(Opcode.BINARY, b"", fin=False).serialize(mask=True)
    empty = Frame(Opcode.CONT, b"", fin=False).serialize(mask=True) * 100
    piece = Frame(Opcode.CONT, bytes(1_000), fin=False).serialize(mask=True)

    async def one(number: int) -> None:
        line = await Line.shaken(target, _address(number))
        kinds = ([whole], [start, *[empty] * 100], [start, *[piece] * 100])
        await _pour(line, iter(kinds[number % 3]), seen)

    await _all(size, one, seen)


async def guesses(target: Target, size: int, seen: Counter[str]) -> None:
    """Hellos with tokens that might be somebody's."""

    async def one(number: int) -> None:
        line = await Line.shaken(target, _address(number))
        chance = random.Random(number)
        hellos = (
            framed({"type": "hello", "request_id": "x", "token": f"guest.g{chance.randrange(2**64):016x}.AAAA"})
            for _ in itertools.count()
        )
        await _pour(line, hellos, seen)

    await _all(size, one, seen)


async def deaf_readers(target: Target, size: int, seen: Counter[str]) -> None:
    """Spectators that never read, while they ask for all that a node tells."""

    async def one(number: int) -> None:
        line = await _guest(target, number)
        transport = line.writer.transport
        assert isinstance(transport, asyncio.Transport), "a socket is read as well"
        transport.pause_reading()
        line.send(type="watch", request_id="watch", table=TABLE)
        seen["opened"] += 1
        try:
            for _ in range(600):
                line.send(type="list_tables", request_id="x")
                await line.drained()
                await asyncio.sleep(0.05)
        finally:
            seen["cut off"] += 1
            line.cut()

    await _all(size, one, seen)


async def comers_and_goers(target: Target, size: int, seen: Counter[str]) -> None:
    """Handshakes and hellos without a pause, and gone again."""

    async def one(number: int) -> None:
        line = await _guest(target, number)
        seen["opened"] += 1
        line.cut()

    await _all(size, one, seen, pause_s=0)


ATTACKS: Final[Mapping[str, tuple[Attack, int]]] = {
    "half_open": (half_open, 5_000),
    "slow_loris": (slow_loris, 500),
    "flood_of_acts": (flood_of_acts, 50),
    "flood_of_questions": (flood_of_questions, 50),
    "rubbish": (rubbish, 50),
    "big_frames": (big_frames, 50),
    "guesses": (guesses, 50),
    "deaf_readers": (deaf_readers, 1_000),
    "comers_and_goers": (comers_and_goers, 50),
}
"""By name: how it is done, and by how many lines in the long form."""


async def _all(
    size: int, one: Callable[[int], Awaitable[None]], seen: Counter[str], *, pause_s: float = PAUSE_S
) -> None:
    """Have so many do the same, again and again."""
    openings = asyncio.Semaphore(OPENINGS_AT_ONCE)

    async def again(number: int) -> None:
        async with openings:  # not all in one instant: the machine's own backlog would refuse them
            await asyncio.sleep(0.01)
        while True:
            try:
                await one(number)
            except ConnectionRefusedError as refused:
                seen[str(refused) or "refused"] += 1
                await asyncio.sleep(10 * pause_s)
            except (OSError, TimeoutError):
                seen["broken off"] += 1
            await asyncio.sleep(pause_s)

    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(again(number))


async def _guest(target: Target, number: int) -> Line:
    line = await Line.shaken(target, _address(number))
    line.send(type="hello", request_id="hello", name=f"Guest {number}")
    return line


async def _pour(line: Line, frames: Iterable[bytes], seen: Counter[str]) -> None:
    """Send frames as fast as they are taken, and swallow what comes, until the node has had enough."""
    seen["opened"] += 1
    swallowing = asyncio.create_task(line.swallow())
    try:
        for count, frame in enumerate(frames):
            line.writer.write(frame)
            seen["sent"] += 1
            if line.writer.transport.is_closing():
                break
            if count % BATCH == BATCH - 1:
                await line.drained()
                await asyncio.sleep(0)
        await asyncio.wait([swallowing], timeout=10)
    finally:
        seen["cut off"] += swallowing.done() or line.reader.at_eof()
        swallowing.cancel()
        with suppress(asyncio.CancelledError):
            await swallowing
        line.cut()


def _address(number: int) -> str:
    """The address of a line, as the proxy tells it."""
    return f"198.51.100.{1 + number // LINES_OF_AN_ADDRESS}"
