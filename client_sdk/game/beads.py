"""A round in three letters, as roads are kept and told: its outcome, its pairs and its naturals, like `B.P`.

The first is P, B or T. The others name whose it was: P, B, `2` for both sides, `.` for neither. Rounds are written one
behind the other, oldest first. It must never hold more of a round than the bead plate shows. Read next: `road_rounds`.
"""

from collections.abc import Iterable
from typing import Final

from client_sdk.game.errors import GameError
from client_sdk.game.road_rounds import LETTERS, OUTCOMES, RoadRound

BEAD_LETTERS: Final = 3

_SIDES: Final = {".": (False, False), "P": (True, False), "B": (False, True), "2": (True, True)}
"""Whether PLAYER has it, whether BANKER has it."""
_LETTERS_OF_SIDES: Final = {sides: letter for letter, sides in _SIDES.items()}


class BadBeads(GameError):
    """A text that writes no rounds. `number` counts the rounds before the one that can't be read."""

    def __init__(self, bead: str, number: int) -> None:
        super().__init__(bead, number)
        self.bead = bead
        self.number = number

    def __str__(self) -> str:
        return f"no round is written {self.bead!r}, after {self.number} rounds"


def write_bead(played: RoadRound) -> str:
    """Return the round's three letters."""
    pairs = _LETTERS_OF_SIDES[played.player_pair, played.banker_pair]
    naturals = _LETTERS_OF_SIDES[played.player_natural, played.banker_natural]
    return LETTERS[played.outcome] + pairs + naturals


def write_beads(rounds: Iterable[RoadRound]) -> str:
    """Return three letters for each round."""
    return "".join(map(write_bead, rounds))


def read_beads(text: str) -> tuple[RoadRound, ...]:
    """Return the rounds that a text writes. Raises BadBeads."""
    return tuple(
        _read_bead(text[start : start + BEAD_LETTERS], start // BEAD_LETTERS)
        for start in range(0, len(text), BEAD_LETTERS)
    )


def _read_bead(bead: str, number: int) -> RoadRound:
    if len(bead) != BEAD_LETTERS or bead[0] not in OUTCOMES or bead[1] not in _SIDES or bead[2] not in _SIDES:
        raise BadBeads(bead, number)
    return RoadRound(OUTCOMES[bead[0]], *_SIDES[bead[1]], *_SIDES[bead[2]])
