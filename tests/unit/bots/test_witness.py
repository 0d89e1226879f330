"""What several seats saw of one table, held against each other."""

from dataclasses import replace as replace_field

import pytest
from msgspec.structs import replace

from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.witness import EVENTS_MAX, ROUNDS_MAX, Witness
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BettingClosed, CardDealt, RoundDecided, RoundSettled, ShoeEnded
from client_sdk.shoe_audit import OwnCut
from tests.unit.bots.story import INCARNATION, TABLE, Story, lines_of, roads_after, rules_of, view_of

BETS = ({Spot.PLAYER: 500}, {Spot.BANKER: 700})
RULES = rules_of("punto-banco")


@pytest.fixture
def story() -> Story:
    return Story(RULES, BETS).play(2)


@pytest.fixture
def witness() -> Witness:
    seen = Witness(TABLE)
    assert seen.looked("a", view_of(RULES)) == []
    assert seen.looked("b", view_of(RULES)) == []
    return seen


def see(witness: Witness, seat: str, story: Story, first: int = 0, at_ms: float = 0.0) -> list[Mismatch]:
    found = []
    for event in story.events[first:]:
        found += witness.saw(seat, INCARNATION, event, at_ms)
    return found


def test_two_seats_that_saw_the_same(witness: Witness, story: Story) -> None:
    assert see(witness, "a", story) == []
    assert see(witness, "b", story) == []
    assert witness.rounds_checked == 2


def test_a_different_card_at_one_seat_is_found(witness: Witness, story: Story) -> None:
    see(witness, "a", story)
    at = next(number for number, event in enumerate(story.events) if isinstance(event, CardDealt))
    other = replace(story.events[at], card="Ah", total=1)
    found = [m for event in [*story.events[:at], other] for m in witness.saw("b", INCARNATION, event, 0.0)]
    assert [(m.kind, m.seat, m.seq) for m in found] == [(Kind.DIFFERS, "b", at + 1)]


def test_an_error_that_all_seats_saw_is_told_once(witness: Witness, story: Story) -> None:
    at = next(number for number, event in enumerate(story.events) if isinstance(event, RoundDecided))
    story.events[at] = replace(story.events[at], player_natural=True, banker_natural=True)
    assert [m.kind for m in see(witness, "a", story) + see(witness, "b", story)] == [Kind.OUTCOME]


def test_the_skew_is_the_time_from_the_first_seat_to_the_last(witness: Witness, story: Story) -> None:
    see(witness, "a", story, at_ms=100.0)
    see(witness, "b", story, at_ms=107.0)
    witness.finish()
    cards = sum(isinstance(event, CardDealt) for event in story.events)
    assert (witness.skew_ms.total, witness.skew_ms.max_ms) == (cards, 7.0)


def test_a_card_that_one_seat_got_has_no_skew(witness: Witness, story: Story) -> None:
    see(witness, "a", story)
    witness.finish()
    assert witness.skew_ms.total == 0


def test_a_late_seat_waits_for_the_one_that_saw_more(story: Story) -> None:
    """b came in by a later snapshot: what it saw is checked as soon as a has brought what lies before."""
    witness = Witness(TABLE)
    witness.looked("a", view_of(RULES))
    middle = next(number for number, event in enumerate(story.events) if isinstance(event, RoundSettled)) + 1
    roads = roads_after(story.events[:middle])
    witness.looked("b", view_of(RULES, seq=middle, round=1, phase="settling", roads=roads))
    assert see(witness, "b", story, first=middle) == []
    assert witness.rounds_checked == 0
    assert see(witness, "a", story) == []
    assert witness.rounds_checked == 2


def test_where_nobody_can_tell_what_is_missing_it_begins_at_a_snapshot(story: Story) -> None:
    witness = Witness(TABLE)
    witness.looked("a", view_of(RULES))
    middle = next(number for number, event in enumerate(story.events) if isinstance(event, RoundSettled)) + 1
    roads = roads_after(story.events[:middle])
    witness.looked("b", view_of(RULES, seq=middle, round=1, phase="settling", roads=roads))
    assert see(witness, "b", story, first=middle) == []
    assert witness.left("a") == []
    assert witness.rounds_checked == 1


def test_a_new_incarnation_begins_anew(witness: Witness, story: Story) -> None:
    see(witness, "a", story)
    again = view_of(RULES, incarnation="life-2")
    assert witness.looked("a", again) == []
    assert witness.saw("b", INCARNATION, story.events[-1], 0.0) == []  # b was not told yet
    assert [m for event in story.events for m in witness.saw("a", "life-2", event, 0.0)] == []
    assert witness.rounds_checked == 4


def test_a_cut_is_held_against_the_life_of_the_table_that_took_it(witness: Witness) -> None:
    """Its answer may come when another seat has told of the next life, in which the shoe's number comes again."""
    rules = rules_of("royal", cut_card=380)
    story = Story(rules, cuts=[(b"g1", bytes(8))])
    while not any(isinstance(event, ShoeEnded) for event in story.events):
        story.play(1)
    own = OwnCut(1, (b"me", bytes(16)))
    for told_in, kept in (("life-2", [own]), (INCARNATION, [])):
        witness.looked("a", view_of(rules, incarnation=INCARNATION))
        witness.looked("a", view_of(rules, incarnation="life-2"))
        assert witness.saw("a", "life-2", story.events[0], 0.0) == []
        witness.cut_accepted(told_in, 1, own)
        for event in story.events[1:]:
            assert witness.saw("a", "life-2", event, 0.0) == []
        audit = witness.next_ended_shoe()
        assert audit is not None
        assert audit.own_cuts == kept
        assert [m.kind for m in witness.judged(audit, story.cuts)] == [Kind.FAIRNESS] * len(kept)


def test_a_wrong_snapshot_is_found(witness: Witness, story: Story) -> None:
    see(witness, "a", story)
    view = view_of(RULES, seq=len(story.events), round=7)
    assert Kind.SNAPSHOT in {m.kind for m in witness.looked("c", view)}


def test_rules_are_checked_on_entry() -> None:
    assert [m.kind for m in Witness(TABLE).looked("a", view_of(rules_of("royal", commission_bp=400)))] == [Kind.RULES]


class TestSums:
    """The own seats' bets beside the table's sums."""

    def test_our_bets_are_part_of_the_sums(self, witness: Witness, story: Story) -> None:
        see(witness, "a", story)
        for bets in BETS:
            lines = lines_of(RULES, bets, story.outcomes[0])
            assert witness.settled("a", 1, bets, sum(line.payout for line in lines.values())) == []

    def test_more_than_the_sum_is_found_once(self, witness: Witness, story: Story) -> None:
        see(witness, "a", story)
        assert [m.kind for m in witness.settled("a", 1, {Spot.PLAYER: 501}, 0)] == [Kind.ROUND]
        assert witness.settled("b", 1, {Spot.PLAYER: 501}, 0) == []

    def test_more_patrons_than_told_are_found(self, witness: Witness, story: Story) -> None:
        see(witness, "a", story)
        assert [m for _ in range(2) for m in witness.settled("a", 1, {Spot.PLAYER: 200}, 0)] == []
        assert [m.kind for m in witness.settled("c", 1, {Spot.PLAYER: 100}, 0)] == [Kind.ROUND]

    def test_more_paid_than_told_is_found(self, witness: Witness, story: Story) -> None:
        see(witness, "a", story)
        paid = next(event.paid for event in story.events if isinstance(event, RoundSettled))
        assert [m.kind for m in witness.settled("a", 1, {Spot.PLAYER: 500}, paid + 1)] == [Kind.ROUND]

    def test_before_the_close_is_told_nothing_can_be_said(self, witness: Witness) -> None:
        assert witness.settled("a", 1, {Spot.PLAYER: 500}, 0) == []


def test_what_it_keeps_is_bounded(witness: Witness, story: Story) -> None:
    closed = next(event for event in story.events if isinstance(event, BettingClosed))
    for seq in range(1, EVENTS_MAX + 200):
        witness.saw("a", INCARNATION, replace(closed, seq=seq, round=seq), 0.0)
    assert f"events={EVENTS_MAX}" in repr(witness)
    assert not witness.is_over(1)
    assert len(witness._rounds) == ROUNDS_MAX


def test_a_mismatch_reads_as_a_sentence() -> None:
    mismatch = Mismatch(Kind.PAYOUT, TABLE, 3, "too much", seq=7, seat="bot-1")
    assert str(mismatch) == "payout at table-1 round 3 seq 7 bot-1: too much"
    assert str(replace_field(mismatch, seq=None, seat="")) == "payout at table-1 round 3: too much"
