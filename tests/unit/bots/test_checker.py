"""The table's checker: right stories pass, and each kind of planted error is found and named."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.bots import checker as checker_module
from client_sdk.bots.checker import TableChecker
from client_sdk.bots.findings import Kind
from client_sdk.bots.table_sums import totals_found
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.tableau import Outcome, Side
from client_sdk.game.variants import VARIANTS, Spot
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    BettingExtended,
    BettingOpened,
    BigRoadMark,
    CardDealt,
    CardsBurned,
    DealtCard,
    RoadsDelta,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    ShoeView,
)
from tests.unit.bots.story import TABLE, Story, roads_after, rules_of, view_of

BETS = ({Spot.PLAYER: 500}, {Spot.BANKER: 700}, {Spot.TIE: 2_500})
Change = Callable[[Any], AnyNumbered]


def kinds_of(story: Story, events: list[AnyNumbered]) -> set[Kind]:
    checker = TableChecker(view_of(story.rules))
    return {mismatch.kind for event in events for mismatch in checker.check(event)}


def royal(rounds: int = 3) -> Story:
    return Story(rules_of("royal"), BETS).play(rounds)


def with_error(story: Story, kind: type[Any], change: Change, which: int = 0) -> list[AnyNumbered]:
    """The story with one event of that kind changed."""
    at = [number for number, event in enumerate(story.events) if isinstance(event, kind)][which]
    return [*story.events[:at], change(story.events[at]), *story.events[at + 1 :]]


@settings(max_examples=40, deadline=None)
@given(variant=st.sampled_from(sorted(VARIANTS)), seed=st.text(max_size=5), rounds=st.integers(1, 30))
def test_a_right_story_has_no_mismatch(variant: str, seed: str, rounds: int) -> None:
    bets = [bet for bet in BETS if set(bet) <= set(VARIANTS[variant].spots)]
    story = Story(rules_of(variant), bets, seed=seed).play(rounds)
    checker = TableChecker(view_of(story.rules))
    assert [mismatch for event in story.events for mismatch in checker.check(event)] == []
    assert checker.rounds_checked == rounds


PLANTED: list[tuple[str, type[Any], Change, Kind]] = [
    ("a card to the other side", CardDealt, lambda e: replace(e, side=Side.BANKER), Kind.CARD),
    ("a wrong total", CardDealt, lambda e: replace(e, total=(e.total + 1) % 10), Kind.CARD),
    ("a count that did not fall", CardDealt, lambda e: replace(e, remaining=e.remaining + 1), Kind.REMAINING),
    ("a card shown in the past", CardDealt, lambda e: replace(e, show_at_ms=1), Kind.ROUND),
    ("a card of another round", CardDealt, lambda e: replace(e, round=e.round + 1), Kind.ROUND),
    ("a burn of the wrong size", CardsBurned, lambda e: replace(e, count=e.count + 1), Kind.CARD),
    ("a burn that took more", CardsBurned, lambda e: replace(e, remaining=e.remaining - 1), Kind.REMAINING),
    ("a wrong natural", RoundDecided, lambda e: replace(e, player_natural=not e.player_natural), Kind.OUTCOME),
    ("a wrong hand total", RoundDecided, lambda e: replace(e, banker_total=(e.banker_total + 1) % 10), Kind.OUTCOME),
    ("a hand with another card", RoundDecided, lambda e: replace(e, player=["Ah", *e.player[1:]]), Kind.OUTCOME),
    ("a wrong outcome", RoundDecided, lambda e: replace(e, outcome=_other(e.outcome)), Kind.OUTCOME),
    ("too much paid", RoundSettled, lambda e: replace(e, paid=e.paid + 20_000), Kind.PAYOUT),
    ("a patron forgotten", RoundSettled, lambda e: replace(e, settled=e.settled - 1), Kind.UNSETTLED),
    ("a round too far", BettingOpened, lambda e: replace(e, round=e.round + 1), Kind.ROUND),
    ("a short betting", BettingOpened, lambda e: replace(e, closes_at_ms=e.closes_at_ms - 1), Kind.ROUND),
    ("a false last round", BettingOpened, lambda e: replace(e, is_last_round=True), Kind.SHOE),
    ("a round of another shoe", BettingOpened, lambda e: replace(e, shoe=e.shoe + 1), Kind.SHOE),
    ("closed before time", BettingClosed, lambda e: replace(e, closed_at_ms=e.closed_at_ms - 1), Kind.ROUND),
    ("early, but at the end", BettingClosed, lambda e: replace(e, early=True), Kind.ROUND),
    ("sums without patrons", BettingClosed, lambda e: replace(e, bettors=0), Kind.ROUND),
    ("sums above the limits", BettingClosed, lambda e: replace(e, totals={Spot.TIE: 15_001}), Kind.ROUND),
    ("a shoe of the wrong size", ShoeStarted, lambda e: replace(e, cards=52), Kind.SHOE),
    ("a bead of another outcome", RoundDecided, lambda e: replace(e, roads=replace(e.roads, bead="T..")), Kind.ROADS),
    ("a mark in another place", RoundDecided, lambda e: replace(e, roads=_moved(e.roads)), Kind.ROADS),
    ("a wrong forecast", RoundDecided, lambda e: replace(e, roads=replace(e.roads, next={})), Kind.ROADS),
    ("roads that outlive their shoe", ShoeStarted, lambda e: replace(e, roads=None), Kind.ROADS),
    ("roads of a session", ShoeStarted, lambda e: replace(e, roads=replace(e.roads, rounds_max=72)), Kind.ROADS),
    ("a shoe of other decks", ShoeStarted, lambda e: replace(e, decks=6, cards=312), Kind.SHOE),
]


@pytest.mark.parametrize(("what", "kind", "change", "found"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_error_is_found(what: str, kind: type[Any], change: Change, found: Kind) -> None:
    story = royal()
    assert found in kinds_of(story, with_error(story, kind, change))


def test_more_on_a_spot_than_the_whole_table_takes_is_found() -> None:
    rules = rules_of("royal", table_maximums={Spot.PLAYER: 600})
    for amount, found in ((600, []), (601, [Kind.ROUND])):
        closed = BettingClosed(
            table=TABLE, seq=1, round=1, closed_at_ms=1, early=False, totals={Spot.PLAYER: amount}, bettors=2
        )
        assert [kind for kind, _ in totals_found(closed, rules)] == found


def _moved(told: RoadsDelta) -> RoadsDelta:
    return replace(told, big_road=BigRoadMark(number=0, mark="P", place=6, ties=0))


def _other(outcome: Outcome) -> Outcome:
    return next(other for other in Outcome if other is not outcome)


def test_two_cards_in_the_wrong_order_are_found() -> None:
    story = royal()
    first = next(number for number, event in enumerate(story.events) if isinstance(event, CardDealt))
    one, two = story.events[first], story.events[first + 1]
    swapped = [replace(two, seq=one.seq), replace(one, seq=two.seq)]
    events = [*story.events[:first], *swapped, *story.events[first + 2 :]]
    assert Kind.CARD in kinds_of(story, events)


@pytest.mark.parametrize("kind", [BettingOpened, BettingClosed, CardDealt, RoundDecided, RoundSettled])
def test_a_missing_event_is_found(kind: type[Any]) -> None:
    story = royal()
    at = next(number for number, event in enumerate(story.events) if isinstance(event, kind))
    events = [*story.events[:at], *story.events[at + 1 :]]
    assert Kind.SEQ in kinds_of(story, events)
    renumbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
    assert kinds_of(story, renumbered) & {Kind.ORDER, Kind.CARD, Kind.OUTCOME, Kind.ROUND, Kind.REMAINING}


def test_a_card_after_the_outcome_is_found() -> None:
    story = royal(1)
    card = next(event for event in story.events if isinstance(event, CardDealt))
    at = next(number for number, event in enumerate(story.events) if isinstance(event, RoundDecided)) + 1
    events = [*story.events[:at], replace(card, seq=at + 1)]
    assert {Kind.ORDER, Kind.CARD} <= kinds_of(story, events)


def test_a_decision_before_the_last_card_is_found() -> None:
    story = royal(1)
    at = next(number for number, event in enumerate(story.events) if isinstance(event, RoundDecided))
    decided = replace(story.events[at], seq=at)
    assert Kind.OUTCOME in kinds_of(story, [*story.events[: at - 1], decided])


def test_a_round_may_be_voided_until_it_is_decided() -> None:
    story = royal(1)
    at = next(number for number, event in enumerate(story.events) if isinstance(event, RoundDecided))
    stakes = sum(amount for bets in BETS for amount in bets.values())
    voided = RoundVoided(table=TABLE, seq=at + 1, round=1, reason="test")
    settled = RoundSettled(table=TABLE, seq=at + 2, round=1, paid=stakes, settled=len(BETS), next_at_ms=story.now_ms)
    assert kinds_of(story, [*story.events[:at], voided, settled]) == set()
    assert kinds_of(story, [*story.events[:at], voided, replace(settled, paid=stakes + 1)]) == {Kind.PAYOUT}
    assert Kind.ORDER in kinds_of(story, [*story.events[: at + 1], replace(voided, seq=at + 2)])


@pytest.mark.parametrize(("by_ms", "found"), [(500, set()), (0, {Kind.ROUND}), (-1, {Kind.ROUND})])
def test_betting_is_only_ever_extended(by_ms: int, found: set[Kind]) -> None:
    story = royal(1)
    at, opened = next((n, e) for n, e in enumerate(story.events, start=1) if isinstance(e, BettingOpened))
    extended = BettingExtended(table=TABLE, seq=at + 1, round=1, closes_at_ms=opened.closes_at_ms + by_ms)
    assert kinds_of(story, [*story.events[:at], extended]) == found


class TestShoe:
    """What the end of a shoe proves."""

    @staticmethod
    def story() -> Story:
        return Story(rules_of("punto-banco"), seed="shoe").play(40)

    def test_the_shoe_ends_in_this_story(self) -> None:
        story = self.story()
        assert any(isinstance(event, ShoeEnded) for event in story.events)
        assert kinds_of(story, story.events) == set()

    def test_another_secret_does_not_open_the_commitment(self) -> None:
        story = self.story()
        assert kinds_of(story, with_error(story, ShoeEnded, lambda e: replace(e, secret="00" * 32))) == {Kind.FAIRNESS}

    @pytest.mark.parametrize("secret", ["", "xy", "00"])
    def test_what_is_no_secret_opens_nothing(self, secret: str) -> None:
        story = self.story()
        assert kinds_of(story, with_error(story, ShoeEnded, lambda e: replace(e, secret=secret))) == {Kind.FAIRNESS}

    def test_a_card_that_the_secret_does_not_give_is_found(self) -> None:
        """Of the same value, so that everything else about the round is right."""
        story = self.story()

        def other_suit(event: Any) -> Any:
            return replace(event, card=event.card[0] + ("c" if event.card[1] != "c" else "d"))

        found = kinds_of(story, with_error(story, CardDealt, other_suit))
        assert found == {Kind.OUTCOME, Kind.FAIRNESS}

    def test_a_wrong_count_of_rounds_is_found(self) -> None:
        story = self.story()
        assert kinds_of(story, with_error(story, ShoeEnded, lambda e: replace(e, rounds=1))) == {Kind.SHOE}

    def test_a_shoe_seen_from_the_middle_is_compared_where_it_was_seen(self) -> None:
        story = self.story()
        ended = next(number for number, event in enumerate(story.events) if isinstance(event, ShoeEnded))
        opened = [at for at, event in enumerate(story.events[:ended]) if isinstance(event, BettingOpened)]
        first = opened[3]
        started = story.events[0]
        assert isinstance(started, ShoeStarted)
        cards = [event for event in story.events[:first] if isinstance(event, CardDealt)]
        shoe = ShoeView(
            number=1,
            cards=416,
            commitment=started.commitment,
            remaining=cards[-1].remaining,
            is_last_round=False,
            first_round=1,
            cuts=0,
            cuts_digest=cuts_digest(()),
            merkle_root=next(event.merkle_root for event in story.events if isinstance(event, ShoeShuffled)),
        )
        roads = roads_after(story.events[:first])
        view = view_of(story.rules, seq=first, round=3, shoe=shoe, phase="settling", outcome=Outcome.TIE, roads=roads)
        checker = TableChecker(view)
        rest = story.events[first : ended + 1]
        assert [mismatch for event in rest for mismatch in checker.check(event)] == []
        checker = TableChecker(view)
        dealt = next(at for at, event in enumerate(rest) if isinstance(event, CardDealt))
        rest[dealt] = replace(rest[dealt], card="As")
        assert Kind.FAIRNESS in {mismatch.kind for event in rest for mismatch in checker.check(event)}

    def test_cards_from_a_file_prove_nothing_but_the_commitment(self) -> None:
        story = self.story()
        story.rules = replace(story.rules, stacked=True)
        events = with_error(story, ShoeEnded, lambda e: replace(e, secret="00" * 32))
        assert kinds_of(story, events) == {Kind.FAIRNESS}


class TestRules:
    """What a table says of its own rules."""

    def test_rules_that_are_not_the_variants_are_found(self) -> None:
        story = Story(rules_of("royal")).play(1)
        changed = RulesChanged(table=TABLE, seq=len(story.events) + 1, rules=rules_of("royal", tie_pays=9))
        assert Kind.RULES in kinds_of(story, [*story.events, changed])

    def test_new_rules_hold_from_the_next_round_on(self) -> None:
        story = Story(rules_of("red-lounge")).play(1)
        seq = len(story.events) + 1
        slower = rules_of("red-lounge", betting_ms=5_000)
        events = [*story.events, RulesChanged(table=TABLE, seq=seq, rules=slower)]
        rest = Story(rules_of("red-lounge")).play(2).events[len(story.events) :]
        events += [replace(event, seq=event.seq + 1) for event in rest]
        found = kinds_of(story, events)
        assert found == {Kind.ROUND}  # the story still bets for a second only


class TestSnapshot:
    """A snapshot beside the events."""

    @staticmethod
    def at(story: Story, count: int) -> TableChecker:
        checker = TableChecker(view_of(story.rules))
        for event in story.events[:count]:
            checker.check(event)
        return checker

    def test_one_that_agrees(self) -> None:
        story = royal(1)
        cards = [number for number, event in enumerate(story.events) if isinstance(event, CardDealt)]
        checker = self.at(story, cards[1] + 1)
        dealt = [story.events[number] for number in cards[:2]]
        view = view_of(
            story.rules,
            seq=checker.seq,
            round=1,
            phase="dealing",
            dealt=[DealtCard(side=e.side, card=e.card, show_at_ms=1) for e in dealt if isinstance(e, CardDealt)],
        )
        assert checker.compare(view) == []
        assert [m.kind for m in checker.compare(replace(view, dealt=view.dealt[:1]))] == [Kind.SNAPSHOT]
        assert [m.kind for m in checker.compare(replace(view, round=2))] == [Kind.SNAPSHOT]
        assert [m.kind for m in checker.compare(replace(view, outcome=Outcome.TIE))] == [Kind.SNAPSHOT]

    def test_another_count_of_cards(self) -> None:
        story = royal(1)
        checker = self.at(story, 1)
        shoe = ShoeView(number=1, cards=416, commitment="", remaining=415, is_last_round=False)
        assert [m.kind for m in checker.compare(view_of(story.rules, seq=1, shoe=shoe))] == [Kind.SNAPSHOT]


def test_every_numbered_event_has_its_place_and_its_check() -> None:
    assert set(checker_module._NEXT_STAGE) == set(checker_module._CHECKS) == set(get_args(AnyNumbered))


def test_it_tells_where_it_stands() -> None:
    assert repr(TableChecker(view_of(rules_of("royal")))) == "<TableChecker table-1 seq=0 between round=0>"
