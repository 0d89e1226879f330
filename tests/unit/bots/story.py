"""Tells right stories of a table, event by event, for tests that then plant one error in them.

Built from the rules alone, not from the server's own machine: what it dealt wrong would look right here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from client_sdk.game.beads import read_beads
from client_sdk.game.cards import card_of_index, hand_total
from client_sdk.game.fairness import Cut, commitment, shuffle
from client_sdk.game.merkle import ShoeTree, shoe_tree
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.roads import Roads
from client_sdk.game.settlement import settle
from client_sdk.game.shoe import Shoe
from client_sdk.game.tableau import Hands, Outcome, Side, deal_hands, is_natural
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
    OwnSeat,
    Results,
    RoadsView,
    RoundDecided,
    RoundSettled,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    TableRules,
    TableView,
)
from client_sdk.protocol.road_views import roads_delta, roads_view

TABLE = "table-1"
INCARNATION = "life-1"
BETTING_MS = 1_000
NO_CROWD = CrowdView(seated=0, connected=0, ready=0, totals={}, bettors={})


def rules_of(variant_name: str, **changes: Any) -> TableRules:
    """The rules of a table of that variant, in units of 100."""
    variant = variant_named(variant_name)
    rules = TableRules(
        variant=variant.name,
        decks=variant.decks,
        shuffles_every_round=variant.shuffles_every_round,
        commission_bp=variant.commission_bp,
        tie_pays=variant.tie_pays,
        forbidden_pairs=[sorted(pair) for pair in variant.forbidden_pairs],
        minimum=200,
        maximums={spot: 5_000 if spot is Spot.TIE else 20_000 for spot in variant.spots},
        chips=[100, 200, 500, 2_500, 10_000],
        win_max=20_000 if variant_name == "royal" else None,
        cut_card=None if variant.shuffles_every_round else 300,
        seats_max=100,
        betting_ms=BETTING_MS,
        card_ms=10,
        result_ms=100,
        grace_ms=1_000,
    )
    return replace(rules, **changes)


def roads_rounds_max(rules: TableRules) -> int | None:
    """After how many rounds the roads begin anew, where they do not with each shoe."""
    return 3 if rules.cut_card is None else None


def roads_after(events: Sequence[AnyNumbered]) -> RoadsView:
    """The roads of a shoe after these events from its beginning."""
    played = "".join(event.roads.bead for event in events if isinstance(event, RoundDecided))
    return roads_view(Roads.of(read_beads(played)), rounds_max=None)


def seat_of(stack: int = 100_000, **changes: Any) -> OwnSeat:
    """The own seat, without bets."""
    return replace(OwnSeat(stack=stack, ready=False, leaving=False, bets={}, last_bets={}), **changes)


def view_of(
    rules: TableRules, *, seq: int = 0, round: int = 0, you: OwnSeat | None = None, **changes: Any
) -> TableView:
    """A table before its first shoe, or as `changes` say."""
    view = TableView(
        table=TABLE,
        incarnation=INCARNATION,
        seq=seq,
        at_ms=0,
        rules=rules,
        phase="idle",
        round=round,
        opened_at_ms=None,
        closes_at_ms=None,
        shoe=None,
        dealt=[],
        outcome=None,
        roads=roads_view(Roads(), roads_rounds_max(rules)),
        crowd=NO_CROWD,
        you=you,
    )
    return replace(view, **changes)


def lines_of(rules: TableRules, bets: Mapping[Spot, int], outcome: Outcome) -> dict[Spot, BetLine]:
    """What becomes of these bets."""
    settled = settle(variant_named(rules.variant), bets, outcome, rules.win_max)
    return {
        spot: BetLine(
            stake=one.stake, payout=one.payout, commission=one.commission, result=one.result, capped=one.capped
        )
        for spot, one in settled.items()
    }


def results_of(rules: TableRules, round: int, outcome: Outcome, bets: Mapping[Spot, int], stack: int) -> Results:
    """The settlement of these bets by a patron whose stack was `stack` with them laid."""
    lines = lines_of(rules, bets, outcome)
    paid = sum(line.payout for line in lines.values())
    return Results(table=TABLE, round=round, outcome=outcome, bets=lines, stack=stack + paid)


@dataclass
class Story:
    """A table from its first shoe on. `bets` are those of each patron in every round, `cuts` those in every shoe."""

    rules: TableRules
    bets: Sequence[Mapping[Spot, int]] = ()
    cuts: Sequence[Cut] = ()
    seed: str = "story"
    events: list[AnyNumbered] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    round: int = 0
    shoe_number: int = 0
    now_ms: int = 1_000_000
    _shoe: Shoe | None = None
    _tree: ShoeTree | None = None
    _position: int = 0
    _rounds_in_shoe: int = 0
    _roads: Roads = Roads()  # noqa: RUF009 - a value that never changes

    def play(self, rounds: int) -> "Story":
        """Tell some rounds, with the shoes that they need."""
        for _ in range(rounds):
            self._play_round()
        return self

    @property
    def secret(self) -> bytes:
        """The secret of the present shoe."""
        return hashlib.sha256(f"{self.seed} {self.shoe_number}".encode()).digest()

    def _play_round(self) -> None:
        shoe = self._shoe or self._start_shoe()
        is_last = shoe.is_past_cut_card(self._position) or shoe.cut_card is None
        self.round += 1
        self._rounds_in_shoe += 1
        self._open_and_close(is_last)
        if self._position == 0:
            self._tell(ShoeShuffled, shoe=shoe.number, round=self.round, merkle_root=self.tree.root.hex())
        if self._position == 0 and shoe.burned:
            self._position = shoe.burned
            self._tell(
                CardsBurned,
                round=self.round,
                shoe=shoe.number,
                card=shoe.cards[0],
                count=shoe.burned,
                remaining=len(shoe) - shoe.burned,
                show_at_ms=self._tick(),
                proof=self._proof(0),
            )
        hands = deal_hands(shoe.cards[self._position :])
        self._deal(shoe, hands)
        self._settle(hands)
        if is_last:
            self._tell(
                ShoeEnded, shoe=shoe.number, rounds=self._rounds_in_shoe, secret=self.secret.hex(), reason="dealt"
            )
            self._shoe = None

    def _start_shoe(self) -> Shoe:
        self.shoe_number += 1
        self._position = self._rounds_in_shoe = 0
        rules = self.rules
        order = shuffle(self.secret, rules.decks, self.shoe_number, self.cuts)
        self._tree = shoe_tree(self.secret, rules.decks, self.shoe_number, order)
        self._shoe = shoe = Shoe(self.shoe_number, tuple(map(card_of_index, order)), rules.cut_card)
        self._tell(
            ShoeStarted,
            shoe=shoe.number,
            decks=rules.decks,
            cards=len(shoe),
            cut_card=rules.cut_card,
            commitment=commitment(self.secret),
            roads=self._begun_roads(),
        )
        return shoe

    def _begun_roads(self) -> RoadsView | None:
        rounds_max = roads_rounds_max(self.rules)
        if self.shoe_number > 1 and rounds_max is not None and len(self._roads.rounds) < rounds_max:
            return None
        self._roads = Roads()
        return roads_view(self._roads, rounds_max)

    def _open_and_close(self, is_last: bool) -> None:
        opened_at_ms = self._tick()
        self._tell(
            BettingOpened,
            round=self.round,
            shoe=self.shoe_number,
            opened_at_ms=opened_at_ms,
            closes_at_ms=opened_at_ms + BETTING_MS,
            is_last_round=is_last,
        )
        self.now_ms = opened_at_ms + BETTING_MS
        totals: dict[Spot, int] = {}
        for bets in self.bets:
            for spot, amount in bets.items():
                totals[spot] = totals.get(spot, 0) + amount
        self._tell(
            BettingClosed,
            round=self.round,
            closed_at_ms=self.now_ms,
            early=False,
            totals=totals,
            bettors=len(self.bets),
            cuts=len(self.cuts) if self._position == 0 else None,
            cuts_digest=cuts_digest(self.cuts) if self._position == 0 else None,
        )

    def _deal(self, shoe: Shoe, hands: Hands) -> None:
        dealt: dict[Side, list[Any]] = {side: [] for side in Side}
        order = [Side.PLAYER, Side.BANKER] * 2
        order += [Side.PLAYER] * (len(hands.player) - 2) + [Side.BANKER] * (len(hands.banker) - 2)
        for side in order:
            card = shoe.cards[self._position]
            self._position += 1
            dealt[side].append(card)
            self._tell(
                CardDealt,
                round=self.round,
                side=side,
                card=card,
                total=hand_total(dealt[side]),
                remaining=len(shoe) - self._position,
                show_at_ms=self._tick(),
            )
        self.outcomes.append(hands.outcome)
        self._roads = self._roads.plus(RoadRound.of(hands))
        self._tell(
            RoundDecided,
            round=self.round,
            outcome=hands.outcome,
            player=list(hands.player),
            banker=list(hands.banker),
            player_total=hand_total(hands.player),
            banker_total=hand_total(hands.banker),
            player_natural=is_natural(hands.player),
            banker_natural=is_natural(hands.banker),
            show_at_ms=self._tick(),
            roads=roads_delta(self._roads),
            proofs=self._proofs(hands),
        )

    @property
    def tree(self) -> ShoeTree:
        """The tree over the present shoe."""
        assert self._tree is not None
        return self._tree

    def _proofs(self, hands: Hands) -> list[CardProof]:
        if self.rules.cut_card is None:
            return []
        return [self._proof(at) for at in range(self._position - hands.cards_used, self._position)]

    def _proof(self, position: int) -> CardProof:
        proof = self.tree.proof(position)
        return CardProof(index=proof.index, salt=proof.salt.hex(), path=[sibling.hex() for sibling in proof.path])

    def _settle(self, hands: Hands) -> None:
        paid = sum(line.payout for bets in self.bets for line in lines_of(self.rules, bets, hands.outcome).values())
        self._tell(RoundSettled, round=self.round, paid=paid, settled=len(self.bets), next_at_ms=self._tick())

    def _tick(self) -> int:
        self.now_ms += 10
        return self.now_ms

    def _tell(self, kind: Any, **fields: Any) -> None:
        self.events.append(kind(table=TABLE, seq=len(self.events) + 1, **fields))
