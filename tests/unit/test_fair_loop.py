"""Turns of the loop: short, fair, and what everybody waits for first."""

import asyncio
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from server.fair_loop import (
    EVENTS_A_TURN,
    EVENTS_A_TURN_MIN,
    LONG_TURN_S,
    FairLoop,
    FairSelector,
    let_go_first,
    new_loop,
)

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def selector(stack: ExitStack) -> FairSelector:
    selector = FairSelector(lambda: 0.0)  # no turn is a long one
    stack.callback(selector.close)
    return selector


def pairs(stack: ExitStack, count: int) -> list[Pair]:
    made = [socket.socketpair() for _ in range(count)]
    for pair in made:
        for sock in pair:
            stack.enter_context(sock)
    return made


def told(selector: FairSelector, timeout: float | None = 0) -> list[tuple[int, int]]:
    return [(key.fd, events) for key, events in selector.select(timeout)]


def test_a_turn_is_bounded_and_nobody_is_passed_over(selector: FairSelector, stack: ExitStack) -> None:
    made = pairs(stack, 3 * EVENTS_A_TURN + 1)
    for near, far in made:
        selector.register(near, READ)
        far.send(b"x")
    seen = [[fd for fd, _ in told(selector)] for _ in range(4)]  # nobody reads: all stay ready
    assert [len(turn) for turn in seen] == [EVENTS_A_TURN] * 4
    assert {fd for turn in seen for fd in turn} == {near.fileno() for near, _ in made}


def test_behind_long_turns_less_is_told(stack: ExitStack) -> None:
    now_s = 0.0
    selector = FairSelector(lambda: now_s)
    stack.callback(selector.close)
    for near, far in pairs(stack, EVENTS_A_TURN):
        selector.register(near, READ)
        far.send(b"x")
    counts = []
    for took_s in (0.0, 1.1, 1.1, 1.1, 0.7, 0.4, 0.4, 0.4):
        now_s += took_s * LONG_TURN_S
        counts.append(len(told(selector)))
    half, quarter = EVENTS_A_TURN // 2, EVENTS_A_TURN_MIN
    assert counts == [EVENTS_A_TURN, half, quarter, quarter, quarter, half, EVENTS_A_TURN, EVENTS_A_TURN]


def test_what_everybody_waits_for_is_told_in_every_turn_and_first(selector: FairSelector, stack: ExitStack) -> None:
    made = pairs(stack, 3 * EVENTS_A_TURN)
    for near, far in made:
        selector.register(near, READ)
        far.send(b"x")
    (line, there), *_ = pairs(stack, 1)
    selector.register(line, READ)
    selector.let_go_first(line.fileno())
    assert line.fileno() not in {fd for fd, _ in told(selector)}
    there.send(b"x")
    for _ in range(10):
        turn = told(selector)
        assert turn[0] == (line.fileno(), READ)
        assert len(turn) == len(dict(turn))
    selector.unregister(line)
    assert line.fileno() not in {fd for _ in range(10) for fd, _ in told(selector)}


def test_it_sleeps_until_something_comes(selector: FairSelector, stack: ExitStack) -> None:
    ((near, far),) = pairs(stack, 1)
    selector.register(near, READ)
    selector.let_go_first(near.fileno())
    assert told(selector, 0.01) == []
    far.send(b"x")
    assert told(selector, None) == [(near.fileno(), READ)]


def test_reading_and_writing_are_told_apart(selector: FairSelector, stack: ExitStack) -> None:
    ((near, far),) = pairs(stack, 1)
    selector.register(near, WRITE, "data")
    far.send(b"x")
    assert told(selector) == [(near.fileno(), WRITE)]
    selector.modify(near, READ, "other")
    assert told(selector) == [(near.fileno(), READ)]
    assert selector.get_key(near).data == selector.get_map()[near.fileno()].data == "other"
    selector.modify(near, READ | WRITE)
    far.close()
    assert told(selector) == [(near.fileno(), READ | WRITE)], "an end is told to who reads and to who writes"


def test_one_that_was_closed_first_is_let_go(selector: FairSelector, stack: ExitStack) -> None:
    ((near, _),) = pairs(stack, 1)
    fd = near.fileno()
    selector.register(fd, READ)
    selector.let_go_first(fd)
    near.close()
    assert told(selector) == []
    assert selector.unregister(fd).fd == fd
    with pytest.raises(KeyError):
        selector.unregister(fd)


def test_nothing_is_watched_twice_or_without_a_descriptor(selector: FairSelector, stack: ExitStack) -> None:
    ((near, _),) = pairs(stack, 1)
    selector.register(near, READ)
    with pytest.raises(KeyError):
        selector.register(near.fileno(), READ)
    with pytest.raises((OSError, ValueError)):
        selector.register(-1, READ)
    with pytest.raises(KeyError):
        selector.get_key(10_000)
    assert list(selector.get_map()) == [near.fileno()]


def test_a_loop_serves_many_at_once() -> None:
    """Each socket has its own answer, however many speak in one moment, and one of them may go first."""

    async def talk() -> list[bytes]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            let_go_first(writer.transport)
            writer.write(await reader.readexactly(4))
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]

            async def ask(number: int) -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"%4d" % number)
                said = await reader.read()
                writer.close()
                return said

            return await asyncio.gather(*(ask(number) for number in range(4 * EVENTS_A_TURN)))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert isinstance(runner.get_loop(), FairLoop)
        said = runner.run(asyncio.wait_for(talk(), 20))
    assert said == [b"%4d" % number for number in range(4 * EVENTS_A_TURN)]
