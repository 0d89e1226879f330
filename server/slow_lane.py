"""Where much is read at once: one piece after another, each socket in turn, and no more in one turn of the loop than
everybody else can wait for.

What a patron sends is small and never comes here. A flood fills its socket's buffer, and fifty of them had the loop for
20 ms at a time.
"""

import asyncio
from collections import deque
from time import perf_counter
from typing import Final, Protocol

TURN_S: Final = 0.001


class Bulk(Protocol):
    """A socket with much to read."""

    def read_piece(self) -> bool:
        """Read one piece; false where it comes back by itself, if ever."""
        ...


class SlowLane:
    """The sockets of a node that have much to read, each once."""

    def __init__(self) -> None:
        self._waiting: deque[Bulk] = deque()
        self._is_called = False

    def __repr__(self) -> str:
        return f"<SlowLane waiting={len(self._waiting)}>"

    def enter(self, socket: Bulk) -> None:
        """Have a socket read in its turn."""
        self._waiting.append(socket)
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._read)

    def _read(self) -> None:
        ends_s = perf_counter() + TURN_S
        try:
            while self._waiting and perf_counter() < ends_s:
                socket = self._waiting.popleft()
                if socket.read_piece():
                    self._waiting.append(socket)
        finally:  # one that can't be read must not hold up the others
            self._is_called = bool(self._waiting)
            if self._is_called:
                asyncio.get_running_loop().call_soon(self._read)
