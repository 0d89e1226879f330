"""What the checks of a run can find, as values."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """Which promise was broken."""

    GAP = "gap"
    REPEAT = "repeat"
    UNASKED = "unasked"
    DIFFERS = "differs"
    CARD = "card"
    SHOE = "shoe"
    LATE = "late"
    ANSWER = "answer"
    LOST_BET = "lost_bet"
    TWICE = "twice"
    PAYOUT = "payout"
    OWNERS = "owners"
    MONEY = "money"


class Broken(NamedTuple):
    """One broken promise."""

    kind: Kind
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind.value} at {self.where}: {self.detail}"


@dataclass(slots=True)
class Verdict:
    """All that was found, and counts of what was looked at."""

    broken: list[Broken]
    events: int = 0
    snapshots: int = 0
    rounds: int = 0
    bets: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
