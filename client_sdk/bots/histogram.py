"""Durations in a bounded number of buckets, so that a run may last as long as it likes.

Buckets grow by 2^(1/32), so a percentile is right within 1.1 %; the largest duration is kept exactly. Pure.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

BUCKETS_PER_DOUBLING: Final = 32
SHORTEST_MS: Final = 0.001
"""Anything shorter counts as this: one microsecond."""


@dataclass(slots=True)
class Histogram:
    """How often which duration came, in milliseconds."""

    counts: Counter[int] = field(default_factory=Counter)
    total: int = 0
    max_ms: float = 0.0

    def add(self, duration_ms: float) -> None:
        """Count one duration."""
        bucket = math.floor(math.log2(max(duration_ms, SHORTEST_MS)) * BUCKETS_PER_DOUBLING)
        self.counts[bucket] += 1
        self.total += 1
        self.max_ms = max(self.max_ms, duration_ms)

    def add_all(self, other: "Histogram") -> None:
        """Count all durations of another histogram."""
        self.counts.update(other.counts)
        self.total += other.total
        self.max_ms = max(self.max_ms, other.max_ms)

    def percentile_ms(self, percent: float) -> float:
        """Return the duration that `percent` of all do not exceed (nearest rank); 0 where there are none."""
        rank = math.ceil(self.total * percent / 100)
        passed = 0
        for bucket in sorted(self.counts):
            passed += self.counts[bucket]
            if passed >= rank:
                return min(_middle_ms(bucket), self.max_ms)
        return 0.0

    def summary(self) -> dict[str, float]:
        """Return p50, p95, p99 and max, in milliseconds to the microsecond."""
        percentiles = {f"p{percent}": round(self.percentile_ms(percent), 3) for percent in (50, 95, 99)}
        return {**percentiles, "max": round(self.max_ms, 3)}


def _middle_ms(bucket: int) -> float:
    return math.exp2((bucket + 0.5) / BUCKETS_PER_DOUBLING)
