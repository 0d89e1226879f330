"""One bot's seat: numbers without a gap, results after their cards, acts before the close."""

from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk.bots.acts import Place
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.seat import Seat
from client_sdk.bots.witness import Witness
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BettingClosed, BettingOpened, Receipt, RoundDecided, RoundSettled, ShoeEnded
from tests.unit.bots.story import TABLE, Story, results_of, roads_after, rules_of, seat_of, view_of

RULES = rules_of("punto-banco")
BETS = {Spot.BANKER: 500}
STACK = 10_000


@pytest.fixture
def story() -> Story:
    return Story(RULES, [BETS]).play(2)


@pytest.fixture
def seat() -> Seat:
    seat = Seat("bot", Witness(TABLE), view_of(RULES, you=seat_of(STACK)))
    assert (seat.found_on_entry, seat.is_seated) == ([], True)
    return seat


def kinds(found: list[Mismatch]) -> list[Kind]:
    return [mismatch.kind for mismatch in found]


def hear(seat: Seat, story: Story, until: type[Any], after: int = 0) -> int:
    """Let the seat hear events up to the first of that kind, and return how many it has heard."""
    for at in range(after, len(story.events)):
        assert seat.numbered(story.events[at], 0.0) == []
        if isinstance(story.events[at], until):
            return at + 1
    raise AssertionError("the story is too short")


def bet(seat: Seat, accepted_at_ms: int = 0) -> list[Mismatch]:
    foreseen = seat.begin(Place(Spot.BANKER, 500))
    receipt = Receipt(
        request_id="r",
        table=TABLE,
        round=foreseen.round,
        accepted_at_ms=accepted_at_ms,
        stack=STACK - 500,
        bets=BETS,
        ready=False,
    )
    return seat.accepted(foreseen, receipt)


def test_a_whole_round(seat: Seat, story: Story) -> None:
    heard = hear(seat, story, BettingOpened)
    assert bet(seat) == []
    heard = hear(seat, story, RoundDecided, heard)
    assert seat.results(results_of(RULES, 1, story.outcomes[0], BETS, STACK - 500)) == []
    hear(seat, story, BettingOpened, heard)
    assert seat.ledger.rounds_settled == 1
    assert seat.left() == []


def test_the_secret_of_a_shoe_is_awaited_from_its_last_round_on() -> None:
    story = Story(rules_of("red-lounge")).play(2)
    seat = Seat("bot", Witness(TABLE), view_of(story.rules, you=seat_of(STACK)))
    awaits = []
    for event in story.events:
        assert seat.numbered(event, 0.0) == []
        if isinstance(event, RoundSettled | ShoeEnded):
            awaits.append(seat.awaits_secret)
    assert awaits == [True, False, True, False]


def test_a_gap_is_found(seat: Seat, story: Story) -> None:
    assert seat.numbered(story.events[0], 0.0) == []
    assert Kind.SEQ in kinds(seat.numbered(story.events[2], 0.0))


def test_an_event_twice_is_found(seat: Seat, story: Story) -> None:
    assert seat.numbered(story.events[0], 0.0) == []
    assert Kind.SEQ in kinds(seat.numbered(story.events[0], 0.0))


def test_events_that_the_first_state_holds_are_passed_over(story: Story) -> None:
    """They came while the SDK was still sitting down."""
    seat = Seat("bot", Witness(TABLE), view_of(RULES, seq=2, round=1, phase="betting", you=seat_of(STACK)))
    assert [m for event in story.events[:3] for m in seat.numbered(event, 0.0)] == []
    assert Kind.SEQ in kinds(seat.numbered(story.events[0], 0.0))


def test_results_before_the_outcome_are_found(seat: Seat, story: Story) -> None:
    hear(seat, story, BettingOpened)
    bet(seat)
    assert kinds(seat.results(results_of(RULES, 1, Outcome.TIE, BETS, STACK - 500))) == [Kind.TOO_EARLY]


def test_results_by_another_outcome_are_found(seat: Seat, story: Story) -> None:
    heard = hear(seat, story, BettingOpened)
    bet(seat)
    hear(seat, story, RoundDecided, heard)
    other = next(outcome for outcome in Outcome if outcome is not story.outcomes[0])
    assert Kind.OUTCOME in kinds(seat.results(results_of(RULES, 1, other, BETS, STACK - 500)))


def test_an_act_accepted_after_the_close_is_found_however_the_answer_comes(seat: Seat, story: Story) -> None:
    closed = next(event for event in story.events if isinstance(event, BettingClosed))
    heard = hear(seat, story, BettingOpened)
    assert bet(seat, accepted_at_ms=closed.closed_at_ms) == []  # the close is not known yet
    assert kinds(seat.numbered(story.events[heard], 0.0)) == [Kind.ACCEPTED]


def test_an_act_accepted_late_after_the_close_was_told_is_found(seat: Seat, story: Story) -> None:
    closed = next(event for event in story.events if isinstance(event, BettingClosed))
    hear(seat, story, BettingClosed)
    assert kinds(bet(seat, accepted_at_ms=closed.closed_at_ms + 5)) == [Kind.ACCEPTED]


@pytest.mark.parametrize(
    ("late_ms", "closed_by_ms", "found"),
    [(0, 0, 0), (5, 0, 0), (-1, 0, 1), (9, 1, 1), (None, 0, 1)],
)
def test_a_late_refusal_tells_when(
    seat: Seat, story: Story, late_ms: int | None, closed_by_ms: int, found: int
) -> None:
    closed = next(event for event in story.events if isinstance(event, BettingClosed))
    hear(seat, story, BettingClosed)
    foreseen = seat.begin(Place(Spot.BANKER, 500))
    arrived_at_ms = None if late_ms is None else closed.closed_at_ms + late_ms
    refusal = seat.refused(foreseen, "BETTING_CLOSED", arrived_at_ms, closed.closed_at_ms + closed_by_ms)
    assert kinds(refusal) == [Kind.REFUSED] * found


class TestSnapshots:
    """The state after events that the seat did not get."""

    def test_missed_results_are_taken_and_may_come_once_more(self, seat: Seat, story: Story) -> None:
        hear(seat, story, BettingOpened)
        bet(seat)
        at = next(number for number, event in enumerate(story.events) if isinstance(event, RoundDecided))
        results = results_of(RULES, 1, story.outcomes[0], BETS, STACK - 500)
        you: Any = seat_of(results.stack, last_round=1, last_results=results.bets, last_bets=BETS)
        roads = roads_after(story.events[: at + 1])
        view = view_of(RULES, seq=at + 1, round=1, phase="settling", outcome=story.outcomes[0], you=you, roads=roads)
        assert seat.snapshot(view) == []
        assert seat.results(results) == []
        assert kinds(seat.results(results)) == [Kind.SETTLED_TWICE]
        assert seat.ledger.rounds_settled == 1
        assert [m for event in story.events[at + 1 :] for m in seat.numbered(event, 0.0)] == []

    def test_another_stack_is_found(self, seat: Seat) -> None:
        assert kinds(seat.snapshot(view_of(RULES, seq=5, you=seat_of(STACK + 1)))) == [Kind.STACK]

    def test_a_new_incarnation_is_believed(self, seat: Seat) -> None:
        assert seat.snapshot(view_of(RULES, incarnation="life-2", you=seat_of(7))) == []
        assert seat.ledger.holding.stack == 7

    def test_a_seat_may_be_gone(self, seat: Seat) -> None:
        assert seat.snapshot(view_of(RULES, seq=1)) == []
        assert not seat.is_seated


def test_a_receipt_of_another_round_is_found(seat: Seat, story: Story) -> None:
    hear(seat, story, BettingOpened)
    foreseen = seat.begin(Place(Spot.BANKER, 500))
    receipt = Receipt(request_id="r", table=TABLE, round=2, accepted_at_ms=0, stack=STACK - 500, bets=BETS, ready=False)
    assert kinds(seat.accepted(foreseen, receipt)) == [Kind.RECEIPT]


def test_new_rules_are_taken_for_its_own_bets(seat: Seat) -> None:
    from client_sdk.protocol.messages import RulesChanged

    changed = replace(RULES, minimum=500)
    assert seat.numbered(RulesChanged(table=TABLE, seq=1, rules=changed), 0.0) == []
    assert seat.house.limits.minimum == seat.ledger.house.limits.minimum == 500
    assert "bot at table-1" in repr(seat)
