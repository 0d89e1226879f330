"""Where new sockets wait until the node has time for them: a crowd that comes back after a node's death is let in one
after another, and the seats that are there already notice little of it.

A socket that waits is accepted and not read. How fast they are let in depends on how late the loop is: what one of them
sets off (handshake, hello, join) costs milliseconds. Whoever has waited about as long as a client does is cut.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final, Protocol

PLACES: Final = 4_000
WAIT_S_MAX: Final = 7.0
LOOK_MS: Final = 2
LATE_MS: Final = 5
"""Where the loop is later than that, one is let in at a look, and no more."""
AT_ONCE: Final = 2
"""Let in at a look where it is not late. What a few set off in one turn of the loop nobody notices: thirty at a look,
every ten milliseconds, were three times as late for everybody else."""
QUIET_S: Final = 1.0
"""Where nobody came for so long, nobody looks until somebody does."""


class Newcomer(Protocol):
    """A socket that waits."""

    is_gone: bool

    def enter(self) -> None:
        """Be let in."""
        ...

    def abort(self) -> None:
        """Be cut."""
        ...


class WaitingRoom:
    """The sockets that wait; `may_enter` takes a place at the door, if there is one."""

    def __init__(self, may_enter: Callable[[], bool], places: int = PLACES) -> None:
        self._may_enter = may_enter
        self._places = places
        self._waiting: deque[tuple[Newcomer, float]] = deque()
        self._is_late = False
        self._somebody_came = asyncio.Event()
        self._came_s = 0.0

    def __repr__(self) -> str:
        return f"<WaitingRoom waiting={len(self._waiting)}>"

    @property
    def is_full(self) -> bool:
        """Whether nobody else can wait."""
        return len(self._waiting) >= self._places

    def lets_in(self, newcomer: Newcomer) -> bool:
        """Whether a new socket may enter now; where not, it is let in later, or cut."""
        self._came_s = monotonic()
        self._somebody_came.set()
        if not self._waiting and not self._is_late and self._may_enter():
            return True
        self._waiting.append((newcomer, self._came_s))
        return False

    async def run(self) -> None:
        """Let in, until cancelled, who waits."""
        looked_s = monotonic()
        while True:
            if not self._waiting and looked_s - self._came_s > QUIET_S:
                self._is_late = False
                self._somebody_came.clear()
                await self._somebody_came.wait()
                looked_s = monotonic()
            await asyncio.sleep(LOOK_MS / 1000)
            before_s, looked_s = looked_s, monotonic()
            self._is_late = looked_s - before_s > (LOOK_MS + LATE_MS) / 1000
            self._let_some_in(looked_s)

    def _let_some_in(self, now_s: float) -> None:
        places = 1 if self._is_late else AT_ONCE
        while self._waiting and places:
            newcomer, since_s = self._waiting[0]
            if newcomer.is_gone or now_s - since_s > WAIT_S_MAX:
                newcomer.abort()
                self._waiting.popleft()
                continue
            if not self._may_enter():
                return
            self._waiting.popleft()
            newcomer.enter()
            places -= 1

    def clear(self) -> None:
        """Send everybody away."""
        for newcomer, _ in self._waiting:
            newcomer.abort()
        self._waiting.clear()
