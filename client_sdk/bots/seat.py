"""One bot's seat, checked: gapless numbers, no result before its cards, no act accepted after the close.

It sends what it takes in on to the two that know more, the `ledger` of its money and the `witness` of its table. Pure:
arrival times come in as arguments. Read next: `bot`, which drives it.
"""

from client_sdk.bots.acts import Act, House, house_of
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.ledger import Foreseen, Ledger
from client_sdk.bots.witness import Witness
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    BettingOpened,
    OwnSeat,
    Receipt,
    Results,
    RoundDecided,
    RoundVoided,
    RulesChanged,
    ShoeEnded,
    TableView,
)

NO_SEAT = OwnSeat(stack=0, ready=False, leaving=False, bets={}, last_bets={})
"""What a spectator holds."""


class Seat:
    """What one bot saw of its table. Every method returns the mismatches that its argument shows, mostly none."""

    def __init__(self, name: str, witness: Witness, view: TableView) -> None:
        self.name = name
        self.table = view.table
        self.house: House = house_of(view.rules)
        self.is_seated = view.you is not None
        self.awaits_secret = False
        """Whether the shoe's last round is being played: its secret comes right after it and is worth waiting for."""
        self.ledger = Ledger(view.table, name, self.house, view.you or NO_SEAT, view.round)
        self.found_on_entry = witness.looked(name, view)
        self._witness = witness
        self._incarnation = view.incarnation
        self._seq = view.seq
        self._is_entering = True
        self._closed: BettingClosed | None = None
        self._decided_round = _decided_round(view)
        self._accepted_round, self._accepted_at_ms = 0, 0
        self._missed: Results | None = None

    def __repr__(self) -> str:
        return f"<Seat {self.name} at {self.table} seq={self._seq} {self.ledger!r}>"

    # --- events -------------------------------------------------------------------------------------------------------

    def numbered(self, event: AnyNumbered, at_ms: float, steady_since_ms: float = 0.0) -> list[Mismatch]:
        """Take in a numbered event as the seat got it; its line was steady since then."""
        if self._is_entering and event.seq <= self._seq:
            return []  # the state that was taken in on entry holds it already
        self._is_entering = False
        found: list[Mismatch] = []
        if event.seq != self._seq + 1:
            found.append(self._mismatch(Kind.SEQ, f"{event.seq} follows {self._seq}", seq=event.seq))
        self._seq = event.seq
        found += self._witness.saw(self.name, self._incarnation, event, at_ms, steady_since_ms)
        match event:
            case BettingOpened():
                self.awaits_secret = event.is_last_round
                found += self.ledger.open_round(event.round)
            case ShoeEnded():
                self.awaits_secret = False
            case BettingClosed():
                self._closed = event
                found += self._accepted_late()
            case RoundDecided() | RoundVoided():
                self._decided_round = event.round
            case RulesChanged():
                self.house = self.ledger.house = house_of(event.rules)
            case _:
                pass
        return found

    def results(self, results: Results) -> list[Mismatch]:
        """Take in the settlement of the own bets."""
        if self._missed is not None and results.round == self._missed.round:
            missed, self._missed = self._missed, None
            if results.bets == missed.bets:
                return []  # the snapshot told it already, and the SDK tells it once more as an event
        found: list[Mismatch] = []
        if results.round > self._decided_round:
            found.append(self._mismatch(Kind.TOO_EARLY, f"results told {results.outcome} before the cards were out"))
        outcome = self._witness.outcome_of(results.round)
        if self._witness.is_over(results.round) and outcome is not results.outcome:
            found.append(self._mismatch(Kind.OUTCOME, f"results say {results.outcome}, the table said {outcome}"))
        found += self.ledger.settled(results)
        stakes = {spot: line.stake for spot, line in results.bets.items()}
        paid = sum(line.payout for line in results.bets.values())
        return found + self._witness.settled(self.name, results.round, stakes, paid)

    def snapshot(self, view: TableView) -> list[Mismatch]:
        """Take in the state of the table after events that the seat did not get."""
        found = self._witness.looked(self.name, view)
        you = view.you
        self.is_seated = you is not None
        if view.incarnation != self._incarnation:
            self.ledger.rebase(you or NO_SEAT, view.round)
        elif you is not None:
            self._expect_once_more(you, view)
            found += self.ledger.told(you, view.round)
        self.awaits_secret = False
        self._incarnation, self._seq, self._closed = view.incarnation, view.seq, None
        self._decided_round = _decided_round(view)
        self.house = self.ledger.house = house_of(view.rules)
        return found

    # --- acts ---------------------------------------------------------------------------------------------------------

    def begin(self, act: Act) -> Foreseen:
        """Foretell an act that is about to be sent."""
        return self.ledger.begin(act)

    def accepted(self, foreseen: Foreseen, receipt: Receipt) -> list[Mismatch]:
        """Compare a receipt with what was foretold, and its instant with the close."""
        found = self.ledger.accepted(foreseen, receipt)
        if receipt.round != foreseen.round:
            found.append(self._mismatch(Kind.RECEIPT, f"a receipt of round {receipt.round} for {foreseen.act}"))
        if receipt.round >= self._accepted_round:
            self._accepted_round, self._accepted_at_ms = receipt.round, receipt.accepted_at_ms
        return found + self._accepted_late()

    def refused(
        self, foreseen: Foreseen, code_name: str, arrived_at_ms: int | None = None, closed_at_ms: int | None = None
    ) -> list[Mismatch]:
        """Compare a refusal with what was foretold; one for being late with the instant of the close."""
        found = self.ledger.refused(foreseen, code_name)
        return found + self.refused_late(foreseen.round, code_name, arrived_at_ms, closed_at_ms)

    def refused_late(
        self, round: int, code_name: str, arrived_at_ms: int | None, closed_at_ms: int | None
    ) -> list[Mismatch]:
        """Check what the refusal of a late act tells; any other refusal tells nothing of the kind."""
        if code_name != "BETTING_CLOSED":
            return []
        if arrived_at_ms is None or closed_at_ms is None:
            return [self._mismatch(Kind.REFUSED, "a late act was not told when it arrived and when betting closed")]
        closed = self._closed
        if closed is not None and closed.round == round and closed.closed_at_ms != closed_at_ms:
            detail = f"a refusal says closed at {closed_at_ms}, the table said {closed.closed_at_ms}"
            return [self._mismatch(Kind.REFUSED, detail)]
        if arrived_at_ms < closed_at_ms:
            return [self._mismatch(Kind.REFUSED, f"called late at {arrived_at_ms}, closed at {closed_at_ms}")]
        return []

    def left(self) -> list[Mismatch]:
        """The seat sees nothing more."""
        return self._witness.left(self.name)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _accepted_late(self) -> list[Mismatch]:
        closed = self._closed
        if closed is None or closed.round != self._accepted_round or self._accepted_at_ms < closed.closed_at_ms:
            return []
        detail = f"an act was accepted at {self._accepted_at_ms}, betting closed at {closed.closed_at_ms}"
        return [self._mismatch(Kind.ACCEPTED, detail)]

    def _expect_once_more(self, you: OwnSeat, view: TableView) -> None:
        """Results that a snapshot tells are told once more by the SDK, as an event of their own."""
        is_told = you.last_round == view.round and bool(you.last_results) and not self.ledger.is_settled(view.round)
        if is_told and _decided_round(view) == view.round:
            self._missed = Results(
                table=view.table,
                round=view.round,
                outcome=view.outcome,
                bets=you.last_results or {},
                stack=you.stack,
            )

    def _mismatch(self, kind: Kind, detail: str, seq: int | None = None) -> Mismatch:
        return Mismatch(kind, self.table, self.ledger.round, detail, seq, self.name)


def _decided_round(view: TableView) -> int:
    """Return the newest round whose end the view tells."""
    return view.round if view.outcome is not None or view.is_void else view.round - 1
