"""Where requests that ask the store are served: some at once, the next ones in the order in which they came.

A join is half a dozen calls of the store. Where thousands ask at once and each call has to wait for its place, every
request gives up in the middle of its work, which is done in vain and asked for again, and in the end none succeeds. So
they wait before they begin. Acts have queues of their own (`batcher.py`), pages have their own places (`pages.py`).
"""

import asyncio
from typing import Final

AT_ONCE: Final = 24
"""Twice what is under way with the store (`sender.py`): while one request is between two calls another one is not."""
WAIT_MS_MAX: Final = 3_000
"""So long anybody waits for a place: who is told to come again still listens."""


class Counter:
    """The places of one node."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def __repr__(self) -> str:
        return f"<Counter waiting={self._waiting}>"

    @property
    def is_crowded(self) -> bool:
        """Whether anybody waits: whoever came in now would only wait too."""
        return self._waiting > 0

    async def has_place(self) -> bool:
        """Take a place; false where none has become free for too long."""
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_MS_MAX / 1000):
                await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def leave(self) -> None:
        """Give a place back."""
        self._places.release()
