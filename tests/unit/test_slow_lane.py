"""Who has much to read, in turns: nobody has the loop for long, and everything is read in the end."""

import asyncio
import time

from server.slow_lane import TURN_S, SlowLane


class Bulk:
    """A socket with so many pieces, each of which takes a while."""

    def __init__(self, name: str, pieces: int, read: list[str]) -> None:
        self.name = name
        self.left = pieces
        self._read = read

    def read_piece(self) -> bool:
        ends_s = time.perf_counter() + TURN_S / 2
        while time.perf_counter() < ends_s:
            pass
        self.left -= 1
        self._read.append(self.name)
        return self.left > 0


async def test_they_take_turns_and_let_others_go_between() -> None:
    lane, read = SlowLane(), list[str]()
    sockets = [Bulk(name, pieces, read) for name, pieces in (("a", 20), ("b", 3), ("c", 20))]
    for socket in sockets:
        lane.enter(socket)
    others = 0
    while len(read) < 43:
        await asyncio.sleep(0)
        others += 1
    assert read[:9] == ["a", "b", "c"] * 3
    assert [socket.left for socket in sockets] == [0, 0, 0]
    assert others >= 43 // 3, "two or three pieces fill a turn"
    assert repr(lane) == "<SlowLane waiting=0>"


async def test_it_begins_anew_when_somebody_comes_again() -> None:
    lane, read = SlowLane(), list[str]()
    for name in ("a", "b"):
        lane.enter(Bulk(name, 1, read))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert read == ["a", "b"]


async def test_one_that_fails_holds_nobody_up() -> None:
    class Broken:
        def read_piece(self) -> bool:
            raise EOFError

    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    lane, read = SlowLane(), list[str]()
    for socket in (Broken(), Bulk("a", 3, read), Broken(), Bulk("b", 1, read)):
        lane.enter(socket)
    while len(read) < 4:
        await asyncio.sleep(0)
    assert sorted(read) == ["a", "a", "a", "b"]
    assert [type(error) for error in told] == [EOFError, EOFError]
