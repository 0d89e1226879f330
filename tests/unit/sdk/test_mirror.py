"""The mirror: what each event makes of a table, and that nothing is lost, doubled or half applied."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.game.cards import parse_cards
from client_sdk.game.tableau import Outcome, Side, deal_hands
from client_sdk.game.variants import Spot
from client_sdk.mirror import Applied, TableMirror
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    BettingExtended,
    BettingOpened,
    CardDealt,
    Crowd,
    CrowdView,
    Receipt,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    SeatFreed,
    SeatTakenOver,
    SeatView,
    SeatWarned,
    ShoeEnded,
    Snapshot,
    TableIdled,
)
from client_sdk.view import view_after
from tests.unit.sdk.builders import BETTING_MS, CARDS, TABLE, Story, decided, results, rules, seat, view

HANDS = deal_hands(parse_cards("2c Tc 3d 3h Ks 5s"))  # banker wins 8 over 5
BETS = {Spot.BANKER: 1_000}


def receipt(round: int, stack: int, bets: dict[Spot, int], accepted_at_ms: int = 2_000, ready: bool = False) -> Receipt:
    return Receipt(
        request_id="r", table=TABLE, round=round, accepted_at_ms=accepted_at_ms, stack=stack, bets=bets, ready=ready
    )


def at_betting(round: int = 1, **changes: Any) -> TableMirror:
    """A mirror of a seated patron while bets are taken."""
    return TableMirror(view(phase="betting", round=round, seq=10, you=seat(), **changes))


def opened(seq: int, round: int) -> BettingOpened:
    return BettingOpened(
        table=TABLE, seq=seq, round=round, shoe=1, opened_at_ms=5, closes_at_ms=5 + BETTING_MS, is_last_round=False
    )


# --- numbers ---


@given(st.integers(0, 2**32), st.data())
def test_any_order_of_events_gives_the_state_at_seq_or_leaves_it_alone(seed: int, data: st.DataObject) -> None:
    events = Story(Random(seed)).play(4)
    states = [view()]
    for event in events:
        states.append(view_after(states[-1], event))
    mirror = TableMirror(view())
    for index in data.draw(st.lists(st.integers(0, len(events) - 1), max_size=3 * len(events))):
        before, event = mirror.view, events[index]
        applied = mirror.apply(event)
        if event.seq <= before.seq:
            assert applied is Applied.DUPLICATE
        elif event.seq == before.seq + 1:
            assert applied is Applied.APPLIED
        else:
            assert applied is Applied.GAP
        if applied is not Applied.APPLIED:
            assert mirror.view is before
        assert mirror.view == states[mirror.seq]


@given(st.integers(0, 2**32), st.data())
def test_duplicates_and_gaps_heal_by_the_missing_events(seed: int, data: st.DataObject) -> None:
    events = Story(Random(seed)).play(3)
    mirror, applied_seqs = TableMirror(view()), []

    def take(event: AnyNumbered) -> Applied:
        applied = mirror.apply(event)
        if applied is Applied.APPLIED:
            applied_seqs.append(event.seq)
        return applied

    for event in events:
        fate = data.draw(st.sampled_from(["once", "twice", "lost"]))
        for _ in range({"once": 1, "twice": 2, "lost": 0}[fate]):
            if take(event) is Applied.GAP:
                for missed in events[mirror.seq : event.seq]:
                    take(missed)
    for missed in events[mirror.seq :]:
        take(missed)
    assert applied_seqs == [event.seq for event in events]
    assert mirror.seq == events[-1].seq


def test_an_unknown_event_uses_up_its_number() -> None:
    mirror = TableMirror(view(seq=4))
    assert mirror.skip(6) is Applied.GAP
    assert mirror.skip(4) is Applied.DUPLICATE
    assert mirror.seq == 4
    assert mirror.skip(5) is Applied.APPLIED
    assert mirror.seq == 5


def test_an_event_of_another_table_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="other-1"):
        TableMirror(view()).apply(TableIdled(table="other-1", seq=1, round=0))


# --- a round ---


@given(st.integers(0, 2**32))
def test_a_round_is_seen_as_it_was_dealt(seed: int) -> None:
    story = Story(Random(seed))
    story.play(1)
    mirror, hands = TableMirror(view(you=seat())), story.hands
    assert hands is not None
    phases: list[str] = []
    for event in story.events:
        mirror.apply(event)
        if mirror.phase not in phases[-1:]:
            phases.append(mirror.phase)
        if isinstance(event, CardDealt):
            assert event.total == (mirror.player_total if event.side is Side.PLAYER else mirror.banker_total)
        if isinstance(event, RoundDecided):
            assert (mirror.player, mirror.banker, mirror.outcome) == (event.player, event.banker, event.outcome)
            assert (mirror.player_total, mirror.banker_total) == (event.player_total, event.banker_total)
    assert phases == ["idle", "betting", "dealing", "settling"]
    assert (tuple(mirror.player), tuple(mirror.banker)) == (hands.player, hands.banker)
    assert mirror.shoe is not None
    assert mirror.shoe.remaining == CARDS - 3 - hands.cards_used


def test_betting_opens_on_an_empty_layout() -> None:
    crowd = CrowdView(
        seated=1,
        connected=1,
        ready=1,
        totals=BETS,
        bettors={Spot.BANKER: 1},
        seats=[SeatView(patron="p", name="n", bot=False, connected=True, ready=True, bets=BETS)],
    )
    mirror = TableMirror(view(seq=10, round=1, outcome=Outcome.TIE, crowd=crowd, you=seat(bets=BETS, ready=True)))
    assert mirror.apply(opened(11, 2)) is Applied.APPLIED
    assert (mirror.phase, mirror.round, mirror.opened_at_ms, mirror.closes_at_ms) == ("betting", 2, 5, 5 + BETTING_MS)
    assert (mirror.dealt, mirror.outcome, mirror.bets) == ([], None, {})
    assert mirror.you is not None
    assert not mirror.you.ready
    assert (mirror.crowd.seated, mirror.crowd.ready, mirror.crowd.totals, mirror.crowd.bettors) == (1, 0, {}, {})
    assert mirror.crowd.seats is not None
    assert (mirror.crowd.seats[0].bets, mirror.crowd.seats[0].ready) == ({}, False)


def test_an_early_close_moves_the_end_of_betting() -> None:
    mirror = at_betting(closes_at_ms=9_000)
    event = BettingClosed(table=TABLE, seq=11, round=1, closed_at_ms=4_000, early=True, totals=BETS, bettors=1)
    mirror.apply(event)
    assert (mirror.phase, mirror.closes_at_ms, mirror.crowd.totals) == ("dealing", 4_000, BETS)


def test_idling_shoes_and_rules() -> None:
    mirror = TableMirror(view(seq=1, phase="settling", round=3))
    mirror.apply(RoundSettled(table=TABLE, seq=2, round=3, paid=0, settled=0, next_at_ms=9))
    assert mirror.phase == "settling"
    mirror.apply(ShoeEnded(table=TABLE, seq=3, shoe=1, rounds=3, secret="00", reason="dealt"))
    assert mirror.shoe is None
    mirror.apply(RulesChanged(table=TABLE, seq=4, rules=rules(minimum=500)))
    assert mirror.rules.minimum == 500
    mirror.apply(TableIdled(table=TABLE, seq=5, round=3))
    assert (mirror.phase, mirror.seq) == ("idle", 5)


def test_betting_may_be_extended_and_a_round_voided() -> None:
    mirror = at_betting(closes_at_ms=9_000)
    mirror.apply(BettingExtended(table=TABLE, seq=11, round=1, closes_at_ms=12_000))
    assert (mirror.phase, mirror.closes_at_ms) == ("betting", 12_000)
    mirror.apply(RoundVoided(table=TABLE, seq=12, round=1, reason="forgotten"))
    assert (mirror.phase, mirror.is_void, mirror.outcome) == ("settling", True, None)
    mirror.apply(opened(13, 2))
    assert not mirror.is_void


# --- snapshots ---


def snapshot(**changes: Any) -> Snapshot:
    return Snapshot(table=TABLE, reason="test", snapshot=view(**changes))


def test_a_newer_snapshot_replaces_all() -> None:
    mirror = at_betting()
    fresh = snapshot(seq=50, round=9, phase="paused")
    assert mirror.apply(fresh) is Applied.APPLIED
    assert mirror.view is fresh.snapshot
    assert mirror.phase == "paused"


def test_a_snapshot_at_the_same_number_counts_for_it_may_tell_a_pause() -> None:
    mirror = at_betting()
    assert mirror.apply(snapshot(seq=10, round=1, phase="paused")) is Applied.APPLIED
    assert mirror.phase == "paused"


def test_an_older_snapshot_changes_nothing() -> None:
    mirror = at_betting()
    before = mirror.view
    assert mirror.apply(snapshot(seq=9)) is Applied.DUPLICATE
    assert mirror.view is before


def test_a_new_incarnation_replaces_all_however_small_its_numbers() -> None:
    mirror = at_betting(round=7)
    mirror.apply(results(HANDS, BETS, 500, round=7))
    assert mirror.apply(snapshot(seq=3, round=7, incarnation="second", you=seat(42))) is Applied.APPLIED
    assert (mirror.seq, mirror.incarnation, mirror.stack) == (3, "second", 42)
    assert mirror.apply(results(HANDS, BETS, 600, round=7)) is Applied.APPLIED  # the round was dealt anew
    assert mirror.stack == 600


# --- the own seat ---


def test_receipts_show_in_the_seat() -> None:
    mirror = at_betting()
    assert mirror.apply_receipt(receipt(1, 9_000, BETS | {Spot.TIE: 0}, ready=True)) is Applied.APPLIED
    assert (mirror.stack, mirror.bets) == (9_000, BETS)
    assert mirror.you is not None
    assert mirror.you.ready


@pytest.mark.parametrize("round", [1, 3])
def test_a_receipt_of_another_round_changes_nothing(round: int) -> None:
    mirror = at_betting(round=2)
    before = mirror.view
    assert mirror.apply_receipt(receipt(round, 1, BETS)) is Applied.DUPLICATE
    assert mirror.view is before


def test_an_older_receipt_changes_nothing() -> None:
    mirror = at_betting()
    mirror.apply_receipt(receipt(1, 8_000, BETS, accepted_at_ms=3_000))
    assert mirror.apply_receipt(receipt(1, 9_000, {}, accepted_at_ms=2_999)) is Applied.DUPLICATE
    assert mirror.apply_receipt(receipt(1, 7_000, BETS, accepted_at_ms=3_000)) is Applied.APPLIED
    assert mirror.stack == 7_000


def test_a_first_answer_from_before_the_snapshot_changes_nothing() -> None:
    mirror = at_betting(at_ms=5_000)
    assert mirror.apply_receipt(receipt(1, 1, BETS, accepted_at_ms=4_999)) is Applied.DUPLICATE
    assert mirror.stack == 10_000


def test_a_receipt_after_the_results_changes_nothing() -> None:
    mirror = at_betting()
    mirror.apply(results(HANDS, BETS, 11_000))
    assert mirror.apply_receipt(receipt(1, 9_000, BETS)) is Applied.DUPLICATE
    assert (mirror.stack, mirror.bets) == (11_000, {})


def test_a_spectator_has_no_seat_to_change() -> None:
    mirror = TableMirror(view(round=1))
    assert mirror.apply_receipt(receipt(1, 1, BETS)) is Applied.DUPLICATE
    assert mirror.apply(results(HANDS, BETS, 5)) is Applied.APPLIED
    assert (mirror.you, mirror.stack, mirror.bets, mirror.last_bets, mirror.last_results) == (None, 0, {}, {}, {})


def test_own_results_pay_once_and_are_remembered() -> None:
    mirror = at_betting()
    mirror.apply_receipt(receipt(1, 9_000, BETS))
    told = results(HANDS, BETS, 10_950)
    assert mirror.apply(told) is Applied.APPLIED
    assert (mirror.stack, mirror.bets, mirror.last_bets, mirror.last_results) == (10_950, {}, BETS, told.bets)
    assert mirror.you is not None
    assert mirror.you.last_round == 1
    before = mirror.view
    assert mirror.apply(told) is Applied.DUPLICATE
    assert mirror.view is before


def test_results_that_come_after_the_next_bets_leave_those_alone() -> None:
    mirror = at_betting()
    mirror.apply_receipt(receipt(1, 9_000, BETS))
    mirror.apply(opened(11, 2))
    mirror.apply_receipt(receipt(2, 10_450, {Spot.TIE: 500}, accepted_at_ms=9_000))
    told = results(HANDS, BETS, 10_950)
    assert mirror.apply(told) is Applied.APPLIED
    assert (mirror.stack, mirror.bets, mirror.last_bets) == (10_450, {Spot.TIE: 500}, BETS)


def test_results_that_come_after_betting_opened_pay_all_the_same() -> None:
    mirror = at_betting()
    mirror.apply_receipt(receipt(1, 9_000, BETS))
    mirror.apply(opened(11, 2))
    mirror.apply(results(HANDS, BETS, 10_950))
    assert mirror.stack == 10_950


def test_results_that_the_seat_told_already_are_handed_out_but_not_booked_again() -> None:
    told = results(HANDS, BETS, 10_950)
    mirror = at_betting()
    mirror.renew_seat(seat(10_450, bets={Spot.TIE: 500}, last_round=1, last_results=told.bets))
    assert mirror.apply(told) is Applied.APPLIED
    assert (mirror.stack, mirror.bets) == (10_450, {Spot.TIE: 500})


def test_missed_results_are_owed_once_and_only_with_their_round_in_view() -> None:
    told = results(HANDS, BETS, 10_950)
    mirror = at_betting()
    mirror.renew_seat(seat(10_950, last_round=1, last_results=told.bets))
    assert mirror.owed_results() is None  # the cards are not out in this view
    mirror.apply(decided(HANDS, seq=11))
    assert mirror.owed_results() == told
    assert mirror.owed_results() is None
    assert mirror.apply(told) is Applied.DUPLICATE


def test_missed_results_of_a_void_round_are_owed_too() -> None:
    told = replace(results(HANDS, BETS, 10_000), outcome=None)
    mirror = at_betting()
    mirror.renew_seat(seat(10_000, last_round=1, last_results=told.bets))
    mirror.apply(RoundVoided(table=TABLE, seq=11, round=1, reason="forgotten"))
    assert mirror.owed_results() == told


def test_results_from_before_the_client_came_are_not_owed() -> None:
    told = results(HANDS, BETS, 10_950)
    you = seat(10_950, last_round=1, last_results=told.bets)
    mirror = TableMirror(view(round=1, outcome=Outcome.BANKER, you=you))
    assert mirror.owed_results() is None
    assert mirror.last_results == told.bets


def test_a_lost_seat_is_gone() -> None:
    for event in (SeatTakenOver(table=TABLE), SeatFreed(table=TABLE, reason="idle", wallet=5)):
        mirror = at_betting()
        assert mirror.apply(event) is Applied.APPLIED
        assert mirror.you is None


def test_a_warning_changes_nothing_but_is_told() -> None:
    mirror = at_betting()
    before = mirror.view
    assert mirror.apply(SeatWarned(table=TABLE, rounds_left=2)) is Applied.APPLIED
    assert mirror.view is before


# --- the crowd ---


def test_the_newest_crowd_counts_and_one_of_an_earlier_round_does_not() -> None:
    mirror = at_betting(round=2)
    fresh = CrowdView(seated=3, connected=2, ready=0, totals=BETS, bettors={Spot.BANKER: 1})
    assert mirror.apply(Crowd(table=TABLE, round=2, crowd=fresh)) is Applied.APPLIED
    assert mirror.crowd == fresh
    assert mirror.apply(Crowd(table=TABLE, round=1, crowd=replace(fresh, seated=9))) is Applied.DUPLICATE
    assert mirror.crowd == fresh


def test_it_tells_phase_round_seq_and_counts() -> None:
    assert repr(at_betting()) == "<TableMirror royal-1 betting round=1 seq=10 cards=0 seated=True bets=0>"
