"""Token buckets: so much in a burst, so much a second after it, for each of many keys.

Pure but for the clock that it is given. Keys that have not been seen for a burst's length are forgotten: their bucket
is full again. The count of keys is bounded; past it the oldest go, which only ever gives somebody more.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

BURST_S: Final = 10
"""A bucket holds what flows into it in this time."""
KEYS_MAX: Final = 20_000


class Buckets:
    """One bucket for each key, all of one rate."""

    def __init__(self, per_s: int, monotonic_s: Callable[[], float] = monotonic, burst_s: int = BURST_S) -> None:
        self._per_s = per_s
        self._full = float(per_s * burst_s)
        self._monotonic_s = monotonic_s
        self._levels: dict[str, tuple[float, float]] = {}

    def __repr__(self) -> str:
        return f"<Buckets {self._per_s}/s keys={len(self._levels)}>"

    def take(self, key: str) -> bool:
        """Take one out of a key's bucket; false where it is empty."""
        now_s = self._monotonic_s()
        level, at_s = self._levels.get(key, (self._full, now_s))
        level = min(self._full, level + (now_s - at_s) * self._per_s)
        if level < 1:
            return False
        if key not in self._levels and len(self._levels) >= KEYS_MAX:
            self._sweep(now_s)
        self._levels[key] = (level - 1, now_s)
        return True

    def _sweep(self, now_s: float) -> None:
        """Forget the keys whose buckets are full again; where none are, the older half."""
        kept = {key: (level, at_s) for key, (level, at_s) in self._levels.items() if now_s - at_s < BURST_S}
        if len(kept) >= KEYS_MAX:
            kept = dict(list(kept.items())[KEYS_MAX // 2 :])
        self._levels = kept
