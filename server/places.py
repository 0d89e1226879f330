"""A bounded number of places for some kind of work: who finds none waits for one in turn, but not for ever."""

import asyncio


class Places:
    """So many places; a wait is given up after `wait_ms_max`."""

    def __init__(self, count: int, wait_ms_max: int) -> None:
        self._wait_s_max = wait_ms_max / 1000
        self._free = asyncio.Semaphore(count)
        self._waiting = 0

    def __repr__(self) -> str:
        return f"<Places waiting={self._waiting}>"

    @property
    def is_crowded(self) -> bool:
        """Whether anybody waits: whoever came now would only wait too."""
        return self._waiting > 0

    async def take(self) -> bool:
        """Take a place; false where none has become free for too long."""
        if not self._free.locked():  # nobody waits
            return await self._free.acquire()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._wait_s_max):
                await self._free.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def leave(self) -> None:
        """Give a place back."""
        self._free.release()
