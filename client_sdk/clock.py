"""An estimate of a table's clock, made from pings on a monotonic clock of the client's own.

A ping was sent, the table's store read its clock, the answer came: the reading lies between the two instants, so half
the round trip is all that the estimate can be wrong by. Pure: instants come in. The wall clock of the client is never
looked at, so it may be wrong, or be set while a round is played.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from client_sdk.exceptions import ClockUnknown

SAMPLES_MAX: Final = 8
"""Older pings are forgotten: by then the drift makes them worse than a fresh one."""

DRIFT: Final = 1e-4
"""How fast two clocks may run apart: 100 parts in a million, twice what ordinary oscillators are allowed."""

RESOLUTION_MS: Final = 0.5
"""A reading in whole milliseconds was cut off by half of one on average, and by half of one at most around that."""


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One ping: sent and answered on the client's monotonic clock, `at_ms` read from the table's clock in between."""

    sent_ms: float
    answered_ms: float
    at_ms: int

    def __post_init__(self) -> None:
        """Refuse a ping that was answered before it was sent."""
        if self.answered_ms < self.sent_ms:
            raise ValueError(f"answered at {self.answered_ms}, before it was sent at {self.sent_ms}")

    @property
    def round_trip_ms(self) -> float:
        """From sending to the answer."""
        return self.answered_ms - self.sent_ms

    @property
    def offset_ms(self) -> float:
        """What to add to the monotonic clock to get the table's."""
        return self.at_ms + RESOLUTION_MS - (self.sent_ms + self.answered_ms) / 2

    def uncertainty_ms(self, monotonic_ms: float) -> float:
        """How far the offset may be wrong at that instant."""
        return self.round_trip_ms / 2 + RESOLUTION_MS + DRIFT * abs(monotonic_ms - self.answered_ms)


class TableClock:
    """The clock of one table, as far as its pings tell. `monotonic_ms` is always the same clock of the client's own."""

    def __init__(self) -> None:
        self._samples: deque[ClockSample] = deque(maxlen=SAMPLES_MAX)

    def __repr__(self) -> str:
        return f"<TableClock samples={len(self._samples)} round_trip_ms={self.round_trip_ms}>"

    @property
    def is_known(self) -> bool:
        """Whether a ping was answered yet."""
        return bool(self._samples)

    @property
    def round_trip_ms(self) -> float | None:
        """The shortest round trip among the pings that are kept; None before the first."""
        return min((sample.round_trip_ms for sample in self._samples), default=None)

    def add(self, sample: ClockSample) -> None:
        """Take one more ping into account.

        Where it can't be true together with the best one so far, the table's clock was set (its store failed over) or
        the client slept: what was known before is forgotten.
        """
        if self._samples:
            now_ms = sample.answered_ms
            best = self._best(now_ms)
            if abs(sample.offset_ms - best.offset_ms) > sample.uncertainty_ms(now_ms) + best.uncertainty_ms(now_ms):
                self._samples.clear()
        self._samples.append(sample)

    def offset_ms(self, monotonic_ms: float) -> float:
        """Return what to add to the monotonic clock to get the table's. Raises ClockUnknown."""
        return self._best(monotonic_ms).offset_ms

    def uncertainty_ms(self, monotonic_ms: float) -> float:
        """Return how far that may be wrong: half the best round trip, growing with its age. Raises ClockUnknown."""
        return self._best(monotonic_ms).uncertainty_ms(monotonic_ms)

    def now_at_ms(self, monotonic_ms: float) -> int:
        """Return the instant on the table's clock. Raises ClockUnknown."""
        return round(monotonic_ms + self.offset_ms(monotonic_ms))

    def remaining_ms(self, closes_at_ms: int | None, monotonic_ms: float) -> int:
        """Return the time left until an instant of the table's clock, never negative; 0 without one.

        Raises ClockUnknown.
        """
        if closes_at_ms is None:
            return 0
        return max(0, closes_at_ms - self.now_at_ms(monotonic_ms))

    def _best(self, monotonic_ms: float) -> ClockSample:
        if not self._samples:
            raise ClockUnknown
        return min(self._samples, key=lambda sample: sample.uncertainty_ms(monotonic_ms))
