"""Keeps the two appointments of a token on an open connection: a word before it ends, and the end.

Bets that lie play out; a connection that ends here comes back with a fresh token.
"""

import asyncio
from collections.abc import Callable
from typing import Final

NOTICE_MS: Final = 60_000
"""A connection is told so long before its token ends, or when half of what is left has passed where that is later."""


class Expiry:
    """The timers of one connection's token."""

    def __init__(self) -> None:
        self._timers: list[asyncio.TimerHandle] = []

    def set(
        self,
        expires_at_ms: int | None,
        now_ms: int,
        leeway_ms: int,
        *,
        tell: Callable[[int], None],
        end: Callable[[], None],
    ) -> None:
        """Keep the appointments of this token instead of an earlier one's; None: it has no end. `tell` is called with
        the instant of the end, `end` when it has come."""
        self.cancel()
        if expires_at_ms is None:
            return
        loop, left_ms = asyncio.get_running_loop(), max(0, expires_at_ms - now_ms)
        told_in_ms = max(left_ms - NOTICE_MS, left_ms // 2)
        self._timers = [
            loop.call_later(told_in_ms / 1000, tell, expires_at_ms),
            loop.call_later((left_ms + leeway_ms) / 1000, end),
        ]

    def cancel(self) -> None:
        """Keep no appointment any more."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
