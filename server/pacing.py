"""How fast one socket is listened to: who always has something more to say is heard ever more slowly.

A client waits for answers, or lays its chips in one go; a flood has its next message there whenever one is taken. Taken
as fast as they come, fifty floods would have all of the node's time, refused or not. What is not taken stays in the
kernel's buffers, and in the end with whoever sends it.
"""

import asyncio
from time import monotonic
from typing import Final

PER_S: Final = 20
"""So many messages a second are heard as they come, all day long."""
FREE: Final = 100
"""And so many more at once."""
PAGE: Final = 5
"""Who asks for a page costs as much as so many messages."""
TURN: Final = 2
"""Messages in a row, then everybody else has a turn."""


class Pace:
    """The pace of one socket."""

    __slots__ = ("_heard", "_in_a_row", "_seen_s")

    def __init__(self) -> None:
        self._heard = 0.0
        self._in_a_row = 0
        self._seen_s = monotonic()

    def hears(self) -> bool:
        """Hear one message more at once; false, and nothing done, where it has to wait."""
        heard = self._heard_by_now() + 1
        if heard > FREE:
            return False
        self._heard = heard
        return True

    async def keep(self, cost: int = 1) -> None:
        """Wait, with a message that has come, for as long as it has to."""
        self._heard = self._heard_by_now() + cost
        if self._heard > FREE:
            await asyncio.sleep((self._heard - FREE) / PER_S)
            return
        self._in_a_row += 1
        if self._in_a_row % TURN == 0:
            await asyncio.sleep(0)

    def _heard_by_now(self) -> float:
        now_s = monotonic()
        heard = max(0.0, self._heard - (now_s - self._seen_s) * PER_S)
        self._heard, self._seen_s = heard, now_s
        return heard
