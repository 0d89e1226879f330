"""One seat's money at one table: what each act, settlement and buy-in must leave, told by the SDK's own rules.

The bot tells the ledger each act before it is sent and each answer that comes, and gets back what is wrong with it. An
act that nobody answered (the connection broke) leaves two possible holdings; the next thing that the table says about
the seat must be one of them. Pure: no clock, no chance, no I/O. Read next: `acts`, then `checker` for the cards.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from client_sdk.bots.acts import Act, Holding, House, Ready, foresee, may_be_too_much
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.game.bets import EMPTY, Layout, Refusal
from client_sdk.game.settlement import BetResult, Result, settle
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BetLine, OwnSeat, Receipt, Results

LATE_CODES: Final = frozenset({"BETTING_CLOSED", "ROUND_OVER"})
"""An act may always come too late; that it was late is checked where the close is known."""

_ANY_END: Final[tuple[Outcome | None, ...]] = (*Outcome, None)
"""How a round may have ended that was not seen; None where it was voided and every stake came back."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What may come of one act in `round`: a holding or a refusal for each holding that was possible before it.

    `life` is that of the ledger at the time: what was foretold before the store forgot something is void.
    """

    act: Act
    round: int
    life: int
    befores: tuple[Holding, ...]
    afters: tuple[Holding | Refusal, ...]


class Ledger:
    """What a seat must hold. Every method returns the mismatches that its argument shows, mostly none."""

    def __init__(self, table: str, seat: str, house: House, you: OwnSeat, round: int) -> None:
        self.table = table
        self.seat = seat
        self.house = house
        self.round = round
        self.acks_in_round = 0
        self.acks_lost = 0
        self.bets_settled = 0
        self.rounds_settled = 0
        self._life = 0
        self._settled_round = _last_round(you)
        self._possible: tuple[Holding, ...] = (_holding_told(you),)

    def __repr__(self) -> str:
        return f"<Ledger {self.seat} at {self.table} round={self.round} possible={len(self._possible)}>"

    @property
    def holding(self) -> Holding:
        """What the seat holds, as far as is known; the least of it while an act is unanswered."""
        return min(self._possible, key=lambda holding: holding.stack)

    @property
    def is_sure(self) -> bool:
        """Whether there is one possible holding only."""
        return len(self._possible) == 1

    @property
    def has_bets(self) -> bool:
        """Whether bets lie that wait for a settlement, for certain."""
        return all(holding.layout.acts for holding in self._possible)

    # --- acts ---------------------------------------------------------------------------------------------------------

    def begin(self, act: Act) -> Foreseen:
        """Foretell an act that is about to be sent. From now on the table may or may not have taken it."""
        afters = tuple(foresee(act, one, self.house) for one in self._possible)
        foreseen = Foreseen(act, self.round, self._life, self._possible, afters)
        self._possible = _each_once((*foreseen.befores, *_holdings(afters)))
        return foreseen

    def accepted(self, foreseen: Foreseen, receipt: Receipt) -> list[Mismatch]:
        """Compare a receipt with what was foretold."""
        afters = _holdings(foreseen.afters)
        if isinstance(foreseen.act, Ready) and not receipt.ready:  # the seat counted as away: its node was held up
            afters = tuple(replace(after, is_ready=False) for after in afters)
        taken = tuple(after for after in afters if _is_as_told(after, receipt))
        if self._is_open(foreseen):
            self.acks_in_round += 0 if isinstance(foreseen.act, Ready) else 1
            self._possible = _each_once(taken) or (_holding_told(receipt, foreseen.befores[0].last),)
        if taken or foreseen.life != self._life:
            return []
        detail = f"{foreseen.act} left {_told(receipt)}, the rules give {_texts(foreseen.afters)}"
        kind = Kind.RECEIPT if _holdings(foreseen.afters) else Kind.ACCEPTED
        return [self._mismatch(kind, detail, foreseen.round)]

    def refused(self, foreseen: Foreseen, code_name: str) -> list[Mismatch]:
        """Compare a refusal with what was foretold. It changes nothing, whatever its code."""
        if foreseen.life != self._life:
            return []
        is_late = code_name in LATE_CODES
        befores = tuple(
            before
            for before, after in zip(foreseen.befores, foreseen.afters, strict=True)
            if is_late or self._explains(code_name, foreseen.act, after)
        )
        if self._is_open(foreseen):
            self._possible = befores or foreseen.befores
        if befores:
            return []
        detail = f"{foreseen.act} was refused as {code_name}, the rules give {_texts(foreseen.afters)}"
        return [self._mismatch(Kind.REFUSED, detail, foreseen.round)]

    # --- rounds -------------------------------------------------------------------------------------------------------

    def open_round(self, round: int) -> list[Mismatch]:
        """Begin a round: the layout is empty, and what lay there before was settled."""
        found = self._unsettled() if self.has_bets else []
        empty = tuple(holding for holding in self._possible if not holding.layout.acts)
        if not empty:
            empty = tuple(replace(holding, layout=EMPTY) for holding in self._possible)
        self._possible = _each_once(replace(holding, is_ready=False) for holding in empty)
        self.round = round
        self.acks_in_round = 0
        return found

    def settled(self, results: Results) -> list[Mismatch]:
        """Check the settlement of a round: stakes, each payout, and the stack after it."""
        if results.round <= self._settled_round:
            return [self._mismatch(Kind.SETTLED_TWICE, f"results came again: {_stakes(results.bets)}", results.round)]
        if results.round != self.round:
            return [self._mismatch(Kind.UNSETTLED, f"results of a round that is not {self.round}", results.round)]
        return self._settle((results.outcome,), results.bets, results.stack)

    def is_settled(self, round: int) -> bool:
        """Whether the results of this round or of a later one came."""
        return round <= self._settled_round

    # --- what the table says of the seat ------------------------------------------------------------------------------

    def told(self, you: OwnSeat, round: int) -> list[Mismatch]:
        """Compare the own seat as the table tells it, after a reconnect or a buy-in.

        A settlement that was missed meanwhile is taken from it first.
        """
        found: list[Mismatch] = []
        if you.last_round == self.round and you.last_results and not self.is_settled(self.round):
            found += self._settle(_ANY_END, you.last_results, None)
        if round != self.round:
            found += self.open_round(round)
        # Whether it is ready may change with the connection, so that is believed.
        wanted = tuple(replace(holding, is_ready=you.ready) for holding in self._possible)
        matching = tuple(holding for holding in wanted if _is_as_told(holding, you))
        self._possible = _each_once(matching) or (_holding_told(you),)
        if not matching:
            found.append(self._mismatch(Kind.STACK, f"the seat is told as {_told(you)}, not {_texts(wanted)}", round))
        return found

    def begin_buy_in(self, amount: int) -> None:
        """Chips are asked for: from now on the stack may or may not have them."""
        with_chips = (replace(holding, stack=holding.stack + amount) for holding in self._possible)
        self._possible = _each_once((*self._possible, *with_chips))

    def end_buy_in(self, stack: int) -> None:
        """The buy-in was decided, and left this stack in so far as it was one of the possible ones."""
        self._possible = tuple(holding for holding in self._possible if holding.stack == stack) or self._possible

    def rebase(self, you: OwnSeat, round: int) -> None:
        """Believe the table: its store forgot something, or the seat is a new one."""
        self.round = round
        self.acks_in_round = 0
        self._life += 1
        self._settled_round = _last_round(you)
        self._possible = (_holding_told(you),)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _explains(self, code_name: str, act: Act, after: Holding | Refusal) -> bool:
        if code_name == Refusal.TABLE_MAXIMUM:
            return may_be_too_much(act, after, self.house)
        return isinstance(after, Refusal) and after.value == code_name

    def _is_open(self, foreseen: Foreseen) -> bool:
        """Return whether the round of an act is still the one whose bets lie."""
        return foreseen.round == self.round and self._settled_round < self.round

    def _settle(
        self, ends: Sequence[Outcome | None], lines: Mapping[Spot, BetLine], stack: int | None
    ) -> list[Mismatch]:
        stakes = {spot: line.stake for spot, line in lines.items()}
        laid = tuple(holding for holding in self._possible if holding.layout.sums == stakes)
        found: list[Mismatch] = []
        if not laid:
            self.acks_lost += self.acks_in_round
            found.append(self._mismatch(Kind.UNSETTLED, f"settled {stakes}, accepted were {_texts(self._possible)}"))
        found += self._wrong_lines(ends, lines)
        paid = sum(line.payout for line in lines.values())
        stacks = {holding.stack + paid for holding in laid or self._possible}
        if stack is not None and stack not in stacks:
            found.append(
                self._mismatch(Kind.STACK, f"the stack is {stack} after {paid} was paid, not {sorted(stacks)}")
            )
        after = stack if stack is not None else min(stacks)
        self._possible = (Holding(stack=after, last=stakes),)
        self._settled_round = self.round
        self.bets_settled += len(stakes)
        self.rounds_settled += 1
        return found

    def _wrong_lines(self, ends: Sequence[Outcome | None], lines: Mapping[Spot, BetLine]) -> list[Mismatch]:
        """Settle the same stakes again by the SDK's own rules; one of the possible ends must explain them all."""
        stakes = {spot: line.stake for spot, line in lines.items()}
        told = {
            spot: BetResult(line.stake, line.payout, line.commission, line.result, line.capped)
            for spot, line in lines.items()
        }
        try:
            right = [self._right_lines(stakes, end) for end in ends]
        except ValueError as error:
            return [self._mismatch(Kind.PAYOUT, f"bets were settled that the rules do not know: {error}")]
        if told in right:
            return []
        return [self._mismatch(Kind.PAYOUT, f"on {ends[0] or 'a void'} {told} came back, the rules give {right[0]}")]

    def _right_lines(self, stakes: Mapping[Spot, int], end: Outcome | None) -> dict[Spot, BetResult]:
        if end is None:
            return {spot: BetResult(stake, stake, 0, Result.PUSH, 0) for spot, stake in stakes.items()}
        return settle(self.house.variant, stakes, end, self.house.limits.win_max)

    def _unsettled(self) -> list[Mismatch]:
        self.acks_lost += self.acks_in_round
        return [self._mismatch(Kind.UNSETTLED, f"no results came for {_texts(self._possible)}")]

    def _mismatch(self, kind: Kind, detail: str, round: int | None = None) -> Mismatch:
        return Mismatch(kind, self.table, self.round if round is None else round, detail, seat=self.seat)


def _last_round(you: OwnSeat) -> int:
    """Return the newest round whose settlement is in the stack already; 0 where there is none (rounds count from 1)."""
    return you.last_round or 0


def _holdings(afters: Iterable[Holding | Refusal]) -> tuple[Holding, ...]:
    return tuple(after for after in afters if isinstance(after, Holding))


def _each_once(holdings: Iterable[Holding]) -> tuple[Holding, ...]:
    """Return the holdings in their order without repeats (they are not hashable: `last` is a map)."""
    once: list[Holding] = []
    for holding in holdings:
        if holding not in once:
            once.append(holding)
    return tuple(once)


def _is_as_told(holding: Holding, told: Receipt | OwnSeat) -> bool:
    return (holding.stack, holding.layout.sums, holding.is_ready) == (told.stack, _laid(told.bets), told.ready)


def _laid(bets: Mapping[Spot, int]) -> dict[Spot, int]:
    """Return the spots on which something lies; a zero on the others may be told or left out."""
    return {spot: amount for spot, amount in bets.items() if amount}


def _holding_told(told: Receipt | OwnSeat, last: Mapping[Spot, int] | None = None) -> Holding:
    """Read a holding from the wire, which tells sums and not the acts that laid them: they count as one act a spot."""
    layout = Layout(tuple(((spot, amount),) for spot, amount in told.bets.items() if amount))
    if last is None:
        last = told.last_bets if isinstance(told, OwnSeat) else {}
    return Holding(stack=told.stack, layout=layout, last=last, is_ready=told.ready)


def _told(told: Receipt | OwnSeat) -> str:
    return f"stack {told.stack} bets {_sums(told.bets)}{' ready' if told.ready else ''}"


def _texts(foretold: Iterable[Holding | Refusal]) -> str:
    return " or ".join(
        one.value
        if isinstance(one, Refusal)
        else f"stack {one.stack} bets {_sums(one.layout.sums)}{' ready' if one.is_ready else ''}"
        for one in foretold
    )


def _sums(bets: Mapping[Spot, int]) -> str:
    return "{" + ", ".join(f"{spot.value} {amount}" for spot, amount in bets.items()) + "}"


def _stakes(lines: Mapping[Spot, BetLine]) -> str:
    return _sums({spot: line.stake for spot, line in lines.items()})
