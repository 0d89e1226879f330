"""What all seats of this process saw of one table, held against each other.

The first seat to bring an event has it checked by `TableChecker`, once; every other seat must bring an equal one, so
what holds for the first holds for all. From the arrivals comes the skew, from the seats' own bets a lower bound for the
table's sums. Pure: arrival times come in as arguments. Read next: `checker`, then `seat`, which feeds this.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from client_sdk.bots.checker import TableChecker
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.histogram import Histogram
from client_sdk.bots.rules_told import rules_found
from client_sdk.bots.sightings import Sighting, sighting_of
from client_sdk.game.fairness import Cut
from client_sdk.game.proofs import ProofFailed
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    CardDealt,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    TableView,
)
from client_sdk.shoe_audit import OwnCut, ShoeAudit

EVENTS_MAX: Final = 2_048
"""Events of a table that are kept for comparison; a seat that comes later than that with one is not compared."""
ROUNDS_MAX: Final = 64
"""Rounds of which sums and outcomes are kept."""


@dataclass(slots=True)
class Arrival:
    """An event as the first seat got it, and when the first and the last seat did; milliseconds on one clock."""

    event: AnyNumbered
    first_at_ms: float
    last_at_ms: float
    seats: int = 1


@dataclass(slots=True)
class RoundSums:
    """What the table told of a round in all, and what the own seats know they had in it."""

    is_over: bool = False
    outcome: Outcome | None = None
    """None where the round is not over, and where it was voided."""
    closed: BettingClosed | None = None
    settled: RoundSettled | None = None
    own_bettors: int = 0
    own_stakes: dict[Spot, int] = field(default_factory=dict)
    own_paid: int = 0
    is_told: bool = False
    """Whether a contradiction was told already: once a round is enough."""


class Witness:
    """One table, seen by some seats. Methods return the mismatches that their argument shows, mostly none."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.skew_ms = Histogram()
        self.sightings: list[Sighting] = []
        """What is not compared in this process any more, for the comparison with others."""
        self.rounds_checked_before = 0
        self.shoes_checked = 0
        self._incarnation: str | None = None
        self._checker: TableChecker | None = None
        self._newest_view: TableView | None = None
        self._arrivals: OrderedDict[int, Arrival] = OrderedDict()
        self._seqs: dict[str, int] = {}
        self._rounds: OrderedDict[int, RoundSums] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Witness {self.table} seats={len(self._seqs)} events={len(self._arrivals)} checker={self._checker!r}>"

    @property
    def incarnation(self) -> str:
        """In which life of the table its events are numbered, as far as a seat was told."""
        return self._incarnation or ""

    @property
    def rounds_checked(self) -> int:
        """How many rounds were seen and checked from the opening of bets to the settlement."""
        return self.rounds_checked_before + (self._checker.rounds_checked if self._checker is not None else 0)

    def looked(self, seat: str, view: TableView) -> list[Mismatch]:
        """Take in a snapshot that a seat got: its events go on from there."""
        found = [Mismatch(kind, self.table, view.round, text, view.seq) for kind, text in rules_found(view.rules)]
        if view.incarnation != self._incarnation:
            self._restart(view)
        self._seqs[seat] = view.seq
        checker = self._checker
        if checker is not None and checker.seq == view.seq:
            found += checker.compare(view)
        if self._newest_view is None or view.seq >= self._newest_view.seq:
            self._newest_view = view
        return found + self._catch_up()

    def saw(
        self, seat: str, incarnation: str, event: AnyNumbered, at_ms: float, steady_since_ms: float = 0.0
    ) -> list[Mismatch]:
        """Take in an event that a seat got at `at_ms`, numbered in that incarnation of the table.

        A seat whose line was not steady when the first got it is told late: that is no skew.
        """
        if incarnation != self._incarnation:
            return []  # a seat that was not told yet that the store forgot something
        self._seqs[seat] = event.seq
        arrival = self._arrivals.get(event.seq)
        if arrival is not None:
            if arrival.first_at_ms >= steady_since_ms:
                arrival.last_at_ms = at_ms
                arrival.seats += 1
            if event is arrival.event or event == arrival.event:  # the same bytes are read once a process
                return []
            detail = f"{seat} got {event}, another seat {arrival.event}"
            return [Mismatch(Kind.DIFFERS, self.table, getattr(event, "round", 0), detail, event.seq, seat)]
        self._arrivals[event.seq] = Arrival(event, at_ms, at_ms)
        self._note(event)
        if len(self._arrivals) > EVENTS_MAX:
            self._measure(self._arrivals.popitem(last=False)[1])
        return self._catch_up()

    def left(self, seat: str) -> list[Mismatch]:
        """A seat is gone: nobody waits for its events any more."""
        self._seqs.pop(seat, None)
        return self._catch_up()

    def is_over(self, round: int) -> bool:
        """Return whether a seat was told how the round ended."""
        sums = self._rounds.get(round)
        return sums is not None and sums.is_over

    def outcome_of(self, round: int) -> Outcome | None:
        """Return how a round ended, None where it was voided or no seat was told yet."""
        sums = self._rounds.get(round)
        return None if sums is None else sums.outcome

    def settled(self, seat: str, round: int, stakes: Mapping[Spot, int], paid: int) -> list[Mismatch]:
        """Add what a seat had in a round; the sums that the table told can't be less than those of the own seats."""
        sums = self._sums_of(round)
        sums.own_bettors += 1
        sums.own_paid += paid
        for spot, stake in stakes.items():
            sums.own_stakes[spot] = sums.own_stakes.get(spot, 0) + stake
        return self._sums_found(round, sums)

    def cut_accepted(self, incarnation: str, shoe: int, own: OwnCut) -> None:
        """A seat has put a cut into a shoe of that incarnation: it must be in the shoe's list.

        Another seat may have told of a newer one meanwhile, in which a shoe of that number comes again without the cut.
        """
        if self._checker is not None and incarnation == self._incarnation:
            self._checker.auditor.accepted(shoe, own)

    def next_ended_shoe(self) -> ShoeAudit | None:
        """Hand out a shoe that was revealed, once: whoever asks first has it judged."""
        if self._checker is None or not self._checker.auditor.ended:
            return None
        return self._checker.auditor.ended.pop(0)

    def judged(self, audit: ShoeAudit, cuts: Sequence[Cut]) -> list[Mismatch]:
        """Check a revealed shoe with the cuts that the table told."""
        try:
            audit.check(cuts)
        except ProofFailed as proof:
            detail = f"{proof.part}: shoe {audit.number}: {proof}"
            return [Mismatch(Kind.FAIRNESS, self.table, audit.rounds[-1].number if audit.rounds else 0, detail)]
        self.shoes_checked += 1
        return []

    def finish(self) -> None:
        """Measure what is still held back, when all seats have seen what they will see."""
        while self._arrivals:
            self._measure(self._arrivals.popitem(last=False)[1])

    # --- inside -------------------------------------------------------------------------------------------------------

    def _restart(self, view: TableView) -> None:
        """Begin anew at a snapshot: numbers of another incarnation tell nothing about this one."""
        self.finish()
        if self._checker is not None:
            self.rounds_checked_before += self._checker.rounds_checked
        self._incarnation = view.incarnation
        self._checker = TableChecker(view)
        self._newest_view = view
        self._seqs.clear()
        self._rounds.clear()

    def _catch_up(self) -> list[Mismatch]:
        """Check what follows without a gap. Where no seat can bring the missing event any more, begin at a snapshot."""
        found: list[Mismatch] = []
        while (checker := self._checker) is not None:
            arrival = self._arrivals.get(checker.seq + 1)
            if arrival is not None:
                found += checker.check(arrival.event)
                continue
            view = self._newest_view
            is_hopeless = bool(self._seqs) and min(self._seqs.values()) > checker.seq
            if view is None or view.seq <= checker.seq or not is_hopeless:
                break
            self.rounds_checked_before += checker.rounds_checked
            self._checker = TableChecker(view)
        return found

    def _note(self, event: AnyNumbered) -> None:
        match event:
            case BettingClosed():
                self._sums_of(event.round).closed = event
            case RoundDecided():
                sums = self._sums_of(event.round)
                sums.is_over, sums.outcome = True, event.outcome
            case RoundVoided():
                self._sums_of(event.round).is_over = True
            case RoundSettled():
                self._sums_of(event.round).settled = event
            case _:
                pass

    def _sums_of(self, round: int) -> RoundSums:
        sums = self._rounds.setdefault(round, RoundSums())
        if len(self._rounds) > ROUNDS_MAX:
            self._rounds.popitem(last=False)
        return sums

    def _sums_found(self, round: int, sums: RoundSums) -> list[Mismatch]:
        closed, settled = sums.closed, sums.settled
        if sums.is_told or closed is None:
            return []
        details = [
            f"{stake} of ours on {spot}, {closed.totals.get(spot, 0)} in all"
            for spot, stake in sums.own_stakes.items()
            if stake > closed.totals.get(spot, 0)
        ]
        if sums.own_bettors > closed.bettors:
            details.append(f"{sums.own_bettors} of ours had bets, {closed.bettors} in all")
        if settled is not None and sums.own_paid > settled.paid:
            details.append(f"{sums.own_paid} was paid to ours, {settled.paid} in all")
        sums.is_told = bool(details)
        return [Mismatch(Kind.ROUND, self.table, round, detail) for detail in details]

    def _measure(self, arrival: Arrival) -> None:
        self.sightings.append(
            sighting_of(self._incarnation or "", arrival.event, arrival.first_at_ms, arrival.last_at_ms, arrival.seats)
        )
        if isinstance(arrival.event, CardDealt) and arrival.seats > 1:
            self.skew_ms.add(arrival.last_at_ms - arrival.first_at_ms)
