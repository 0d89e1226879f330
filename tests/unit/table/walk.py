"""A dealer without a store: it keeps the machine's appointments on its own clock, and may be replaced between any two.

`Watcher` sees only the events and the shoes, and holds them against what a table promises.
"""

from collections.abc import Callable, Sequence

from client_sdk.game.cards import Card, card_value, hand_total
from client_sdk.game.fairness import Cut, commitment
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.shoe import Shoe
from client_sdk.game.tableau import CARDS_PER_ROUND_MAX, Hands, Side, deal_hands
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import (
    BettingClosed,
    BettingExtended,
    BettingOpened,
    CardDealt,
    CardsBurned,
    EndedShoe,
    Event,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    TableIdled,
    TableRules,
)
from server.shoes import Shoes
from server.store.records import pack, unpack_state
from server.table import machine
from server.table.machine import Change, FrozenCuts
from server.table.open_shoe import OpenShoe
from server.table.phases import Phase, Step
from server.table.state import TableState
from tests.support.shoes import SeededShoes, opened

__all__ = ["SeededShoes"]

TABLE = "t1"
START_MS = 1_700_000_000_000


class Walk:
    """A table that is dealt for as long as somebody calls `step`."""

    def __init__(
        self,
        rules: TableRules,
        shoes: Shoes,
        watch: Callable[[Event, int], None] | None = None,
        cuts: Sequence[Cut] = (),
    ) -> None:
        self.rules = rules
        self.state = TableState()
        self.shoe: OpenShoe | None = None
        self.cuts = cuts
        """What patrons put into every shoe."""
        self.ended: list[EndedShoe] = []
        self.now_ms = START_MS
        self.events: list[Event] = []
        self._shoes = shoes
        self._watch = watch or Watcher(rules, self)

    def take_over(self) -> None:
        """Go on as another node would: from the packed state and the shoe made again."""
        self.state = unpack_state(pack(self.state), self.state.closes_at_ms or 0)
        self.shoe = opened(self._shoes, TABLE, self.state, self.rules, self.cuts)

    def take(self, change: Change) -> None:
        """Accept what a step came to."""
        assert change.state.seq == self.state.seq + len(change.events)
        self.state = change.state
        self.ended += [change.ended] if change.ended is not None else []
        for event in change.events:
            self.events.append(event)
            self._watch(event, self.now_ms)

    def step(self, late_ms: int = 0, *, is_seated: bool = True, early_ms: int = 0) -> None:
        """Keep the next appointment, `late_ms` after its instant (or `early_ms` before it, where all are ready)."""
        state, rules = self.state, self.rules
        due = machine.due(state, rules, self.shoe)
        if due is not None:
            self.now_ms = max(self.now_ms, due.at_ms) + late_ms
        match due.step if due else None:
            case None:
                if is_seated:
                    self.open_round()
            case Step.CLOSE_BETTING:
                closed_at_ms = (state.closes_at_ms or 0) - early_ms
                self.now_ms -= early_ms
                cuts = FrozenCuts(len(self.cuts), cuts_digest(self.cuts)) if state.takes_cuts else None
                self.take(machine.close_betting(state, TABLE, closed_at_ms, early_ms > 0, {Spot.TIE: 10}, 1, cuts))
            case Step.SHUFFLE_SHOE:
                self.shoe = opened(self._shoes, TABLE, state, rules, self.cuts)
                self.take(machine.shuffle_shoe(state, TABLE, self.open_shoe))
            case Step.BURN_CARDS:
                self.take(machine.burn_cards(state, TABLE, rules, self.open_shoe, self.now_ms))
            case Step.DEAL_CARD:
                self.take(machine.deal_card(state, TABLE, rules, self.open_shoe, self.now_ms))
            case Step.DECLARE_OUTCOME:
                self.take(machine.declare_outcome(state, TABLE, rules, self.open_shoe, self.now_ms))
            case Step.FINISH_ROUND:
                secret = self.open_shoe.secret
                self.take(machine.finish_round(state, TABLE, rules, self.now_ms, 20, 1, state.seal, secret))
                self.shoe = self.shoe if self.state.has_shoe else None
            case Step.OPEN_BETTING if is_seated:
                self.open_round()
            case Step.OPEN_BETTING:
                self.take(machine.fall_idle(state, TABLE, state.seal))
            case other:
                raise AssertionError(f"{other} is never announced")

    def disturb(self, how: str) -> None:
        """Void the round, break the shoe, or give betting time back, where that can be."""
        match how, self.state.phase:
            case (("void" | "break"), (Phase.BETTING | Phase.DEALING)):
                reason = "lost" if how == "break" else "operator: unclear"
                self.take(machine.void_round(self.state, TABLE, self.now_ms, reason))
            case "break", (Phase.IDLE | Phase.SETTLING) if self.state.is_settled and self.state.has_shoe:
                self.take(machine.break_shoe(self.state, TABLE, self.rules, "lost", self.open_shoe.secret))
                self.shoe = None
            case "extend", Phase.BETTING:
                self.take(machine.extend_betting(self.state, TABLE, (self.state.closes_at_ms or 0) + 7_000))
            case _:
                pass

    @property
    def open_shoe(self) -> OpenShoe:
        assert self.shoe is not None
        return self.shoe

    def open_round(self) -> None:
        """Open betting, on a fresh shoe where none is open."""
        change = Change(self.state, ())
        if not self.state.has_shoe:
            fresh = self._shoes.fresh(TABLE, self.state.shoe + 1, self.rules)
            change = machine.start_shoe(self.state, TABLE, self.rules, fresh)
            self.shoe = opened(self._shoes, TABLE, change.state, self.rules)
        self.take(change.then(machine.open_betting(change.state, TABLE, self.rules, self.now_ms)))

    def play_rounds(self, rounds: int) -> None:
        """Deal until so many more rounds are settled."""
        until = self.state.round + rounds
        while self.state.round < until or not self.state.is_settled:
            self.step()


class Watcher:
    """What a follower of the table's events may rely on."""

    def __init__(self, rules: TableRules, walk: Walk) -> None:
        self._rules = rules
        self._walk = walk
        self._phase = Phase.IDLE
        self._seq = 0
        self._round = 0
        self._is_open = False
        self._shoe: Shoe | None = None
        self._root: str | None = None
        self._shoe_number = 0
        self._commitment = ""
        self._taken = 0
        self._burned = False
        self._rounds_of_shoe = 0
        self._beyond_cut_card = 0
        self._dealt: list[CardDealt] = []
        self._is_settled = True
        self._shown_at_ms = 0
        self._closes_at_ms = 0
        self._is_last = False
        self._must_end = False
        self._is_broken = False

    def __call__(self, event: Event, now_ms: int) -> None:
        assert (event.table, event.seq) == (TABLE, self._seq + 1)
        self._seq = event.seq
        assert not self._must_end or isinstance(event, ShoeEnded), "a shoe that is out ends before anything else"
        assert not self._is_broken or isinstance(event, RoundSettled | ShoeEnded), "so does a broken one"
        match event:
            case ShoeStarted():
                self._shoe_started(event)
            case BettingOpened():
                self._betting_opened(event, now_ms)
            case BettingExtended():
                assert (self._phase, event.round) == (Phase.BETTING, self._round)
                assert event.closes_at_ms > self._closes_at_ms
                self._closes_at_ms = event.closes_at_ms
            case BettingClosed():
                assert (self._phase, event.round) == (Phase.BETTING, self._round)
                assert (
                    event.closed_at_ms < self._closes_at_ms if event.early else event.closed_at_ms == self._closes_at_ms
                )
                is_first = self._commitment != "" and self._rounds_of_shoe == 1
                assert (event.cuts, event.cuts_digest) == (
                    (len(self._walk.cuts), cuts_digest(self._walk.cuts)) if is_first else (None, None)
                )
                self._phase, self._shown_at_ms = Phase.DEALING, event.closed_at_ms
            case ShoeShuffled():
                assert (self._phase, event.round) == (Phase.DEALING, self._round)
                assert (event.shoe, self._root, self._taken) == (self._shoe_number, None, 0)
                self._root, self._shoe = event.merkle_root, self._walk.open_shoe.dealt_from
                assert (len(self._shoe), self._shoe.cut_card) == (self._cards, self._rules.cut_card)
            case RoundVoided():
                assert event.round == self._round
                assert self._phase in (Phase.BETTING, Phase.DEALING), "a round that is decided counts"
                self._phase, self._shown_at_ms, self._is_broken = Phase.SETTLING, now_ms, True
                self._ends_by = event.reason.partition(":")[0]
            case CardsBurned():
                self._cards_burned(event, now_ms)
            case CardDealt():
                self._card_dealt(event, now_ms)
            case RoundDecided():
                self._round_decided(event, now_ms)
            case RoundSettled():
                self._round_settled(event, now_ms)
            case ShoeEnded():
                self._shoe_ended(event)
            case TableIdled():
                assert (self._phase, event.round) == (Phase.SETTLING, self._round)
                self._phase = Phase.IDLE
            case _:
                raise AssertionError(event)

    def _shoe_started(self, event: ShoeStarted) -> None:
        assert not self._is_open, "a shoe is opened only where none is open"
        assert self._phase in (Phase.IDLE, Phase.SETTLING), "and only between two rounds"
        assert event.shoe == self._shoe_number + 1
        self._shoe_number, self._commitment = event.shoe, event.commitment
        self._is_open, self._root, self._cards, self._ends_by = True, None, event.cards, "dealt"
        self._shoe = None if event.commitment else self._walk.open_shoe.dealt_from
        assert event.cut_card == self._rules.cut_card
        self._taken, self._burned, self._rounds_of_shoe, self._beyond_cut_card = 0, False, 0, 0

    def _betting_opened(self, event: BettingOpened, now_ms: int) -> None:
        assert self._is_open
        assert self._phase in (Phase.IDLE, Phase.SETTLING)
        assert (event.round, event.shoe) == (self._round + 1, self._shoe_number)
        assert (event.opened_at_ms, event.closes_at_ms) == (now_ms, now_ms + self._rules.betting_ms)
        self._closes_at_ms = event.closes_at_ms
        self._is_last = self._rules.cut_card is None or self._beyond_cut_card == 1
        assert event.is_last_round is self._is_last
        self._phase, self._round, self._dealt, self._is_settled = Phase.BETTING, event.round, [], False
        self._rounds_of_shoe += 1

    def _cards_burned(self, event: CardsBurned, now_ms: int) -> None:
        assert self._shoe is not None
        assert self._phase is Phase.DEALING
        assert not self._burned
        assert self._taken == 0
        assert self._shoe.cut_card is not None
        assert event.card == self._shoe.cards[0]
        assert event.count == 1 + (card_value(self._shoe.cards[0]) or 10)
        self._burned, self._taken = True, event.count
        assert event.remaining == len(self._shoe.cards) - self._taken
        self._shown(event.show_at_ms, now_ms)

    def _card_dealt(self, event: CardDealt, now_ms: int) -> None:
        assert self._shoe is not None
        assert (self._phase, event.round) == (Phase.DEALING, self._round)
        assert self._burned is (self._shoe.cut_card is not None)
        assert event.card == self._shoe.cards[self._taken], "each card once, in the order of the shoe"
        assert self._root is not None or not self._commitment, "no card before the root"
        self._taken += 1
        assert event.remaining == len(self._shoe.cards) - self._taken >= 0
        self._dealt.append(event)
        hand = [Card(dealt.card) for dealt in self._dealt if dealt.side == event.side]
        assert event.total == hand_total(hand)
        self._shown(event.show_at_ms, now_ms)

    def _round_decided(self, event: RoundDecided, now_ms: int) -> None:
        hands = self._hands()
        assert (self._phase, event.round) == (Phase.DEALING, self._round)
        assert (event.player, event.banker) == (list(hands.player), list(hands.banker))
        assert event.outcome == hands.outcome
        self._phase = Phase.SETTLING
        self._shown(event.show_at_ms, now_ms)

    def _round_settled(self, event: RoundSettled, now_ms: int) -> None:
        assert self._is_open
        assert (self._phase, event.round) == (Phase.SETTLING, self._round)
        assert event.next_at_ms >= max(now_ms, self._shown_at_ms + self._rules.result_ms)
        if self._rules.cut_card is not None and self._taken >= self._cards - self._rules.cut_card:
            self._beyond_cut_card += 1
        self._must_end = self._is_last or self._is_broken
        assert self._beyond_cut_card < 2 or self._is_last, "exactly one more round after the cut card"
        self._is_settled = True

    def _shoe_ended(self, event: ShoeEnded) -> None:
        assert self._is_open
        assert self._is_settled
        assert self._must_end or event.reason == "lost"
        assert (event.shoe, event.rounds) == (self._shoe_number, self._rounds_of_shoe)
        assert event.reason == (self._ends_by if self._must_end else "lost")
        secret = bytes.fromhex(event.secret)
        if secret:
            assert commitment(secret) == self._commitment
        self._is_open, self._must_end, self._is_broken = False, False, False

    def _hands(self) -> Hands:
        """Deal the round again from the shoe itself."""
        assert self._shoe is not None
        start = self._taken - len(self._dealt)
        hands = deal_hands(self._shoe.cards[start : start + CARDS_PER_ROUND_MAX])
        assert hands.cards_used == len(self._dealt)
        sides = [dealt.side for dealt in self._dealt]
        expected = [Side.PLAYER, Side.BANKER, Side.PLAYER, Side.BANKER]
        expected += [Side.PLAYER] * (len(hands.player) - 2) + [Side.BANKER] * (len(hands.banker) - 2)
        assert sides == expected
        return hands

    def _shown(self, show_at_ms: int, now_ms: int) -> None:
        assert show_at_ms >= now_ms, "nothing is shown in the past"
        assert show_at_ms - self._shown_at_ms >= self._rules.card_ms, "never faster than the table's pace"
        lead_ms = min(machine.LEAD_MS_MAX, self._rules.card_ms)
        assert show_at_ms == max(self._shown_at_ms + self._rules.card_ms, now_ms + lead_ms), "nor slower"
        self._shown_at_ms = show_at_ms
