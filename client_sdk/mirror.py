"""What a client sees of one table: a snapshot, kept up to date by the events after it.

Pure: messages go in, and the answer says what was done with each. A duplicate or a gap changes nothing, so a mirror is
always the state at `seq`, whole. It is what the server last said; nothing hoped for is ever in it. `view.py` says what
an event means; `follower.py` asks for what a gap left out.
"""

from enum import Enum

from msgspec.structs import replace

from client_sdk.game.cards import Card, hand_total
from client_sdk.game.tableau import Outcome, Side
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import (
    AnyEvent,
    AnyNumbered,
    BetLine,
    Crowd,
    CrowdView,
    DealtCard,
    OwnSeat,
    Receipt,
    Results,
    RoadsView,
    SeatFreed,
    SeatTakenOver,
    SeatWarned,
    ShoeView,
    Snapshot,
    TableRules,
    TableView,
)
from client_sdk.view import seat_after_receipt, seat_after_results, view_after


class Applied(Enum):
    """What became of a message."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    """It was known already, or is older than what is known: nothing changed."""
    GAP = "gap"
    """Events before it are missing: nothing changed, ask for them."""


class TableMirror:
    """One table as one client sees it. Amounts are in minor units, instants on the table's clock."""

    def __init__(self, snapshot: TableView) -> None:
        self.view = snapshot
        self._handed_round = _last_round(snapshot.you)
        self._receipt_at_ms = snapshot.at_ms
        self._receipt_round: int | None = None

    def __repr__(self) -> str:
        seated = self.you is not None
        return (
            f"<TableMirror {self.table} {self.phase} round={self.round} seq={self.seq} cards={len(self.dealt)}"
            f" seated={seated} bets={len(self.bets)}>"
        )

    # --- what is seen ---

    @property
    def table(self) -> str:
        """The table's id."""
        return self.view.table

    @property
    def incarnation(self) -> str:
        """Which life of the table `seq` counts in; another one means that the store forgot something."""
        return self.view.incarnation

    @property
    def seq(self) -> int:
        """The number of the newest event in this state."""
        return self.view.seq

    @property
    def rules(self) -> TableRules:
        """What the table plays and allows."""
        return self.view.rules

    @property
    def phase(self) -> str:
        """`idle`, `betting`, `dealing`, `settling`, `paused` or `closed`."""
        return self.view.phase

    @property
    def round(self) -> int:
        """The number of the present or the last round."""
        return self.view.round

    @property
    def opened_at_ms(self) -> int | None:
        """When betting opened in this round."""
        return self.view.opened_at_ms

    @property
    def closes_at_ms(self) -> int | None:
        """The announced end of betting in this round."""
        return self.view.closes_at_ms

    @property
    def shoe(self) -> ShoeView | None:
        """The shoe as far as it may be known; None between two shoes."""
        return self.view.shoe

    @property
    def dealt(self) -> list[DealtCard]:
        """The cards of the round so far, in deal order."""
        return self.view.dealt

    @property
    def player(self) -> list[Card]:
        """PLAYER's hand so far."""
        return self._hand(Side.PLAYER)

    @property
    def banker(self) -> list[Card]:
        """BANKER's hand so far."""
        return self._hand(Side.BANKER)

    @property
    def player_total(self) -> int:
        """The total of PLAYER's hand, 0 to 9."""
        return hand_total(self.player)

    @property
    def banker_total(self) -> int:
        """The total of BANKER's hand, 0 to 9."""
        return hand_total(self.banker)

    @property
    def outcome(self) -> Outcome | None:
        """How the round ended; None while it has not, and for good where it was voided."""
        return self.view.outcome

    @property
    def is_void(self) -> bool:
        """Whether the round does not count: its stakes come back."""
        return self.view.is_void

    @property
    def roads(self) -> RoadsView:
        """The roads of the shoe, or of the session where every round is shuffled anew, and the counts of its rounds."""
        return self.view.roads

    @property
    def crowd(self) -> CrowdView:
        """Seats and sums, as fresh as the last few hundred milliseconds."""
        return self.view.crowd

    @property
    def you(self) -> OwnSeat | None:
        """The own seat; None for a spectator."""
        return self.view.you

    @property
    def stack(self) -> int:
        """The own stack; 0 for a spectator."""
        return 0 if self.you is None else self.you.stack

    @property
    def bets(self) -> dict[Spot, int]:
        """The own bets that lie on the spots."""
        return {} if self.you is None else self.you.bets

    @property
    def last_bets(self) -> dict[Spot, int]:
        """What a rebet would lay."""
        return {} if self.you is None else self.you.last_bets

    @property
    def last_results(self) -> dict[Spot, BetLine]:
        """What became of the own bets in the newest round that had some."""
        return {} if self.you is None else self.you.last_results or {}

    # --- what happens ---

    def apply(self, event: AnyEvent) -> Applied:
        """Take one event of this table and say what was done with it. Raises ValueError for another table's."""
        if event.table != self.table:
            raise ValueError(f"an event of {event.table} for the mirror of {self.table}")
        match event:
            case Snapshot():
                return self._replace(event.snapshot)
            case Results():
                return self._apply_results(event)
            case Crowd():
                return self._apply_crowd(event)
            case SeatTakenOver() | SeatFreed():
                self.view = replace(self.view, you=None)
                return Applied.APPLIED
            case SeatWarned():
                return Applied.APPLIED
            case _:
                return self._apply_numbered(event)

    def skip(self, seq: int) -> Applied:
        """Count a numbered event whose meaning this version does not know."""
        placed = self._place_of(seq)
        if placed is Applied.APPLIED:
            self.view = replace(self.view, seq=seq)
        return placed

    def apply_receipt(self, receipt: Receipt) -> Applied:
        """Take the answer to an own act; one of another or a settled round, or an older one, changes nothing.

        An act that was sent again gets its first answer, which may be older than the state after a resume.
        """
        you = self.you
        if you is None or receipt.round != self.round or _last_round(you) >= receipt.round:
            return Applied.DUPLICATE
        if receipt.accepted_at_ms < self._receipt_at_ms:
            return Applied.DUPLICATE
        self._receipt_at_ms, self._receipt_round = receipt.accepted_at_ms, receipt.round
        self.view = replace(self.view, you=seat_after_receipt(you, receipt))
        return Applied.APPLIED

    def apply_cut(self, shoe: int, cut: str) -> None:
        """Take note that the own cut (hex) is in the open shoe."""
        if self.you is not None and self.shoe is not None and self.shoe.number == shoe:
            self.view = replace(self.view, you=replace(self.you, cut=cut))

    def renew_seat(self, you: OwnSeat | None) -> None:
        """Take the own seat as the server told it beside a resume; None makes a spectator."""
        self.view = replace(self.view, you=you)

    def owed_results(self) -> Results | None:
        """Hand out, once, the results of the round in view that only the own seat told, no event of their own.

        That is so after a resume: a private event that was missed is not sent again.
        """
        you, is_over = self.you, self.outcome is not None or self.is_void
        if you is None or you.last_results is None or not is_over:
            return None
        if you.last_round != self.round or self.round <= self._handed_round:
            return None
        self._handed_round = self.round
        return Results(table=self.table, round=self.round, outcome=self.outcome, bets=you.last_results, stack=you.stack)

    def _apply_numbered(self, event: AnyNumbered) -> Applied:
        placed = self._place_of(event.seq)
        if placed is Applied.APPLIED:
            self.view = view_after(self.view, event)
        return placed

    def _place_of(self, seq: int) -> Applied:
        if seq <= self.seq:
            return Applied.DUPLICATE
        return Applied.APPLIED if seq == self.seq + 1 else Applied.GAP

    def _replace(self, snapshot: TableView) -> Applied:
        """Take a whole state. One of this incarnation that is older than what is known is passed over."""
        if snapshot.incarnation != self.incarnation:
            self._handed_round = _last_round(snapshot.you)  # the store forgot: rounds of these numbers may come again
        elif snapshot.seq < self.seq:
            return Applied.DUPLICATE
        self._receipt_at_ms, self._receipt_round = snapshot.at_ms, None
        self.view = snapshot
        return Applied.APPLIED

    def _apply_results(self, results: Results) -> Applied:
        if results.round <= self._handed_round:
            return Applied.DUPLICATE
        self._handed_round = results.round
        you = self.you
        if you is not None and _last_round(you) < results.round:
            is_betting_on = results.round < self.round and self._receipt_round == self.round
            stack, bets = (you.stack, you.bets) if is_betting_on else (results.stack, {})
            self.view = replace(self.view, you=seat_after_results(you, results, stack, bets))
        return Applied.APPLIED

    def _apply_crowd(self, event: Crowd) -> Applied:
        if event.round < self.round:
            return Applied.DUPLICATE
        self.view = replace(self.view, crowd=event.crowd)
        return Applied.APPLIED

    def _hand(self, side: Side) -> list[Card]:
        return [Card(dealt.card) for dealt in self.dealt if dealt.side is side]


def _last_round(you: OwnSeat | None) -> int:
    """Return the newest round that the seat tells results of; 0 where there is none, as rounds count from 1."""
    return 0 if you is None or you.last_round is None else you.last_round
