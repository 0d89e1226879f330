"""The roads of a shoe: bead plate, big road and the three derived roads, with the shoe's statistics.

A value that grows by one round at a time: `plus` gives the next one, `newest` what that round changed, which is all
that somebody who has the rest needs to be told. It must never guess: `next` says how the roads would go on, nothing of
what will come. Read next: `road_layout` (where marks lie), `derived_roads` (which marks there are).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from client_sdk.game.cards import Card
from client_sdk.game.derived_roads import DerivedRoad, newest_mark
from client_sdk.game.errors import GameError
from client_sdk.game.road_layout import Grid, Layout, draw_bead_plate
from client_sdk.game.tableau import Hands, Outcome, Side, is_natural

LETTERS: Final = {Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T"}

_OUTCOMES: Final = {letter: outcome for outcome, letter in LETTERS.items()}

# What a big road's mark means, and the mark that a decision for a side makes.
_SIDES: Final = {"P": Side.PLAYER, "B": Side.BANKER}
_MARKS: Final = {side: mark for mark, side in _SIDES.items()}


class UnknownOutcome(GameError):
    """A letter that stands for no outcome. `number` counts the outcomes before it."""

    def __init__(self, letter: str, number: int) -> None:
        super().__init__(letter, number)
        self.letter = letter
        self.number = number

    def __str__(self) -> str:
        return f"unknown outcome {self.letter!r} after {self.number} outcomes: write P, B or T"


@dataclass(frozen=True, slots=True)
class RoadRound:
    """What the roads and statistics keep of one round."""

    outcome: Outcome
    player_pair: bool = False
    banker_pair: bool = False
    player_natural: bool = False
    banker_natural: bool = False

    @classmethod
    def of(cls, hands: Hands) -> "RoadRound":
        """Take what the roads need from both complete hands."""
        return cls(
            outcome=hands.outcome,
            player_pair=is_pair(hands.player),
            banker_pair=is_pair(hands.banker),
            player_natural=is_natural(hands.player),
            banker_natural=is_natural(hands.banker),
        )


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
class Statistics:
    """Counts of the shoe's rounds; player, banker and tie add up to `rounds`."""

    rounds: int
    player: int
    banker: int
    tie: int
    player_natural: int
    banker_natural: int
    player_pair: int
    banker_pair: int


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
    big_road: Layout = Layout()
    big_eye_boy: Layout = Layout()
    small_road: Layout = Layout()
    cockroach_pig: Layout = Layout()

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
        return self._derived[list(DerivedRoad).index(road)]

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
        outcomes = Counter(played.outcome for played in self.rounds)
        return Statistics(
            rounds=len(self.rounds),
            player=outcomes[Outcome.PLAYER],
            banker=outcomes[Outcome.BANKER],
            tie=outcomes[Outcome.TIE],
            player_natural=sum(played.player_natural for played in self.rounds),
            banker_natural=sum(played.banker_natural for played in self.rounds),
            player_pair=sum(played.player_pair for played in self.rounds),
            banker_pair=sum(played.banker_pair for played in self.rounds),
        )

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
        if self.big_road.marks.endswith(mark) and self.runs:
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


def is_pair(hand: Sequence[Card]) -> bool:
    """Return whether the hand's first two cards are of one rank."""
    return hand[0][0] == hand[1][0]


def parse_outcomes(text: str) -> tuple[Outcome, ...]:
    """Return the outcomes that a text of P, B and T writes; white space means nothing. Raises UnknownOutcome."""
    outcomes: list[Outcome] = []
    for letter in "".join(text.split()):
        outcome = _OUTCOMES.get(letter)
        if outcome is None:
            raise UnknownOutcome(letter, len(outcomes))
        outcomes.append(outcome)
    return tuple(outcomes)
