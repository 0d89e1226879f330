"""Tables, seats and rounds of events to test with: right by the rules, numbered without gaps."""

from random import Random
from typing import Any

from client_sdk.game.cards import CARDS_PER_DECK, Card, card_of_index, hand_total
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.roads import Roads
from client_sdk.game.settlement import settle
from client_sdk.game.tableau import Hands, Side, deal_hands, is_natural
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import (
    AnyNumbered,
    BetLine,
    BettingClosed,
    BettingOpened,
    CardDealt,
    CardProof,
    CardsBurned,
    CrowdView,
    DealtCard,
    OwnSeat,
    Results,
    RoundDecided,
    RoundSettled,
    ShoeEnded,
    ShoeStarted,
    TableRules,
    TableView,
)
from client_sdk.protocol.road_views import roads_delta, roads_view

TABLE = "royal-1"
CARDS = 8 * CARDS_PER_DECK
BETTING_MS = 1_000
NO_ROADS = roads_view(Roads(), rounds_max=None)


def rules(variant: str = "royal", **changes: Any) -> TableRules:
    """The rules of a table of that variant."""
    house = variant_named(variant)
    values: dict[str, Any] = {
        "variant": variant,
        "decks": house.decks,
        "shuffles_every_round": house.shuffles_every_round,
        "commission_bp": house.commission_bp,
        "tie_pays": house.tie_pays,
        "forbidden_pairs": [sorted(pair) for pair in house.forbidden_pairs],
        "minimum": 100,
        "maximums": dict.fromkeys(house.spots, 50_000),
        "chips": [100, 500],
        "win_max": None,
        "cut_card": None if house.shuffles_every_round else 14,
        "seats_max": 10,
        "betting_ms": BETTING_MS,
        "card_ms": 20,
        "result_ms": 100,
        "grace_ms": 1_000,
    }
    return TableRules(**(values | changes))


def view(**changes: Any) -> TableView:
    """An idle table before its first event."""
    values: dict[str, Any] = {
        "table": TABLE,
        "incarnation": "first",
        "seq": 0,
        "at_ms": 1_000,
        "rules": rules(),
        "phase": "idle",
        "round": 0,
        "opened_at_ms": None,
        "closes_at_ms": None,
        "shoe": None,
        "dealt": [],
        "outcome": None,
        "roads": NO_ROADS,
        "crowd": CrowdView(seated=0, connected=0, ready=0, totals={}, bettors={}),
        "you": None,
    }
    return TableView(**(values | changes))


def seat(stack: int = 10_000, **changes: Any) -> OwnSeat:
    """An own seat without bets."""
    values: dict[str, Any] = {"stack": stack, "ready": False, "leaving": False, "bets": {}, "last_bets": {}}
    return OwnSeat(**(values | changes))


def hands_of(rng: Random) -> Hands:
    """One random round."""
    cards = [card_of_index(index) for index in range(CARDS)]
    rng.shuffle(cards)
    return deal_hands(cards)


def deal_order(hands: Hands) -> list[tuple[Side, Card]]:
    """The cards of a round in the order in which they are dealt."""
    order = [(Side.PLAYER, hands.player[0]), (Side.BANKER, hands.banker[0])]
    order += [(Side.PLAYER, hands.player[1]), (Side.BANKER, hands.banker[1])]
    order += [(Side.PLAYER, card) for card in hands.player[2:]]
    return order + [(Side.BANKER, card) for card in hands.banker[2:]]


def dealt_cards(hands: Hands) -> list[DealtCard]:
    """The cards of a round as a mirror holds them."""
    return [DealtCard(side=side, card=card, show_at_ms=0) for side, card in deal_order(hands)]


def decided(hands: Hands, seq: int = 1, round: int = 1, **changes: Any) -> RoundDecided:
    """The event that tells these hands."""
    values: dict[str, Any] = {
        "table": TABLE,
        "seq": seq,
        "round": round,
        "outcome": hands.outcome,
        "player": list(hands.player),
        "banker": list(hands.banker),
        "player_total": hand_total(hands.player),
        "banker_total": hand_total(hands.banker),
        "player_natural": is_natural(hands.player),
        "banker_natural": is_natural(hands.banker),
        "show_at_ms": 0,
        "roads": roads_delta(Roads.of([RoadRound.of(hands)])),
        "proofs": [],
    }
    return RoundDecided(**(values | changes))


def results(
    hands: Hands, bets: dict[Spot, int], stack: int, round: int = 1, table_rules: TableRules | None = None
) -> Results:
    """The own results of a round, right by the rules; `stack` is what is held after it."""
    played = table_rules or rules()
    settled = settle(variant_named(played.variant), bets, hands.outcome, played.win_max)
    lines = {
        spot: BetLine(
            stake=bet.stake, payout=bet.payout, commission=bet.commission, result=bet.result, capped=bet.capped
        )
        for spot, bet in settled.items()
    }
    return Results(table=TABLE, round=round, outcome=hands.outcome, bets=lines, stack=stack)


class Story:
    """Writes the numbered events of a table, one round after another. Its cards are prepared ones, which no secret
    proves."""

    def __init__(self, rng: Random, seq: int = 0, round: int = 0) -> None:
        self.events: list[AnyNumbered] = []
        self.hands: Hands | None = None
        self._rng = rng
        self._seq = seq
        self._round = round
        self._shoe = 0
        self._remaining = 0
        self.roads = Roads()

    def play(self, rounds: int) -> list[AnyNumbered]:
        """Write so many rounds, each third one with a fresh shoe, and return all events so far."""
        for _ in range(rounds):
            if self._round % 3 == 0:
                self._change_shoe()
            self._play_round()
        return self.events

    def _change_shoe(self) -> None:
        if self._shoe:
            self._tell(ShoeEnded, shoe=self._shoe, rounds=3, secret="", reason="dealt")
        self._shoe += 1
        self._remaining = CARDS
        self.roads = Roads()
        fields: dict[str, Any] = {"decks": 8, "cards": CARDS, "cut_card": 14, "commitment": "", "roads": NO_ROADS}
        self._tell(ShoeStarted, shoe=self._shoe, **fields)

    def _play_round(self) -> None:
        self._round += 1
        opened_at_ms = 10_000 * self._round
        times = {"opened_at_ms": opened_at_ms, "closes_at_ms": opened_at_ms + BETTING_MS}
        self._tell(BettingOpened, round=self._round, shoe=self._shoe, is_last_round=False, **times)
        closed_at_ms = opened_at_ms + BETTING_MS
        self._tell(BettingClosed, round=self._round, closed_at_ms=closed_at_ms, early=False, totals={}, bettors=0)
        if self._remaining == CARDS:
            proof = CardProof(index=1, salt="", path=[])
            self._take(CardsBurned, 3, shoe=self._shoe, card="2c", count=3, proof=proof)
        self.hands = hands_of(self._rng)
        so_far: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
        for side, card in deal_order(self.hands):
            so_far[side].append(card)
            self._take(CardDealt, 1, side=side, card=card, total=hand_total(so_far[side]))
        self._seq += 1
        self.roads = self.roads.plus(RoadRound.of(self.hands))
        told = roads_delta(self.roads)
        self.events.append(decided(self.hands, seq=self._seq, round=self._round, roads=told))
        self._tell(RoundSettled, round=self._round, paid=0, settled=0, next_at_ms=closed_at_ms + 100)

    def _take(self, kind: type[AnyNumbered], taken: int, **fields: Any) -> None:
        self._remaining -= taken
        self._tell(kind, round=self._round, remaining=self._remaining, show_at_ms=0, **fields)

    def _tell(self, kind: type[AnyNumbered], **fields: Any) -> None:
        self._seq += 1
        self.events.append(kind(table=TABLE, seq=self._seq, **fields))
