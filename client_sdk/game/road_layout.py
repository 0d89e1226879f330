"""Where the marks of a road lie: the big-road rule, by which the three derived roads are laid out too.

A mark like the one before it goes below it, or to its right where the six rows end or an older run lies (the dragon
tail); any other mark opens the leftmost column whose top is empty. It must never know what a mark means. Read next:
`derived_roads`, which makes marks out of runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

ROWS: Final = 6

EMPTY: Final = "."

Grid: TypeAlias = tuple[str, ...]
"""ROWS strings of one length, top row first, EMPTY where nothing lies; columns count from the start of the shoe."""


class Place(NamedTuple):
    """A cell of a road, both counted from 0 at the top left."""

    column: int
    row: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The marks of one road, a letter each, and the place of every one of them.

    `floors` holds the topmost taken row of each column that is in use. That is all the rule has to look at: a run
    begins above all older ones and never meets one except from above, so that what lies below a floor stays out of
    reach. `bottom` is the floor that the newest mark's column had before its run came: it may fall as far as there.
    """

    marks: str = ""
    places: tuple[Place, ...] = ()
    floors: tuple[int, ...] = field(default=(), repr=False)
    bottom: int = field(default=ROWS, repr=False)

    @property
    def width(self) -> int:
        """How many columns are in use."""
        return len(self.floors)

    @property
    def grid(self) -> Grid:
        """The road as text."""
        return draw(self.marks, self.places, self.width)

    def plus(self, mark: str) -> "Layout":
        """Return the layout with one more mark, which is a single letter."""
        if not self.marks.endswith(mark):
            return self._entering(Place(self.floors.count(0), 0), mark)
        column, row = self.places[-1]
        if row + 1 < self.bottom:
            return Layout(self.marks + mark, (*self.places, Place(column, row + 1)), self.floors, self.bottom)
        return self._entering(Place(column + 1, row), mark)

    def _entering(self, place: Place, mark: str) -> "Layout":
        """Return the layout with the mark at the head of a column that its run was not in."""
        column, row = place
        bottom = self.floors[column] if column < self.width else ROWS
        assert row < bottom, "a run stays above those before it"
        floors = (*self.floors[:column], row, *self.floors[column + 1 :])
        return Layout(self.marks + mark, (*self.places, place), floors, bottom)


NOTHING_LAID: Final = Layout()


def draw(marks: str, places: Sequence[Place], width: int) -> Grid:
    """Return `width` columns of text with each mark at its place."""
    rows = [[EMPTY] * width for _ in range(ROWS)]
    for mark, (column, row) in zip(marks, places, strict=True):
        rows[row][column] = mark
    return tuple("".join(row) for row in rows)


def draw_bead_plate(letters: str) -> Grid:
    """Return the letters filled in column by column, ROWS in each, whatever they are."""
    places = [Place(*divmod(number, ROWS)) for number in range(len(letters))]
    return draw(letters, places, -(-len(letters) // ROWS))


def window(width: int, columns: int, newest: int) -> range:
    """Return the columns that a display of `columns` columns (1 or more) shows of a road `width` wide: the last ones.

    A tail may reach further right than the newest mark, which lies in column `newest`. Where it would push that mark
    out of sight, the columns that end with the newest mark are shown instead.
    """
    first = max(0, width - columns)
    if newest < first:
        first = max(0, newest + 1 - columns)
    return range(first, min(width, first + columns))


def clip(grid: Grid, shown: range) -> Grid:
    """Return these columns of a grid. Nothing is laid out anew: what lies further left keeps its place unseen."""
    return tuple(row[shown.start : shown.stop] for row in grid)
