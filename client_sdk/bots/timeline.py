"""How durations went over time: a bounded number of slots, each with a histogram of its own.

When a run outlives its slots, two become one: a slot is a second at first and as long as it must be later. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from client_sdk.bots.histogram import Histogram

SLOTS_MAX: Final = 240


@dataclass(slots=True)
class Timeline:
    """Durations in milliseconds by the second of the run in which they ended."""

    slot_s: int = 1
    slots: dict[int, Histogram] = field(default_factory=dict)

    def add(self, at_s: float, duration_ms: float) -> None:
        """Count a duration that ended so many seconds after the run began."""
        self._slot_at(max(0.0, at_s)).add(duration_ms)

    def add_all(self, other: "Timeline") -> None:
        """Count all of another one, of the same beginning."""
        for at_s, histogram in other:
            self._slot_at(at_s).add_all(histogram)

    def __iter__(self) -> Iterator[tuple[float, Histogram]]:
        """Yield each slot with the second at which it begins, the oldest first."""
        for number in sorted(self.slots):
            yield float(number * self.slot_s), self.slots[number]

    def _slot_at(self, at_s: float) -> Histogram:
        while at_s >= SLOTS_MAX * self.slot_s:
            self._make_coarser()
        return self.slots.setdefault(int(at_s // self.slot_s), Histogram())

    def _make_coarser(self) -> None:
        before, self.slots = self.slots, {}
        self.slot_s *= 2
        for number, histogram in before.items():
            self.slots.setdefault(number // 2, Histogram()).add_all(histogram)
