"""Where new sockets wait while the doors let no more of them in: a crowd that comes back after a node's death is let in
one after another, and nobody has to come twice.

A socket that waits is accepted and not read. The room is small enough that its last one is let in before a client gives
up.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

PLACES: Final = 2_000
LOOK_MS: Final = 5


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

    def __init__(self, may_enter: Callable[[], bool]) -> None:
        self._may_enter = may_enter
        self._waiting: deque[Newcomer] = deque()

    def __repr__(self) -> str:
        return f"<WaitingRoom waiting={len(self._waiting)}>"

    @property
    def is_full(self) -> bool:
        """Whether nobody else can wait."""
        return len(self._waiting) >= PLACES

    def lets_in(self, newcomer: Newcomer) -> bool:
        """Whether a new socket may enter now; where not, it is let in later."""
        if not self._waiting and self._may_enter():
            return True
        self._waiting.append(newcomer)
        return False

    async def run(self) -> None:
        """Let in, until cancelled, who waits."""
        while True:
            await asyncio.sleep(LOOK_MS / 1000)
            while self._waiting and (self._waiting[0].is_gone or self._may_enter()):
                newcomer = self._waiting.popleft()
                if not newcomer.is_gone:
                    newcomer.enter()

    def clear(self) -> None:
        """Send everybody away."""
        for newcomer in self._waiting:
            newcomer.abort()
        self._waiting.clear()
