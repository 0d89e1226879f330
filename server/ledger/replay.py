"""A table's ledger played again from its first entry: what every stack, every bet and the house must be.

Each entry is also held against those before it: the stack that it tells, the stake that it settles, the house's gain.
Takes entries as values and gives back what does not fit; reads nothing and changes nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from client_sdk.game.variants import Spot
from server.ledger.entries import Act, BadEntry, BuyIn, CashOut, Entry, SealMark, SettledLine, Settlement

Key = TypeVar("Key")


@dataclass(slots=True)
class TableReplay:
    """The money of a table after the entries so far, minor units. A stack or bet of nothing is left out."""

    bought_in: int = 0
    cashed_out: int = 0
    house: int = 0
    stacks: dict[str, int] = field(default_factory=dict)
    bets: dict[str, dict[Spot, int]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)

    def enter(self, entry: Entry) -> list[str]:
        """Play the next entry; returns what in it does not follow from those before."""
        match entry:
            case BuyIn():
                self.bought_in += entry.amount
                _add(self.taken, entry.patron, entry.amount)
                return self._move(entry.patron, entry.amount, entry.stack)
            case CashOut():
                self.cashed_out += entry.amount
                _add(self.given, entry.patron, entry.amount)
                return self._move(entry.patron, -entry.amount, entry.stack)
            case Act():
                return [*self._lay(entry), *self._move(entry.patron, -entry.moved, entry.stack)]
            case Settlement():
                return list(self._settle(entry))
            case SealMark():
                return []

    def _move(self, patron: str, amount: int, stack: int) -> list[str]:
        left = _add(self.stacks, patron, amount)
        found = [] if left == stack else [f"{patron} has {left}, the entry says {stack}"]
        return found if left >= 0 else [*found, f"{patron} has less than nothing"]

    def _lay(self, act: Act) -> list[str]:
        bets = self.bets.setdefault(act.patron, {})
        for spot, amount in act.laid.items():
            _add(bets, spot, amount)
        if not bets:
            del self.bets[act.patron]
        return [f"less than nothing on {spot}" for spot, amount in bets.items() if amount < 0]

    def _settle(self, settlement: Settlement) -> Iterator[str]:
        kept = sum(line.stake - line.payout for line in settlement.lines)
        if kept != settlement.house:
            yield f"the house has won {kept}, the entry says {settlement.house}"
        self.house += settlement.house
        for line in settlement.lines:
            yield from self._settle_line(line, settlement.round)
            yield from self._move(line.patron, line.payout, line.stack)

    def _settle_line(self, line: SettledLine, round_number: int) -> Iterator[str]:
        bets = self.bets.pop(line.patron, {})
        if sum(bets.values()) != line.stake:
            yield f"{line.patron} had {sum(bets.values())} on the spots, the entry settles {line.stake}"
        try:
            record = line.record
        except BadEntry as error:
            yield f"{line.patron}: {error}"
            return
        paid = sum(result.payout for result in record.results.values())
        if (record.round, record.bets, paid) != (round_number, bets, line.payout):
            yield f"the record of {line.patron} tells another round than was settled"


def _add(sums: dict[Key, int], key: Key, amount: int) -> int:
    """Add to a sum, leave it out where nothing is left, and return it."""
    total = sums.get(key, 0) + amount
    if total:
        sums[key] = total
    else:
        sums.pop(key, None)
    return total
