"""What the roads keep of a round, how outcomes are written as letters, and the shoe's statistics.

It must never know more of a round than its hands show. Read next: `roads`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from client_sdk.game.cards import Card
from client_sdk.game.errors import GameError
from client_sdk.game.tableau import Hands, Outcome, is_natural

LETTERS: Final = {Outcome.PLAYER: "P", Outcome.BANKER: "B", Outcome.TIE: "T"}

OUTCOMES: Final = {letter: outcome for outcome, letter in LETTERS.items()}


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


def count_rounds(rounds: Sequence[RoadRound]) -> Statistics:
    """Return the counts of these rounds."""
    outcomes = Counter(played.outcome for played in rounds)
    return Statistics(
        rounds=len(rounds),
        player=outcomes[Outcome.PLAYER],
        banker=outcomes[Outcome.BANKER],
        tie=outcomes[Outcome.TIE],
        player_natural=sum(played.player_natural for played in rounds),
        banker_natural=sum(played.banker_natural for played in rounds),
        player_pair=sum(played.player_pair for played in rounds),
        banker_pair=sum(played.banker_pair for played in rounds),
    )


def is_pair(hand: Sequence[Card]) -> bool:
    """Return whether the hand's first two cards are of one rank."""
    return hand[0][0] == hand[1][0]


def parse_outcomes(text: str) -> tuple[Outcome, ...]:
    """Return the outcomes that a text of P, B and T writes; white space means nothing. Raises UnknownOutcome."""
    outcomes: list[Outcome] = []
    for letter in "".join(text.split()):
        outcome = OUTCOMES.get(letter)
        if outcome is None:
            raise UnknownOutcome(letter, len(outcomes))
        outcomes.append(outcome)
    return tuple(outcomes)
