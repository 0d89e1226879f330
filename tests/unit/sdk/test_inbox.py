"""A reader's queue: in order, bounded, and nothing lost in silence, however the read is cut short."""

import asyncio
from contextlib import suppress

import pytest

from client_sdk.exceptions import Disconnected
from client_sdk.inbox import Inbox
from client_sdk.protocol.messages import AnyEvent, Crowd, CrowdView, Snapshot, TableIdled
from tests.unit.sdk.builders import TABLE, view


def event(seq: int) -> TableIdled:
    return TableIdled(table=TABLE, seq=seq, round=0)


def crowd(seated: int) -> Crowd:
    return Crowd(table=TABLE, round=0, crowd=CrowdView(seated=seated, connected=0, ready=0, totals={}, bettors={}))


class State:
    """What a fresh snapshot would show."""

    seq = 0

    def fresh(self) -> Snapshot:
        return Snapshot(table=TABLE, reason="behind", snapshot=view(seq=self.seq))


@pytest.fixture
def state() -> State:
    return State()


async def read_all(inbox: Inbox) -> list[AnyEvent]:
    inbox.end()
    return [event async for event in inbox]


async def test_events_come_in_order_and_then_the_end(state: State) -> None:
    inbox = Inbox(10, state.fresh)
    for seq in (1, 2, 3):
        inbox.put(event(seq))
    assert len(inbox) == 3
    assert await read_all(inbox) == [event(1), event(2), event(3)]
    with pytest.raises(StopAsyncIteration):
        await anext(inbox)


async def test_an_error_comes_after_what_waits_and_stays(state: State) -> None:
    inbox = Inbox(10, state.fresh)
    inbox.put(event(1))
    inbox.end(Disconnected("gone"))
    inbox.end()  # only the first end counts
    inbox.put(event(2))
    assert await anext(inbox) == event(1)
    for _ in range(2):
        with pytest.raises(Disconnected):
            await anext(inbox)


async def test_a_reader_that_fell_behind_gets_the_rest_and_one_snapshot(state: State) -> None:
    inbox = Inbox(3, state.fresh)
    for seq in range(1, 9):
        inbox.put(event(seq))
        state.seq = seq
    assert len(inbox) == 4
    assert [await anext(inbox) for _ in range(4)] == [event(1), event(2), event(3), state.fresh()]
    inbox.put(event(9))
    assert await read_all(inbox) == [event(9)]


async def test_the_snapshot_is_made_when_it_is_read(state: State) -> None:
    inbox = Inbox(1, state.fresh)
    inbox.put(event(1))
    inbox.put(event(2))
    await anext(inbox)
    state.seq = 5
    assert await anext(inbox) == Snapshot(table=TABLE, reason="behind", snapshot=view(seq=5))


async def test_of_crowds_in_a_row_the_newest_is_kept(state: State) -> None:
    inbox = Inbox(3, state.fresh)
    for told in (crowd(1), crowd(2), event(1), crowd(3), crowd(4)):
        inbox.put(told)
    assert await read_all(inbox) == [crowd(2), event(1), crowd(4)]


async def test_a_waiting_reader_is_woken(state: State) -> None:
    inbox = Inbox(3, state.fresh)
    waiting = asyncio.create_task(anext(inbox))
    await asyncio.sleep(0)
    inbox.put(event(1))
    assert await waiting == event(1)


async def test_reads_with_a_tiny_timeout_lose_nothing(state: State) -> None:
    """BL-123: a thousand events, read with a timeout of 1 ms again and again."""
    inbox, seen = Inbox(2_000, state.fresh), []

    async def write() -> None:
        for seq in range(1_000):
            inbox.put(event(seq))
            if seq % 7 == 0:
                await asyncio.sleep(0.0005)
        inbox.end()

    writing = asyncio.create_task(write())
    with suppress(StopAsyncIteration):
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.001):
                    seen.append(await anext(inbox))
    await writing
    assert seen == [event(seq) for seq in range(1_000)]


async def test_two_readers_of_one_inbox_share_its_events(state: State) -> None:
    inbox = Inbox(10, state.fresh)
    both = [asyncio.create_task(anext(inbox)) for _ in range(2)]
    await asyncio.sleep(0)
    inbox.put(event(1))
    inbox.put(event(2))
    assert sorted([(await task).seq for task in both]) == [1, 2]  # type: ignore[union-attr]
