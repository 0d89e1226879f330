"""What a bot can find wrong, as values.

A finding is a statement about the house, never about the bot's own luck: a refusal that the rules foretold is none.
This module must never decide anything. Read next: `checker` and `ledger`, which make them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Kind(StrEnum):
    """Which promise of the house was not kept."""

    SEQ = "seq"
    """An event's number is not one more than that of the event before."""
    DIFFERS = "differs"
    """Two seats got something else under the same number."""
    ORDER = "order"
    """An event that has no place in the phase the table was in."""
    RULES = "rules"
    """The table's rules are not those of its variant."""
    ROUND = "round"
    """A round's number, times or sums do not follow from what came before."""
    CARD = "card"
    """A card that the tableau gives to somebody else or to nobody, or a wrong total."""
    REMAINING = "remaining"
    """The count of undealt cards did not fall by the cards that left the shoe."""
    OUTCOME = "outcome"
    """Hands, totals, naturals or the outcome are not what the cards make."""
    SHOE = "shoe"
    """A shoe's number, size, last round or count of rounds is wrong."""
    FAIRNESS = "fairness"
    """The secret does not open the commitment, or gives other cards than were dealt."""
    ROADS = "roads"
    """The roads are not what the rounds make."""
    SNAPSHOT = "snapshot"
    """A snapshot says something else than the events did."""
    RECEIPT = "receipt"
    """An accepted act left other bets or another stack than the rules give."""
    ACCEPTED = "accepted"
    """An act was accepted that the rules refuse, or that came too late."""
    REFUSED = "refused"
    """An act was refused that the rules take, or under another code."""
    PAYOUT = "payout"
    """A bet brought back something else than the rules give."""
    STACK = "stack"
    """A stack or a wallet is not what it was before, plus what came, less what went."""
    UNSETTLED = "unsettled"
    """An accepted bet never came back in a settlement, or with another stake."""
    SETTLED_TWICE = "settled_twice"
    """A round was settled a second time."""
    TOO_EARLY = "too_early"
    """A result was told before the cards were."""


Found: TypeAlias = list[tuple[Kind, str]]
"""What a check found in one event, before it is known whose event it was."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One broken promise. `seat` is the bot that saw it, empty where it concerns the whole table."""

    kind: Kind
    table: str
    round: int
    detail: str
    seq: int | None = None
    seat: str = ""

    def __str__(self) -> str:
        place = f"{self.table} round {self.round}"
        if self.seq is not None:
            place += f" seq {self.seq}"
        if self.seat:
            place += f" {self.seat}"
        return f"{self.kind.value} at {place}: {self.detail}"
