"""The clock of a table's store as this node knows it, kept by the instants in the store's answers.

An answer's instant is always a little old when it arrives, so the newest estimate of the offset is the largest seen;
it is let down slowly, so that a store whose clock was set back is followed too. Independent of this machine's wall
clock.
"""

from collections.abc import Callable
from time import monotonic

_DECAY_MS_PER_S = 1.0
_STEP_MS = 1_000


class StoreClock:
    """Estimates the store's time between two answers."""

    def __init__(self, monotonic_s: Callable[[], float] = monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._offset_ms: float | None = None
        self._heard_s = 0.0
        self.heard_at_ms: int | None = None
        """The newest instant that the store itself has told, None before the first."""

    def hear(self, now_ms: int) -> None:
        """Take in the instant of an answer that has just arrived."""
        self.heard_at_ms = now_ms
        at_s = self._monotonic_s()
        offset_ms = now_ms - at_s * 1000
        if self._offset_ms is None or abs(offset_ms - self._offset_ms) > _STEP_MS:
            self._offset_ms = offset_ms
        else:
            self._offset_ms = max(offset_ms, self._offset_ms - (at_s - self._heard_s) * _DECAY_MS_PER_S)
        self._heard_s = at_s

    def now_ms(self) -> int:
        """Tell the store's time; only after something was heard."""
        assert self._offset_ms is not None, "the store was heard before its time is asked for"
        return int(self._monotonic_s() * 1000 + self._offset_ms)
