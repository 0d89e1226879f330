"""Pauses between attempts: exponential, each drawn from the whole range below its ceiling.

Pure: chance comes in. Without the jitter all clients of a node that died would come back in the same instant.
"""

from collections.abc import Iterator
from random import Random


def delays_ms(lowest_ms: float, first_ms: float, highest_ms: float, chance: Random) -> Iterator[float]:
    """Yield pauses without end: the first within `lowest_ms`..`first_ms`, the ceiling doubling up to `highest_ms`."""
    ceiling_ms = min(first_ms, highest_ms)
    while True:
        yield chance.uniform(min(lowest_ms, ceiling_ms), ceiling_ms)
        ceiling_ms = min(2 * ceiling_ms, highest_ms)
