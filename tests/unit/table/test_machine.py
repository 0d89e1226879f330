"""The steps of a table: a round by hand, every refusal, the way of a shoe, and takeover between any two steps."""

from collections.abc import Callable
from itertools import count, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.game.cards import Card, parse_cards
from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.fairness import commitment
from client_sdk.game.merkle import shoe_tree
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.roads import Roads
from client_sdk.game.seals import FIRST_SEAL
from client_sdk.game.shoe import BURNED_MAX, CUT_CARD_MIN, Shoe
from client_sdk.game.tableau import Outcome, Side
from client_sdk.game.variants import VARIANTS, Spot
from client_sdk.protocol.messages import (
    BettingClosed,
    BettingOpened,
    BigRoadMark,
    CardDealt,
    CardsBurned,
    DealtCard,
    Event,
    RoadsDelta,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    ShoeEnded,
    ShoeStarted,
    TableIdled,
    TableRules,
)
from client_sdk.protocol.road_views import roads_view
from server.table import machine
from server.table.machine import Change, Due, FreshShoe, FrozenCuts, due
from server.table.open_shoe import OpenShoe
from server.table.phases import NEXT_PHASE, Phase, Step, StepRefused
from server.table.roads import SESSION_ROUNDS
from server.table.state import TableState
from tests.support.shoes import stacked_shoes
from tests.support.table_rules import rules_of
from tests.unit.table.walk import START_MS, TABLE, SeededShoes, Walk

SECRET = bytes(range(32))


def cards_of(text: str) -> tuple[Card, ...]:
    return tuple(Card(f"{rank}h") for rank in parse_cards(text))


def held(shoe: Shoe) -> OpenShoe:
    """A shoe of these cards as its dealer holds it; the tree stands over other cards."""
    return OpenShoe(SECRET, shoe, shoe_tree(SECRET, 1, shoe.number, range(len(shoe.cards))))


def forced(text: str, number: int = 1) -> OpenShoe:
    """A one-round shoe with these cards in front."""
    return held(Shoe(number, cards_of(text), None))


def at(phase: Phase, **changes: Any) -> TableState:
    """A table in a phase, with a shoe open."""
    base = TableState(phase=phase, seq=7, round=3, shoe=1, shoe_sealed="sealed", shoe_cards=9, shoe_first_round=3)
    base = replace(base, shoe_cuts=0, shoe_cuts_digest=cuts_digest(()), shoe_root="ab" * 32)
    state = replace(base, closes_at_ms=START_MS, shown_at_ms=START_MS, is_settled=phase is Phase.IDLE)
    return replace(state, **changes)


# --- A round by hand --------------------------------------------------------------------------------------------------


def test_a_round_of_six_cards_event_by_event() -> None:
    """Player 2+2, banker 6+T, both draw: player 2+2+6 = 0, banker 6+T+3 = 9."""
    rules = rules_of("red-lounge", betting_ms=5_000, card_ms=700, result_ms=4_000)
    walk = Walk(rules, stacked_shoes(["2 6 2 T 6 3"]))
    walk.play_rounds(1)
    opened = START_MS
    closed = opened + 5_000
    shown = [closed + 700 * step for step in range(1, 8)]
    assert walk.events == [
        ShoeStarted(
            table=TABLE,
            shoe=1,
            seq=1,
            decks=1,
            cards=6,
            cut_card=None,
            commitment="",
            roads=roads_view(Roads(), SESSION_ROUNDS),
        ),
        BettingOpened(
            table=TABLE, round=1, seq=2, shoe=1, opened_at_ms=opened, closes_at_ms=closed, is_last_round=True
        ),
        BettingClosed(table=TABLE, round=1, seq=3, closed_at_ms=closed, early=False, totals={Spot.TIE: 10}, bettors=1),
        CardDealt(table=TABLE, round=1, seq=4, side=Side.PLAYER, card="2s", total=2, remaining=5, show_at_ms=shown[0]),
        CardDealt(table=TABLE, round=1, seq=5, side=Side.BANKER, card="6s", total=6, remaining=4, show_at_ms=shown[1]),
        CardDealt(table=TABLE, round=1, seq=6, side=Side.PLAYER, card="2s", total=4, remaining=3, show_at_ms=shown[2]),
        CardDealt(table=TABLE, round=1, seq=7, side=Side.BANKER, card="Ts", total=6, remaining=2, show_at_ms=shown[3]),
        CardDealt(table=TABLE, round=1, seq=8, side=Side.PLAYER, card="6s", total=0, remaining=1, show_at_ms=shown[4]),
        CardDealt(table=TABLE, round=1, seq=9, side=Side.BANKER, card="3s", total=9, remaining=0, show_at_ms=shown[5]),
        RoundDecided(
            table=TABLE,
            round=1,
            seq=10,
            outcome=Outcome.BANKER,
            player=["2s", "2s", "6s"],
            banker=["6s", "Ts", "3s"],
            player_total=0,
            banker_total=9,
            player_natural=False,
            banker_natural=False,
            show_at_ms=shown[6],
            roads=RoadsDelta(
                bead="BP.",
                big_road=BigRoadMark(number=0, mark="B", place=0, ties=0),
                derived={},
                next={side: dict.fromkeys(DerivedRoad) for side in (Side.BANKER, Side.PLAYER)},
            ),
            proofs=[],
        ),
        RoundSettled(
            table=TABLE,
            round=1,
            seq=11,
            paid=20,
            settled=1,
            next_at_ms=shown[6] + 4_000,
            seal=FIRST_SEAL.digest,
            sealed_to=0,
        ),
        ShoeEnded(table=TABLE, shoe=1, seq=12, rounds=1, secret="", reason="dealt"),
    ]
    assert walk.now_ms == shown[6] - machine.LEAD_MS_MAX, "each step is taken a little before it is shown"
    assert due(walk.state, rules, None) == Due(Step.OPEN_BETTING, shown[6] + 4_000)


@pytest.mark.parametrize(
    ("line", "outcome", "naturals"),
    [
        ("9 8 K K", Outcome.PLAYER, (True, True)),
        ("8 9 K K", Outcome.BANKER, (True, True)),
        ("9 4 K 5", Outcome.TIE, (True, True)),
        ("6 6 K K", Outcome.TIE, (False, False)),
        ("2 4 2 4", Outcome.BANKER, (False, True)),
        ("6 2 K 3 3", Outcome.BANKER, (False, False)),
    ],
)
def test_forced_rounds(line: str, outcome: Outcome, naturals: tuple[bool, bool]) -> None:
    walk = Walk(rules_of("four-deck"), stacked_shoes([line]))
    walk.play_rounds(1)
    (decided,) = [event for event in walk.events if isinstance(event, RoundDecided)]
    assert decided.outcome is outcome
    assert (decided.player_natural, decided.banker_natural) == naturals


def test_stacked_rounds_come_in_their_order_and_around_again() -> None:
    walk = Walk(rules_of("red-lounge", stacked=True), stacked_shoes(["9 8 K K", "8 9 K K"]))
    walk.play_rounds(3)
    outcomes = [event.outcome for event in walk.events if isinstance(event, RoundDecided)]
    assert outcomes == [Outcome.PLAYER, Outcome.BANKER, Outcome.PLAYER]
    assert [event.shoe for event in walk.events if isinstance(event, ShoeStarted)] == [1, 2, 3]


def test_the_first_card_of_a_shoe_is_shown_and_burned_with_as_many_as_it_counts() -> None:
    for first, burned_cards in (("A", 2), ("7", 8), ("T", 11), ("K", 11)):
        rules = rules_of("royal", cut_card=11)
        cards = cards_of(f"{first} " + "9 8 K K " * 20)
        shoe = held(Shoe(1, cards, 11))
        walk = Walk(rules, stacked_shoes(["9 8 K K"]), watch=lambda *_: None)
        walk.shoe = shoe
        walk.state = machine.start_shoe(TableState(), TABLE, rules, FreshShoe(1, len(cards), "", "")).state
        walk.step()
        walk.step()
        assert due(walk.state, rules, shoe) == Due(Step.BURN_CARDS, walk.now_ms + rules.card_ms - machine.LEAD_MS_MAX)
        walk.step()
        burned = walk.events[-1]
        assert isinstance(burned, CardsBurned)
        assert (burned.card, burned.count, burned.remaining) == (f"{first}h", burned_cards, 81 - burned_cards)
        assert burned.proof == shoe.proof(0)
        walk.step()
        dealt = walk.events[-1]
        assert isinstance(dealt, CardDealt)
        assert dealt.card == cards[burned_cards]


# --- Refusals change nothing ------------------------------------------------------------------------------------------

RULES = rules_of("red-lounge")
NATURALS = forced("9 8 K K 2 2 2 2 2")
FULL = held(Shoe(1, cards_of("2 3 4 5 6 7 8 9 T J Q K A " * 4), 14))
NO_CUTS = FrozenCuts(0, cuts_digest(()))
HANDS = (("player", "9h"), ("banker", "8h"), ("player", "Kh"), ("banker", "Kh"))
COMPLETE = tuple(DealtCard(side=Side(side), card=card, show_at_ms=START_MS) for side, card in HANDS)

StepOn = Callable[[TableState], Change]
STEPS: dict[Step, StepOn] = {
    Step.CHANGE_RULES: lambda state: machine.change_rules(state, TABLE, RULES, rules_of("four-deck")),
    Step.BREAK_SHOE: lambda state: machine.break_shoe(state, TABLE, RULES, "lost", SECRET),
    Step.EXTEND_BETTING: lambda state: machine.extend_betting(state, TABLE, START_MS + 1),
    Step.VOID_ROUND: lambda state: machine.void_round(state, TABLE, START_MS, "lost"),
    Step.START_SHOE: lambda state: machine.start_shoe(state, TABLE, RULES, FreshShoe(2, 52, "sealed", "")),
    Step.OPEN_BETTING: lambda state: machine.open_betting(state, TABLE, RULES, START_MS),
    Step.CLOSE_BETTING: lambda state: machine.close_betting(state, TABLE, START_MS, False, {}, 0, None),
    Step.SHUFFLE_SHOE: lambda state: machine.shuffle_shoe(state, TABLE, FULL),
    Step.BURN_CARDS: lambda state: machine.burn_cards(state, TABLE, RULES, FULL, START_MS),
    Step.DEAL_CARD: lambda state: machine.deal_card(state, TABLE, RULES, NATURALS, START_MS),
    Step.DECLARE_OUTCOME: lambda state: machine.declare_outcome(state, TABLE, RULES, NATURALS, START_MS),
    Step.FINISH_ROUND: lambda state: machine.finish_round(state, TABLE, RULES, START_MS, 0, 0, FIRST_SEAL, SECRET),
    Step.FALL_IDLE: lambda state: machine.fall_idle(state, TABLE, FIRST_SEAL),
    Step.PAUSE: lambda state: machine.pause(state, TABLE, "a fire"),
    Step.RESUME: lambda state: machine.resume(state, TABLE),
    Step.CLOSE: lambda state: machine.close(state, TABLE, ""),
}
# What each step needs beside its phase, so that the phase alone decides.
FIT: dict[Step, dict[str, Any]] = {
    Step.CHANGE_RULES: {"is_settled": True, "shoe_sealed": None},
    Step.START_SHOE: {"is_settled": True, "shoe_sealed": None},
    Step.BREAK_SHOE: {"is_settled": True},
    Step.OPEN_BETTING: {"is_settled": True},
    Step.SHUFFLE_SHOE: {"shoe_root": None},
    Step.DECLARE_OUTCOME: {"dealt": COMPLETE, "position": 4},
    Step.FALL_IDLE: {"is_settled": True},
    Step.PAUSE: {"is_settled": True},
    Step.RESUME: {"is_settled": True},
    Step.CLOSE: {"is_settled": True, "shoe_sealed": None},
}


@pytest.mark.parametrize(("phase", "step"), list(product(Phase, Step)))
def test_each_step_goes_by_the_table_of_phases(phase: Phase, step: Step) -> None:
    state = at(phase, **FIT.get(step, {}))
    if step is Step.FINISH_ROUND:
        state = replace(state, is_settled=False, outcome=Outcome.TIE)
    before = replace(state)
    if step in NEXT_PHASE[phase]:
        change = STEPS[step](state)
        assert change.state.phase is NEXT_PHASE[phase][step]
        assert change.state.seq == state.seq + len(change.events)
        assert [event.seq for event in change.events] == list(range(8, 8 + len(change.events)))
    else:
        with pytest.raises(StepRefused) as refused:
            STEPS[step](state)
        assert (refused.value.step, refused.value.phase) == (step, phase)
    assert state == before


@pytest.mark.parametrize(
    ("step", "state"),
    [
        # between two rounds means after the settlement
        (Step.CHANGE_RULES, at(Phase.SETTLING, shoe_sealed=None)),
        (Step.START_SHOE, at(Phase.SETTLING, shoe_sealed=None)),
        (Step.OPEN_BETTING, at(Phase.SETTLING)),
        (Step.FALL_IDLE, at(Phase.SETTLING)),
        (Step.PAUSE, at(Phase.SETTLING)),
        (Step.CLOSE, at(Phase.IDLE)),
        (Step.FINISH_ROUND, at(Phase.SETTLING, is_settled=True)),
        # shoes
        (Step.BREAK_SHOE, at(Phase.SETTLING)),
        (Step.BREAK_SHOE, at(Phase.IDLE, shoe_sealed=None)),
        (Step.EXTEND_BETTING, at(Phase.BETTING, closes_at_ms=START_MS + 1)),
        (Step.EXTEND_BETTING, at(Phase.BETTING, closes_at_ms=START_MS + 2)),
        (Step.CHANGE_RULES, at(Phase.IDLE)),
        (Step.CHANGE_RULES, at(Phase.SETTLING, is_settled=True)),
        (Step.START_SHOE, at(Phase.IDLE)),
        (Step.START_SHOE, at(Phase.IDLE, shoe_sealed=None, shoe=0)),
        (Step.START_SHOE, at(Phase.IDLE, shoe_sealed=None, shoe=2)),
        (Step.OPEN_BETTING, at(Phase.IDLE, shoe_sealed=None)),
        # cards
        (Step.BURN_CARDS, at(Phase.DEALING, position=FULL.dealt_from.burned)),
        (Step.BURN_CARDS, at(Phase.DEALING, shoe_root=None)),
        (Step.DEAL_CARD, at(Phase.DEALING, shoe_root=None)),
        (Step.SHUFFLE_SHOE, at(Phase.DEALING)),
        (Step.SHUFFLE_SHOE, at(Phase.DEALING, shoe_sealed="", shoe_root=None)),
        (Step.CLOSE_BETTING, at(Phase.BETTING, shoe_cuts=None)),
        (Step.DEAL_CARD, at(Phase.DEALING, dealt=COMPLETE, position=4)),
        (Step.DECLARE_OUTCOME, at(Phase.DEALING)),
        (Step.DECLARE_OUTCOME, at(Phase.DEALING, dealt=COMPLETE[:3], position=3)),
    ],
)
def test_what_the_phase_allows_but_the_table_is_not_ready_for(step: Step, state: TableState) -> None:
    before = replace(state)
    with pytest.raises(StepRefused) as refused:
        STEPS[step](state)
    assert refused.value.reason
    assert state == before


def test_no_card_before_the_burn_and_no_burn_where_every_round_is_shuffled() -> None:
    with pytest.raises(StepRefused):
        machine.deal_card(at(Phase.DEALING), TABLE, RULES, FULL, START_MS)
    with pytest.raises(StepRefused):
        machine.burn_cards(at(Phase.DEALING), TABLE, RULES, NATURALS, START_MS)


def test_rules_that_no_shoe_is_made_by_change_between_two_rounds() -> None:
    other = rules_of("red-lounge", minimum=20, betting_ms=1_000)
    state = at(Phase.SETTLING, is_settled=True)
    change = machine.change_rules(state, TABLE, RULES, other)
    assert change.events == (RulesChanged(table=TABLE, seq=8, rules=other),)
    assert change.state == replace(state, seq=8)


@pytest.mark.parametrize("changes", [{"decks": 2}, {"cut_card": 20}, {"stacked": True}])
def test_rules_that_a_shoe_is_made_by_wait_for_its_end(changes: dict[str, Any]) -> None:
    other = replace(RULES, **changes)
    with pytest.raises(StepRefused):
        machine.change_rules(at(Phase.IDLE), TABLE, RULES, other)
    assert machine.change_rules(at(Phase.IDLE, shoe_sealed=None), TABLE, RULES, other).events


# --- Void rounds and broken shoes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(1, 8))
@pytest.mark.parametrize(("how", "reason"), [("break", "lost"), ("void", "operator")])
def test_a_void_round_is_settled_without_an_outcome(steps: int, how: str, reason: str) -> None:
    """At any step before the outcome; its shoe ends with it and is revealed."""
    walk = Walk(rules_of("royal"), SeededShoes(5))
    for _ in range(steps):
        walk.step()
    told_at_ms = walk.state.closed_at_ms
    walk.disturb(how)
    voided = walk.events[-1]
    assert isinstance(voided, RoundVoided)
    assert (walk.state.is_void, walk.state.outcome) == (True, None)
    assert walk.state.closed_at_ms == (walk.now_ms if told_at_ms is None else told_at_ms)
    assert due(walk.state, walk.rules, walk.shoe) == Due(Step.FINISH_ROUND, 0)
    walk.step()
    settled, ended = walk.events[-2:]
    assert isinstance(settled, RoundSettled)
    assert isinstance(ended, ShoeEnded)
    assert (ended.reason, walk.state.has_shoe) == (reason, False)
    walk.play_rounds(1)
    assert walk.state.is_void is False
    assert walk.state.outcome is not None
    assert walk.state.shoe == 2


def test_a_decided_round_is_not_voided() -> None:
    walk = Walk(rules_of("red-lounge"), stacked_shoes(["9 8 K K"]))
    while walk.state.outcome is None:
        walk.step()
    with pytest.raises(StepRefused):
        machine.void_round(walk.state, TABLE, walk.now_ms, "lost")


def test_a_shoe_broken_between_two_rounds_is_revealed() -> None:
    walk = Walk(rules_of("royal"), SeededShoes(5))
    walk.play_rounds(2)
    walk.disturb("break")
    ended = walk.events[-1]
    assert isinstance(ended, ShoeEnded)
    assert (ended.shoe, ended.rounds, ended.reason) == (1, 2, "lost")
    walk.play_rounds(2)
    assert walk.state.shoe == 2
    assert walk.state.shoe_ends_by == "dealt"


def test_time_given_back_is_never_taken_again() -> None:
    walk = Walk(rules_of("royal"), SeededShoes(5))
    walk.step()
    deadline = walk.state.closes_at_ms or 0
    walk.disturb("extend")
    assert walk.state.closes_at_ms == deadline + 7_000
    with pytest.raises(StepRefused):
        machine.extend_betting(walk.state, TABLE, deadline)
    walk.take_over()
    walk.step()
    closed = walk.events[-1]
    assert isinstance(closed, BettingClosed)
    assert (closed.closed_at_ms, closed.early) == (deadline + 7_000, False)


# --- Closing betting --------------------------------------------------------------------------------------------------


def test_nothing_is_due_while_nobody_is_seated() -> None:
    assert due(TableState(), RULES, None) is None
    assert due(at(Phase.IDLE), RULES, NATURALS) is None


def test_an_early_close_moves_the_deadline_that_late_acts_are_told() -> None:
    walk = Walk(rules_of("red-lounge"), stacked_shoes(["9 8 K K"]))
    walk.step()
    deadline = walk.state.closes_at_ms
    assert deadline == START_MS + walk.rules.betting_ms
    walk.step(early_ms=50_000)
    closed = walk.events[-1]
    assert isinstance(closed, BettingClosed)
    assert closed.early
    assert walk.state.closed_at_ms == walk.state.closes_at_ms == closed.closed_at_ms == deadline - 50_000
    assert due(walk.state, walk.rules, walk.shoe) == Due(
        Step.DEAL_CARD, closed.closed_at_ms + walk.rules.card_ms - machine.LEAD_MS_MAX
    )


@pytest.mark.parametrize("card_ms", [0, 1, 100, 150, 151, 700])
def test_the_pace_of_cards_and_how_a_delay_is_taken_up(card_ms: int) -> None:
    walk = Walk(rules_of("red-lounge", card_ms=card_ms), stacked_shoes(["2 6 2 T 6 3"]))
    for late_ms in (0, 0, 0, 0, 5_000, 0, 0):
        walk.step(late_ms)
    shown = [event.show_at_ms for event in walk.events if isinstance(event, CardDealt)]
    lead_ms = min(150, card_ms)
    assert [late - early for early, late in pairwise(shown)] == [
        card_ms,
        5_000 + card_ms,
        card_ms,
        card_ms,
    ]
    assert shown[0] == START_MS + 60_000 + card_ms
    assert shown[-1] == walk.now_ms + lead_ms


def test_a_step_taken_too_early_keeps_the_pace_all_the_same() -> None:
    state = at(Phase.DEALING, shown_at_ms=START_MS)
    rules = rules_of("red-lounge", card_ms=700)
    for now_ms in (START_MS - 5_000, START_MS, START_MS + 400):
        change = machine.deal_card(state, TABLE, rules, NATURALS, now_ms)
        assert change.state.shown_at_ms == START_MS + 700


def test_a_round_begins_with_nothing_of_the_one_before() -> None:
    walk = Walk(rules_of("royal"), SeededShoes(4))
    walk.play_rounds(1)
    before = walk.state
    walk.step()
    assert walk.state == replace(
        before,
        phase=Phase.BETTING,
        seq=before.seq + 1,
        round=2,
        opened_at_ms=walk.now_ms,
        closes_at_ms=walk.now_ms + walk.rules.betting_ms,
        closed_at_ms=None,
        dealt=(),
        outcome=None,
        is_settled=False,
        next_at_ms=None,
    )


def test_the_next_round_does_not_wait_for_an_instant_in_the_past() -> None:
    state = at(Phase.SETTLING, outcome=Outcome.TIE, shown_at_ms=START_MS)
    late_ms = START_MS + 60_000
    change = machine.finish_round(state, TABLE, rules_of("red-lounge", result_ms=4_000), late_ms, 0, 0, FIRST_SEAL, b"")
    assert change.state.next_at_ms == late_ms
    assert isinstance(change.events[0], RoundSettled)
    assert change.events[0].next_at_ms == late_ms


# --- The way of a shoe ------------------------------------------------------------------------------------------------


def shoe_events(events: list[Event]) -> list[str]:
    """Rounds and shoe changes of a walk, a letter each: S a shoe starts, r a round, L a shoe's last, E it ends."""
    letters = []
    for event in events:
        match event:
            case ShoeStarted():
                letters.append("S")
            case BettingOpened(is_last_round=is_last):
                letters.append("L" if is_last else "r")
            case ShoeEnded():
                letters.append("E")
            case _:
                pass
    return letters


@pytest.mark.parametrize("variant", VARIANTS)
def test_bl_032_three_hundred_rounds_without_pause(variant: str) -> None:
    """BL-032, BL-033: the smallest shoe, the cut card at its lowest; `Watcher` counts what remains at every event."""
    cut_card = None if VARIANTS[variant].shuffles_every_round else CUT_CARD_MIN
    walk = Walk(rules_of(variant, decks=1, cut_card=cut_card), SeededShoes(32))
    walk.play_rounds(300)
    shoes = "".join(shoe_events(walk.events)).split("S")[1:]
    assert len(shoes) >= 30
    assert all(shoe.rstrip("E").rstrip("L").strip("r") == "" for shoe in shoes)
    assert all(shoe.endswith("LE") for shoe in shoes[:-1])
    if cut_card is None:
        assert set(shoes) == {"LE"}


@pytest.mark.parametrize("card", [1, 2, 3, 4, 5, 6])
def test_bl_035_the_cut_card_in_the_middle_of_a_round(card: int) -> None:
    """BL-035: wherever in a round the cut card comes, it ends from its shoe, one more follows, then the change."""
    shoes = SeededShoes(35)
    plain = Walk(rules_of("royal", decks=2), shoes)
    for _ in range(3):
        plain.play_rounds(1)
    third_ends_at = plain.state.position
    cards_of_round = len(plain.state.dealt)
    cut_at = third_ends_at - cards_of_round + card
    walk = Walk(rules_of("royal", decks=2, cut_card=104 - cut_at), shoes)
    walk.play_rounds(6)
    if card <= cards_of_round:  # reached in the third round: the fourth is the last
        assert shoe_events(walk.events)[:6] == ["S", "r", "r", "r", "L", "E"]
    else:
        assert shoe_events(walk.events)[:7] == ["S", "r", "r", "r", "r", "L", "E"]
    kinds = [type(event) for event in walk.events]
    ended = kinds.index(ShoeEnded)
    assert kinds[ended - 1 : ended + 3] == [RoundSettled, ShoeEnded, ShoeStarted, BettingOpened]


def burned_by(seed: int, rules: TableRules) -> int:
    """How many cards the first shoe of this seed burns."""
    walk = Walk(rules, SeededShoes(seed))
    while walk.state.shoe_root is None:
        walk.step()
    return walk.open_shoe.dealt_from.burned


def test_a_cut_card_right_behind_the_largest_burn() -> None:
    """The burn alone nearly reaches it: the first round ends beyond it, and the second is the last."""
    rules = rules_of("royal", decks=1, cut_card=52 - BURNED_MAX - 1)
    seed = next(seed for seed in count() if burned_by(seed, rules) == BURNED_MAX)
    walk = Walk(rules, SeededShoes(seed))
    walk.play_rounds(2)
    assert shoe_events(walk.events) == ["S", "r", "L", "E"]


def test_bl_039_a_shoe_outlives_an_empty_table() -> None:
    """BL-039: the last patron leaves and somebody comes again: same shoe, same position, the round number goes on."""
    walk = Walk(rules_of("royal"), SeededShoes(39))
    walk.play_rounds(3)
    before = walk.state
    walk.step(is_seated=False)
    assert isinstance(walk.events[-1], TableIdled)
    for _ in range(3):
        walk.step(is_seated=False)  # nothing is due, nothing happens
    assert walk.state == replace(before, phase=Phase.IDLE, seq=before.seq + 1)
    walk.take_over()
    walk.now_ms += 3_600_000
    walk.step()
    opened = walk.events[-1]
    assert isinstance(opened, BettingOpened)
    assert (opened.round, opened.shoe, opened.opened_at_ms) == (before.round + 1, before.shoe, walk.now_ms)
    assert walk.state.position == before.position
    walk.play_rounds(3)
    assert shoe_events(walk.events) == ["S", *"rrrrrrr"]


def test_every_shoe_is_opened_by_its_secret_at_the_end() -> None:
    walk = Walk(rules_of("four-deck"), SeededShoes(1))
    walk.play_rounds(20)
    begun = [event.commitment for event in walk.events if isinstance(event, ShoeStarted)]
    ended = [commitment(bytes.fromhex(event.secret)) for event in walk.events if isinstance(event, ShoeEnded)]
    assert begun == ended
    assert len(set(begun)) == 20


# --- Any run of steps -------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> TableRules:
    """Any house, with few decks so that shoes end soon, and any pace."""
    variant = draw(st.sampled_from(sorted(VARIANTS)))
    decks = draw(st.integers(1, 3))
    cut_cards = st.integers(CUT_CARD_MIN, 52 * decks - BURNED_MAX - 1)
    return rules_of(
        variant,
        decks=decks,
        cut_card=None if VARIANTS[variant].shuffles_every_round else draw(cut_cards),
        card_ms=draw(st.integers(0, 1_000)),
        result_ms=draw(st.integers(0, 5_000)),
    )


turns = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 149, 151, 10_000]),  # late by so many ms
        st.sampled_from([True, True, True, True, False]),  # somebody is seated
        st.sampled_from([0, 0, 1, 30_000]),  # closed early by so many ms
        st.sampled_from([""] * 8 + ["void", "break", "extend"]),
    ),
    min_size=1,
    max_size=20,
)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rules=tables(), seed=st.integers(0, 2**32), habits=turns)
def test_any_run_of_steps_keeps_what_a_table_promises(
    rules: TableRules, seed: int, habits: list[tuple[int, bool, int, str]]
) -> None:
    """`Watcher` checks every event; a second table is taken over by another node between any two steps."""
    walk, taken_over = Walk(rules, SeededShoes(seed)), Walk(rules, SeededShoes(seed))
    for number in range(150):
        late_ms, is_seated, early_ms, disturbance = habits[number % len(habits)]
        for each in (walk, taken_over):
            each.step(late_ms, is_seated=is_seated, early_ms=early_ms)
            if disturbance:
                each.disturb(disturbance)
        taken_over.take_over()
        assert taken_over.state == walk.state
        if walk.state.shoe_root is not None:  # until it is told only one of them has shuffled
            assert taken_over.shoe == walk.shoe
    assert taken_over.events == walk.events
