"""One table's numbered events, checked one after the other by the SDK's own rules.

Which event has a place in which phase is a table; what each event must say follows from the ones before it. What a
late comer did not see (the front of a shoe) is left unchecked rather than guessed. Pure: no clock, no chance, no I/O.
Read next: `witness`, which brings the events of all seats here once, and `shoe_record`.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from client_sdk.auditor import Auditor
from client_sdk.bots.acts import House, house_of
from client_sdk.bots.findings import Found, Kind, Mismatch
from client_sdk.bots.roads_record import RoadsRecord
from client_sdk.bots.rules_told import rules_found
from client_sdk.bots.shoe_record import ShoeRecord
from client_sdk.bots.table_sums import paid_found, totals_found
from client_sdk.game.cards import CARDS_PER_DECK, Card, card_value, hand_total
from client_sdk.game.proofs import ProofFailed
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.tableau import Hands, Side, decide, is_natural, next_side
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    BettingExtended,
    BettingOpened,
    CardDealt,
    CardsBurned,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    TableClosed,
    TableIdled,
    TablePaused,
    TableResumed,
    TableView,
)


class Stage(StrEnum):
    """Where a round stands, as far as the numbered events tell."""

    BETWEEN = "between"
    BETTING = "betting"
    DEALING = "dealing"
    DECIDED = "decided"
    SETTLING = "settling"
    """A snapshot does not tell whether a decided round was settled already."""


_NEXT_STAGE: Final[dict[type[Any], dict[Stage, Stage]]] = {
    RulesChanged: {Stage.BETWEEN: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    ShoeStarted: {Stage.BETWEEN: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    BettingOpened: {Stage.BETWEEN: Stage.BETTING, Stage.SETTLING: Stage.BETTING},
    BettingExtended: {Stage.BETTING: Stage.BETTING},
    BettingClosed: {Stage.BETTING: Stage.DEALING},
    ShoeShuffled: {Stage.DEALING: Stage.DEALING},
    CardsBurned: {Stage.DEALING: Stage.DEALING},
    CardDealt: {Stage.DEALING: Stage.DEALING},
    RoundDecided: {Stage.DEALING: Stage.DECIDED},
    RoundVoided: {Stage.DEALING: Stage.DECIDED, Stage.BETTING: Stage.DECIDED},
    RoundSettled: {Stage.DECIDED: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    ShoeEnded: {Stage.BETWEEN: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    TableIdled: {Stage.BETWEEN: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    TablePaused: {Stage.BETWEEN: Stage.BETWEEN, Stage.SETTLING: Stage.BETWEEN},
    TableResumed: {Stage.BETWEEN: Stage.BETWEEN},
    TableClosed: {Stage.BETWEEN: Stage.BETWEEN},
}
"""Which stage an event leads to; no entry means that it has no place there."""

_STAGE_OF_PHASE: Final = {
    "idle": Stage.BETWEEN,
    "betting": Stage.BETTING,
    "dealing": Stage.DEALING,
    "settling": Stage.SETTLING,
}


class TableChecker:
    """A table as its snapshot and numbered events tell it. `check` returns what is wrong with the next event."""

    def __init__(self, view: TableView) -> None:
        self.table = view.table
        self.seq = view.seq
        self.round = view.round
        self.stage = _STAGE_OF_PHASE.get(view.phase, Stage.BETWEEN)
        self.rounds_checked = 0
        self._rules = view.rules
        self._house: House = house_of(view.rules)
        self._hands: dict[Side, list[Card]] = {
            side: [Card(dealt.card) for dealt in view.dealt if dealt.side is side] for side in Side
        }
        self._shown_at_ms = max((dealt.show_at_ms for dealt in view.dealt), default=0)
        self._closes_at_ms = view.closes_at_ms
        self._closed: BettingClosed | None = None
        self._is_whole_round = self.stage is Stage.BETTING  # all of its cards are still to come
        self._outcome = view.outcome
        self._is_void = view.is_void
        self._shoe = None if view.shoe is None else ShoeRecord.seen(view.shoe, view.rules)
        self._roads = RoadsRecord.seen(view.roads)
        self.auditor = Auditor(view)

    def __repr__(self) -> str:
        return f"<TableChecker {self.table} seq={self.seq} {self.stage} round={self.round}>"

    def check(self, event: AnyNumbered) -> list[Mismatch]:
        """Check the event that follows the last one, and take it in whether right or wrong."""
        found: Found = []
        if event.seq != self.seq + 1:
            found.append((Kind.SEQ, f"{event.seq} follows {self.seq}"))
        stage = _NEXT_STAGE[type(event)].get(self.stage)
        if stage is None:
            found.append((Kind.ORDER, f"{type(event).__name__} while {self.stage}"))
        round = getattr(event, "round", self.round)
        if not isinstance(event, BettingOpened) and round != self.round:
            found.append((Kind.ROUND, f"{type(event).__name__} of round {round} in round {self.round}"))
        found += _CHECKS[type(event)](self, event)
        try:
            self.auditor.takes(event)
        except ProofFailed as proof:
            found.append((Kind.FAIRNESS, f"{proof.part}: {proof}"))
        self.seq = event.seq
        self.stage = stage or _any_next_stage(event)
        return [Mismatch(kind, self.table, round, detail, seq=event.seq) for kind, detail in found]

    def compare(self, view: TableView) -> list[Mismatch]:
        """Compare a snapshot taken at the event that was checked last."""
        is_over = view.outcome is not None or view.is_void  # how long the cards lie there after that is no matter
        cards = [] if is_over else [(dealt.side, dealt.card) for dealt in view.dealt]
        known_cards = [] if is_over or self.stage is Stage.BETWEEN else self._cards_in_order()
        told, known = (view.round, view.outcome, cards), (self.round, self._outcome, known_cards)
        found: Found = []
        if told != known:
            found.append((Kind.SNAPSHOT, f"round, outcome, cards are told as {told}, the events made {known}"))
        if view.shoe is not None and self._shoe is not None and self._shoe.remaining != view.shoe.remaining:
            found.append((Kind.SNAPSHOT, f"{view.shoe.remaining} cards remain, by the events {self._shoe.remaining}"))
        found += self._roads.compare(view.roads)
        return [Mismatch(kind, self.table, view.round, detail, seq=view.seq) for kind, detail in found]

    # --- one method per event -----------------------------------------------------------------------------------------

    def _rules_changed(self, event: RulesChanged) -> Found:
        self._rules = event.rules
        self._house = house_of(event.rules)
        return rules_found(event.rules)

    def _shoe_started(self, event: ShoeStarted) -> Found:
        found: Found = []
        if event.decks != self._rules.decks:
            found.append((Kind.SHOE, f"a shoe of {event.decks} decks where the rules say {self._rules.decks}"))
        if event.cards != event.decks * CARDS_PER_DECK and not self._rules.stacked:
            found.append((Kind.SHOE, f"{event.decks} decks are not {event.cards} cards"))
        if self._shoe is not None and not self._shoe.is_ended:
            found.append((Kind.SHOE, f"shoe {event.shoe} started while shoe {self._shoe.number} was open"))
        if self._shoe is not None and event.shoe != self._shoe.number + 1:
            found.append((Kind.SHOE, f"shoe {event.shoe} follows shoe {self._shoe.number}"))
        self._shoe = ShoeRecord.started(event)
        return found + self._roads.starts_shoe(event.roads, ends_with_shoe=event.cut_card is not None)

    def _betting_opened(self, event: BettingOpened) -> Found:
        found: Found = []
        if event.round != self.round + 1:
            found.append((Kind.ROUND, f"round {event.round} follows round {self.round}"))
        if event.closes_at_ms - event.opened_at_ms != self._rules.betting_ms:
            found.append((Kind.ROUND, f"betting for {event.closes_at_ms - event.opened_at_ms} ms"))
        if self._shoe is not None:
            found += self._shoe.opens_round(event)
        self.round = event.round
        self._hands = {side: [] for side in Side}
        self._closes_at_ms, self._closed, self._outcome, self._is_void = event.closes_at_ms, None, None, False
        self._shown_at_ms = 0
        self._is_whole_round = True
        return found

    def _betting_extended(self, event: BettingExtended) -> Found:
        before, self._closes_at_ms = self._closes_at_ms, event.closes_at_ms
        if before is not None and event.closes_at_ms <= before:
            return [(Kind.ROUND, f"betting was to close at {before}, extended only to {event.closes_at_ms}")]
        return []

    def _betting_closed(self, event: BettingClosed) -> Found:
        found: Found = []
        closes_at_ms = self._closes_at_ms
        if closes_at_ms is not None and event.early and event.closed_at_ms >= closes_at_ms:
            found.append((Kind.ROUND, f"closed early at {event.closed_at_ms}, due at {closes_at_ms}"))
        if closes_at_ms is not None and not event.early and event.closed_at_ms < closes_at_ms:
            found.append((Kind.ROUND, f"closed at {event.closed_at_ms}, before {closes_at_ms}, and not called early"))
        found += totals_found(event, self._rules)
        self._closed = event
        return found

    def _cards_burned(self, event: CardsBurned) -> Found:
        found: Found = []
        if self._cards_in_order():
            found.append((Kind.CARD, "cards are burned in the middle of a round"))
        if event.count != 1 + (card_value(Card(event.card)) or 10):
            found.append((Kind.CARD, f"{event.card} burns {event.count} cards"))
        found += self._shown(event.show_at_ms)
        if self._shoe is not None:
            found += self._shoe.burns(event)
        return found

    def _card_dealt(self, event: CardDealt) -> Found:
        found: Found = []
        hand, card = self._hands[event.side], Card(event.card)
        side = self._side_to_be_dealt()
        if side is not event.side:
            found.append((Kind.CARD, f"{event.card} to {event.side}, the tableau says {side or 'nobody'}"))
        hand.append(card)
        if event.total != hand_total(hand):
            found.append((Kind.CARD, f"{' '.join(hand)} is told as {event.total}"))
        found += self._shown(event.show_at_ms)
        if self._shoe is not None:
            found += self._shoe.deals(event)
        return found

    def _round_decided(self, event: RoundDecided) -> Found:
        found: Found = []
        player, banker = self._hands[Side.PLAYER], self._hands[Side.BANKER]
        side = self._side_to_be_dealt()
        if side is not None:
            found.append((Kind.OUTCOME, f"decided while {side} still draws"))
        told = (event.outcome, event.player, event.banker, event.player_total, event.banker_total)
        right = (decide(player, banker), player, banker, hand_total(player), hand_total(banker))
        if told != right:
            found.append((Kind.OUTCOME, f"decided as {told}, the cards make {right}"))
        naturals = (is_natural(player), is_natural(banker))
        if (event.player_natural, event.banker_natural) != naturals:
            found.append(
                (Kind.OUTCOME, f"naturals told as {(event.player_natural, event.banker_natural)}, not {naturals}")
            )
        found += self._shown(event.show_at_ms)
        self._outcome = event.outcome
        if side is None:  # else the hands are no round, which was told
            found += self._roads.plays(RoadRound.of(Hands(tuple(player), tuple(banker))), event.roads)
        return found

    def _round_voided(self, event: RoundVoided) -> Found:
        self._is_void = True
        return []

    def _round_settled(self, event: RoundSettled) -> Found:
        found: Found = []
        if self._closed is not None and (self._outcome is not None or self._is_void):
            found += paid_found(event, self._closed, self._outcome, self._house)
        if event.next_at_ms < self._shown_at_ms:
            found.append((Kind.ROUND, "the next round may open before this one is shown"))
        if self._is_whole_round:
            self.rounds_checked += 1
        return found

    def _shoe_ended(self, event: ShoeEnded) -> Found:
        if self._shoe is None:
            return []
        return self._shoe.ends(event)

    def _shoe_shuffled(self, event: ShoeShuffled) -> Found:
        if self._shoe is None or self._shoe.number == event.shoe:
            return []
        return [(Kind.SHOE, f"shoe {event.shoe} was shuffled while shoe {self._shoe.number} lies on the table")]

    def _nothing_dealt(self, event: TableIdled | TablePaused | TableResumed | TableClosed) -> Found:
        return []

    # --- inside -------------------------------------------------------------------------------------------------------

    def _side_to_be_dealt(self) -> Side | None:
        try:
            return next_side(self._hands[Side.PLAYER], self._hands[Side.BANKER])
        except ValueError:
            return None  # hands that no deal makes were told as mismatches when they came about

    def _cards_in_order(self) -> list[tuple[Side, str]]:
        """Return the cards of the round in the order in which a deal by the rules brings them."""
        sides = (Side.PLAYER, Side.BANKER)
        return [(side, self._hands[side][n]) for n in range(3) for side in sides if n < len(self._hands[side])]

    def _shown(self, show_at_ms: int) -> Found:
        before, self._shown_at_ms = self._shown_at_ms, show_at_ms
        return [(Kind.ROUND, f"shown at {show_at_ms}, before {before}")] if show_at_ms < before else []


_CHECKS: Final[dict[type[Any], Callable[[TableChecker, Any], Found]]] = {
    RulesChanged: TableChecker._rules_changed,
    ShoeStarted: TableChecker._shoe_started,
    BettingOpened: TableChecker._betting_opened,
    BettingExtended: TableChecker._betting_extended,
    BettingClosed: TableChecker._betting_closed,
    CardsBurned: TableChecker._cards_burned,
    CardDealt: TableChecker._card_dealt,
    RoundDecided: TableChecker._round_decided,
    RoundVoided: TableChecker._round_voided,
    RoundSettled: TableChecker._round_settled,
    ShoeEnded: TableChecker._shoe_ended,
    ShoeShuffled: TableChecker._shoe_shuffled,
    TableIdled: TableChecker._nothing_dealt,
    TablePaused: TableChecker._nothing_dealt,
    TableResumed: TableChecker._nothing_dealt,
    TableClosed: TableChecker._nothing_dealt,
}


def _any_next_stage(event: AnyNumbered) -> Stage:
    """Go where the event leads from its usual place, so that one wrong order is told once."""
    return next(iter(_NEXT_STAGE[type(event)].values()))
