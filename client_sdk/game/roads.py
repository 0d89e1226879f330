"""The roads of a shoe: bead plate, big road and the three derived roads, with the shoe's statistics.

A value that grows by one round at a time: `plus` gives the next one, `newest` what that round changed, which is all
that somebody who has the rest needs to be told. It must never guess: `next` says how the roads would go on, nothing of
what will come. Read next: `road_layout` (where marks lie), `derived_roads` (which marks there are).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from client_sdk.game.derived_roads import DerivedRoad, newest_mark
from client_sdk.game.road_layout import NOTHING_LAID, Grid, Layout, draw_bead_plate
from client_sdk.game.road_rounds import LETTERS, RoadRound, Statistics, count_rounds
from client_sdk.game.tableau import Outcome, Side

# What a big road's mark means, and the mark that a decision for a side makes.
_SIDES: Final = {"P": Side.PLAYER, "B": Side.BANKER}
_MARKS: Final = {side: mark for mark, side in _SIDES.items()}


class BigRoadCell(NamedTuple):
    """A decision on the big road. `round` counts the shoe's rounds from 0; `ties` came after it (the first cell also
    has those before it); the pairs are those of the round that made the cell."""

    round: int
    column: int
    row: int
    side: Side
    ties: int
    banker_pair: bool
    player_pair: bool


class DerivedCell(NamedTuple):
    """A mark on a derived road; `colour` is RED or BLUE."""

    column: int
    row: int
    colour: str


@dataclass(frozen=True, slots=True)
class RoadsDelta:
    """What one round changed.

    Its bead lies at the place that `number` (from 0) gives. `cell` is the big road's cell that is new or has one tie
    more, None as long as there are only ties; `derived` holds the new marks of the derived roads.
    """

    number: int
    round: RoadRound
    cell: BigRoadCell | None
    derived: dict[DerivedRoad, DerivedCell]


@dataclass(frozen=True, slots=True)
class Roads:
    """All roads after some rounds of one shoe.

    `decided` holds the numbers of the rounds that were no ties, one for each mark of the big road, and `runs` how many
    equal ones of them followed each other.
    """

    rounds: tuple[RoadRound, ...] = ()
    decided: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()
    big_road: Layout = NOTHING_LAID
    big_eye_boy: Layout = NOTHING_LAID
    small_road: Layout = NOTHING_LAID
    cockroach_pig: Layout = NOTHING_LAID

    @classmethod
    def of(cls, rounds: Iterable[RoadRound]) -> "Roads":
        """Return the roads of these rounds, oldest first."""
        roads = cls()
        for played in rounds:
            roads = roads.plus(played)
        return roads

    def plus(self, played: RoadRound) -> "Roads":
        """Return the roads with one more round."""
        rounds = (*self.rounds, played)
        if played.outcome is Outcome.TIE:
            return Roads(rounds, self.decided, self.runs, self.big_road, *self._derived)
        mark = LETTERS[played.outcome]
        runs = self._runs_with(mark)
        marks = [newest_mark(runs, road.offset) for road in DerivedRoad]
        layouts = [
            layout if mark is None else layout.plus(mark) for layout, mark in zip(self._derived, marks, strict=True)
        ]
        return Roads(rounds, (*self.decided, len(self.rounds)), runs, self.big_road.plus(mark), *layouts)

    def derived(self, road: DerivedRoad) -> Layout:
        """Return one of the derived roads by its name."""
        return dict(zip(DerivedRoad, self._derived, strict=True))[road]

    @property
    def letters(self) -> str:
        """The outcomes, a letter each."""
        return "".join(LETTERS[played.outcome] for played in self.rounds)

    @property
    def bead_plate(self) -> Grid:
        """Every round in its order, ties included: column number div 6, row number mod 6."""
        return draw_bead_plate(self.letters)

    @property
    def cells(self) -> tuple[BigRoadCell, ...]:
        """The big road's cells, oldest first."""
        return tuple(self._cell(number) for number in range(len(self.decided)))

    @property
    def tie_only_marker(self) -> int:
        """The ties that stand in the big road's top left cell, as long as it has no cell of its own."""
        return 0 if self.decided else len(self.rounds)

    @property
    def next(self) -> dict[Side, dict[DerivedRoad, str | None]]:
        """The mark that each derived road would get if the next decision were this side's; None: none yet."""
        return {side: self._marks_if(side) for side in (Side.BANKER, Side.PLAYER)}

    @property
    def statistics(self) -> Statistics:
        """Counts of the shoe's rounds."""
        return count_rounds(self.rounds)

    @property
    def newest(self) -> RoadsDelta | None:
        """What the newest round changed, None before the first."""
        if not self.rounds:
            return None
        played = self.rounds[-1]
        return RoadsDelta(
            number=len(self.rounds) - 1,
            round=played,
            cell=self._cell(len(self.decided) - 1) if self.decided else None,
            derived={} if played.outcome is Outcome.TIE else self._newest_marks(),
        )

    @property
    def _derived(self) -> tuple[Layout, Layout, Layout]:
        """The derived roads in the order of DerivedRoad."""
        return self.big_eye_boy, self.small_road, self.cockroach_pig

    def _runs_with(self, mark: str) -> tuple[int, ...]:
        if self.big_road.marks.endswith(mark):
            return (*self.runs[:-1], self.runs[-1] + 1)
        return (*self.runs, 1)

    def _cell(self, number: int) -> BigRoadCell:
        made_by = self.decided[number]
        until = self.decided[number + 1] if number + 1 < len(self.decided) else len(self.rounds)
        before = made_by if number == 0 else 0  # ties that waited for a first cell
        column, row = self.big_road.places[number]
        played = self.rounds[made_by]
        return BigRoadCell(
            round=made_by,
            column=column,
            row=row,
            side=_SIDES[self.big_road.marks[number]],
            ties=before + until - made_by - 1,
            banker_pair=played.banker_pair,
            player_pair=played.player_pair,
        )

    def _newest_marks(self) -> dict[DerivedRoad, DerivedCell]:
        """Return the marks that the newest decision made; the first decisions of a shoe make none."""
        return {
            road: DerivedCell(*layout.places[-1], layout.marks[-1])
            for road, layout in zip(DerivedRoad, self._derived, strict=True)
            if newest_mark(self.runs, road.offset) is not None
        }

    def _marks_if(self, side: Side) -> dict[DerivedRoad, str | None]:
        runs = self._runs_with(_MARKS[side])
        return {road: newest_mark(runs, road.offset) for road in DerivedRoad}
