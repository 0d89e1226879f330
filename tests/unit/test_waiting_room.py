"""Who waits at the door is let in by turns: some at a look while the loop is in time, one while it is late."""

import asyncio
from contextlib import suppress

import pytest

from server import waiting_room
from server.waiting_room import AT_ONCE, LATE_MS, LOOK_MS, QUIET_S, WAIT_S_MAX, WaitingRoom


class Comer:
    """A socket, and what became of it."""

    def __init__(self) -> None:
        self.is_gone = False
        self.became = "waits"

    def enter(self) -> None:
        """Note it."""
        self.became = "in"

    def abort(self) -> None:
        """Note it."""
        self.became = "cut"


class Looks:
    """The room's looks, each so much later than it was due, on a clock that only they move on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self._late_ms: list[float] = []
        monkeypatch.setattr(waiting_room, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        if not self._late_ms:
            raise asyncio.CancelledError
        self.now_s += seconds + self._late_ms.pop(0) / 1000

    async def take(self, room: WaitingRoom, *late_ms: float) -> None:
        """Take so many."""
        self._late_ms = list(late_ms)
        with suppress(asyncio.CancelledError):
            await room.run()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


def waiting(room: WaitingRoom, count: int) -> list[Comer]:
    comers = [Comer() for _ in range(count)]
    assert [room.lets_in(comer) for comer in comers] == [False] * count
    return comers


async def test_while_the_loop_is_in_time_all_that_may_are_let_in(looks: Looks) -> None:
    places = [False, True, True]
    room = WaitingRoom(lambda: places.pop(0) if places else False)
    comers = waiting(room, 3)
    await looks.take(room, 0)
    assert [comer.became for comer in comers] == ["in", "in", "waits"]


async def test_even_then_no_more_at_a_look_than_the_loop_bears(looks: Looks) -> None:
    may = [False]
    room = WaitingRoom(lambda: may[0])
    comers = waiting(room, AT_ONCE + 1)
    may[0] = True
    await looks.take(room, 0)
    assert [comer.became for comer in comers].count("in") == AT_ONCE
    await looks.take(room, 0)
    assert {comer.became for comer in comers} == {"in"}


async def test_while_it_is_late_one_is_let_in_at_a_look(looks: Looks) -> None:
    may = [False]
    room = WaitingRoom(lambda: may[0])
    comers = waiting(room, 4)
    may[0] = True
    await looks.take(room, LATE_MS + 1, LATE_MS + 30)
    assert [comer.became for comer in comers] == ["in", "in", "waits", "waits"]
    assert not room.lets_in(Comer()), "nobody overtakes who waits"


async def test_who_has_waited_too_long_or_has_gone_takes_nobodys_place(looks: Looks) -> None:
    may = [False]
    room = WaitingRoom(lambda: may[0])
    old, gone = waiting(room, 2)
    looks.now_s += WAIT_S_MAX - 3 * LOOK_MS / 1000
    gone.is_gone = True
    (fresh,) = waiting(room, 1)
    await looks.take(room, 0, 0, 0, 1)
    assert [old.became, gone.became, fresh.became] == ["cut", "cut", "waits"]
    may[0] = True
    await looks.take(room, 0)
    assert fresh.became == "in"


async def test_a_new_one_enters_at_once_where_nobody_waits(looks: Looks) -> None:
    room = WaitingRoom(lambda: True)
    assert room.lets_in(Comer())
    await looks.take(room, LATE_MS + 1)
    assert not room.lets_in(Comer()), "the loop is late"


async def test_nobody_looks_while_nobody_comes(looks: Looks) -> None:
    room = WaitingRoom(lambda: True)
    looking = asyncio.create_task(looks.take(room, *[0.0] * 1_000))
    for _ in range(10):
        await turn()
    assert QUIET_S <= looks.now_s <= QUIET_S + 3 * LOOK_MS / 1000
    assert room.lets_in(Comer())
    for _ in range(10):
        await turn()
    assert looks.now_s >= 2 * QUIET_S, "somebody came"
    looking.cancel()


async def turn() -> None:
    """One turn of the loop; `asyncio.sleep` is on another clock."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future
