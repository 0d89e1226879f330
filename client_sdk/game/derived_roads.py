"""The marks of big eye boy, small road and cockroach pig: is the big road regular (red) or not (blue)?

They follow from the lengths of the runs alone: equal decisions in a row, ties left out, never cut at six. The three
roads differ in how far back they look. It must never look at places: where a mark lies is `road_layout`'s.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

RED: Final = "R"
BLUE: Final = "B"


class DerivedRoad(StrEnum):
    """The three derived roads, in the order in which they are listed everywhere."""

    BIG_EYE_BOY = "big_eye_boy"
    SMALL_ROAD = "small_road"
    COCKROACH_PIG = "cockroach_pig"

    @property
    def offset(self) -> int:
        """How many runs back the road looks."""
        return _OFFSETS[self]


_OFFSETS: Final = {DerivedRoad.BIG_EYE_BOY: 1, DerivedRoad.SMALL_ROAD: 2, DerivedRoad.COCKROACH_PIG: 3}


def newest_mark(runs: Sequence[int], offset: int) -> str | None:
    """Return the mark that the newest decision gives: RED, BLUE, or None where there are too few runs to compare.

    `runs` holds the length of every run, the newest decision counted in its last one. A decision that begins a run asks
    whether the run before it is as long as the one `offset` before that. Any other asks whether the run `offset` before
    its own ended just where it goes on; one that is two or more beyond that end is red again.
    """
    if not runs:
        return None
    run, length = len(runs) - 1, runs[-1]
    begins = length == 1
    compared = run - offset - begins
    if compared < 0:
        return None
    is_red = runs[run - 1] == runs[compared] if begins else runs[compared] != length - 1
    return RED if is_red else BLUE
