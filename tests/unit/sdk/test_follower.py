"""A table across connections: readers see each number once and in order, or a snapshot where that can't be."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.exceptions import Disconnected, ProtocolMismatch
from client_sdk.follower import Follower, seated_view, watched_view
from client_sdk.game.cards import parse_cards
from client_sdk.game.tableau import deal_hands
from client_sdk.game.variants import Spot
from client_sdk.inbox import Inbox
from client_sdk.protocol.messages import (
    AnyEvent,
    Join,
    Message,
    OwnSeat,
    Results,
    RoundDecided,
    SeatFreed,
    SeatTakenOver,
    Snapshot,
    TableIdled,
    TableView,
    Watch,
    Watching,
)
from client_sdk.view import view_after
from tests.unit.sdk.builders import TABLE, Story, decided, results, seat, view

HANDS = deal_hands(parse_cards("2c Tc 3d 3h Ks 5s"))
BETS = {Spot.BANKER: 1_000}


def wire(event: msgspec.Struct) -> Message:
    """An event as it comes off the wire."""
    message: Message = msgspec.to_builtins(event)
    return message


def idled(seq: int) -> TableIdled:
    return TableIdled(table=TABLE, seq=seq, round=0)


def resumed(you: OwnSeat | None = None) -> Watching:
    return Watching(request_id="r", table=TABLE, resumed=True, snapshot=None, you=you)


def state(snapshot: TableView, you: OwnSeat | None = None) -> Watching:
    return Watching(request_id="r", table=TABLE, resumed=False, snapshot=snapshot, you=you)


def following(**changes: Any) -> tuple[Follower, Inbox]:
    follower = Follower(view(**changes), events_max=10_000)
    return follower, follower.subscribe()


async def unread(inbox: Inbox) -> list[AnyEvent]:
    return [await anext(inbox) for _ in range(len(inbox))]


@settings(deadline=None)
@given(st.integers(0, 2**32), st.data())
async def test_readers_can_follow_whatever_is_lost(seed: int, data: st.DataObject) -> None:
    """Frames are lost, doubled, and resumes answered with events or with a snapshot, at will."""
    events = Story(Random(seed)).play(3)
    states = [view()]
    for event in events:
        states.append(view_after(states[-1], event))
    follower, inbox = following()

    def resume(newest: int) -> None:
        request = follower.resume_request("r")
        assert isinstance(request, Watch)
        if request.seq is not None and data.draw(st.booleans()):
            follower.accept_watch(resumed())
            for missed in events[request.seq : newest]:
                follower.feed(wire(missed))
        else:
            follower.accept_watch(state(states[newest]))

    for newest, event in enumerate(events, start=1):
        for _ in range(data.draw(st.integers(0, 2))):
            follower.feed(wire(event))
        if follower.is_behind and data.draw(st.booleans()):
            resume(newest)
            assert not follower.is_behind
    resume(len(events))

    assert follower.mirror.view == states[-1]
    seq = 0
    for told in await unread(inbox):
        if isinstance(told, Snapshot):
            assert told.snapshot.seq >= seq
            seq = told.snapshot.seq
        else:
            assert getattr(told, "seq", None) == seq + 1
            seq += 1
    assert seq == len(events)


async def test_a_gap_asks_once_from_the_last_number_then_for_a_snapshot() -> None:
    follower, inbox = following(seq=4)
    follower.feed(wire(idled(7)))
    follower.feed(wire(idled(8)))
    request = follower.resume_request("r")
    assert (request.incarnation, request.seq) == ("first", 4)
    follower.accept_watch(resumed())
    assert not follower.is_behind
    follower.feed(wire(idled(9)))  # the promised events did not come
    request = follower.resume_request("r")
    assert (request.incarnation, request.seq) == (None, None)
    follower.accept_watch(state(view(seq=9)))
    assert [type(event) for event in await unread(inbox)] == [Snapshot]
    follower.feed(wire(idled(11)))
    assert follower.resume_request("r").seq == 9  # numbers are believed again


async def test_a_seat_is_taken_back_by_join_and_a_spectator_resumes_by_watch() -> None:
    follower, _ = following(seq=4, you=seat())
    request = follower.resume_request("r")
    assert isinstance(request, Join)
    assert (request.take_back, request.buy_in, request.incarnation, request.seq) == (True, 0, "first", 4)
    follower, _ = following(seq=4)
    assert isinstance(follower.resume_request("r"), Watch)


@pytest.mark.parametrize("event", [SeatTakenOver(table=TABLE), SeatFreed(table=TABLE, reason="idle", wallet=None)])
async def test_a_lost_seat_is_only_watched_after_a_break(event: AnyEvent) -> None:
    follower, inbox = following(you=seat())
    follower.feed(wire(event))
    follower.detach()
    assert isinstance(follower.resume_request("r"), Watch)
    assert await unread(inbox) == [event]


async def test_a_seat_held_elsewhere_is_not_shown() -> None:
    follower, _ = following()
    follower.detach()
    follower.accept_watch(resumed(you=seat()))
    assert follower.mirror.you is None
    follower.accept_seat(resumed(you=seat(77)))
    assert follower.mirror.stack == 77
    assert follower.wants_seat
    follower.accept_watch(resumed(you=seat(78)))  # a gap on the same connection: the seat is still here
    assert follower.mirror.stack == 78


async def test_a_seat_that_will_not_be_taken_again_is_lost_with_its_connection() -> None:
    follower, _ = following(you=seat())
    follower.detach()
    assert follower.mirror.you is not None
    follower.wants_seat = False
    follower.detach()
    assert follower.mirror.you is None


async def test_a_refused_seat_is_told_and_then_watched() -> None:
    follower, inbox = following(you=seat())
    follower.lose_seat("refused")
    assert await unread(inbox) == [SeatFreed(table=TABLE, reason="refused", wallet=None)]
    assert isinstance(follower.resume_request("r"), Watch)


async def test_a_join_without_a_seat_makes_a_spectator() -> None:
    follower, _ = following(you=seat())
    follower.accept_seat(resumed(you=None))
    assert not follower.wants_seat


async def test_the_seat_of_an_old_snapshot_counts_the_snapshot_does_not() -> None:
    follower, inbox = following(seq=9, you=seat())
    follower.accept_seat(state(view(seq=5), you=seat(123)))
    assert (follower.mirror.seq, follower.mirror.stack) == (9, 123)
    assert await unread(inbox) == []


async def test_results_missed_in_a_break_come_in_their_place_once() -> None:
    told = results(HANDS, BETS, 10_950)
    follower, inbox = following(seq=4, round=1, phase="dealing", you=seat(9_000, bets=BETS))
    follower.detach()
    follower.accept_seat(resumed(you=seat(10_950, last_round=1, last_results=told.bets)))
    follower.feed(wire(decided(HANDS, seq=5)))
    follower.feed(wire(told))
    follower.feed(wire(idled(6)))
    assert [type(event) for event in await unread(inbox)] == [RoundDecided, Results, TableIdled]
    assert follower.mirror.stack == 10_950


async def test_results_missed_with_their_round_come_after_its_snapshot() -> None:
    told = results(HANDS, BETS, 10_950)
    follower, inbox = following(seq=4, round=1, phase="dealing", you=seat(9_000, bets=BETS))
    you = seat(10_950, last_round=1, last_results=told.bets)
    follower.accept_seat(state(view(seq=9, round=1, phase="settling", outcome=HANDS.outcome), you=you))
    assert [type(event) for event in await unread(inbox)] == [Snapshot, Results]


async def test_results_between_a_gap_and_its_answer_wait_for_their_round() -> None:
    told = results(HANDS, BETS, 10_950)
    follower, inbox = following(seq=4, round=1, phase="dealing", you=seat(9_000, bets=BETS))
    follower.feed(wire(idled(6)))
    follower.feed(wire(told))
    assert await unread(inbox) == []
    follower.accept_seat(resumed(you=seat(10_950, last_round=1, last_results=told.bets)))
    follower.feed(wire(decided(HANDS, seq=5)))
    assert [type(event) for event in await unread(inbox)] == [RoundDecided, Results]


async def test_an_event_of_a_newer_protocol_is_counted_and_passed_over() -> None:
    follower, inbox = following(seq=4)
    follower.feed({"type": "fireworks", "table": TABLE, "seq": 5, "colour": "red"})
    follower.feed({"type": "rumour", "table": TABLE})
    follower.feed(wire(idled(6)))
    assert not follower.is_behind
    assert await unread(inbox) == [idled(6)]
    follower.feed({"type": "fireworks", "table": TABLE, "seq": 8})
    assert follower.is_behind


async def test_unknown_fields_are_passed_over() -> None:
    follower, inbox = following(seq=4)
    follower.feed(wire(idled(5)) | {"weather": "fine"})
    assert await unread(inbox) == [idled(5)]


async def test_an_event_that_should_be_readable_and_is_not_asks_for_a_snapshot() -> None:
    follower, _ = following(seq=4)
    follower.feed({"type": "betting_opened", "table": TABLE, "seq": 5})
    assert follower.is_behind
    assert follower.resume_request("r").seq is None


async def test_a_snapshot_that_comes_unasked_ends_the_gap() -> None:
    follower, inbox = following(seq=4)
    follower.feed(wire(idled(9)))
    told = Snapshot(table=TABLE, reason="behind", snapshot=view(seq=9))
    follower.feed(wire(told))
    assert not follower.is_behind
    assert await unread(inbox) == [told]


async def test_a_snapshot_that_comes_unasked_shows_the_seat_to_who_holds_it() -> None:
    told = Snapshot(table=TABLE, reason="behind", snapshot=view(seq=9, you=seat(55)))
    seated, _ = following(seq=4, you=seat())
    seated.feed(wire(told))
    assert (seated.mirror.stack, seated.wants_seat) == (55, True)
    spectator, _ = following(seq=4)
    spectator.feed(wire(told))
    assert spectator.mirror.you is None
    seated.feed(wire(Snapshot(table=TABLE, reason="behind", snapshot=view(seq=10))))
    assert not seated.wants_seat


async def test_of_many_readers_each_gets_all_and_one_that_ends_ends_alone() -> None:
    follower, first = following()
    second, third = follower.subscribe(), follower.subscribe()
    follower.feed(wire(idled(1)))
    follower.unsubscribe(first)
    fourth = follower.subscribe()
    follower.feed(wire(idled(2)))
    assert await unread(first) == [idled(1)]
    with pytest.raises(StopAsyncIteration):
        await anext(first)
    assert await unread(second) == await unread(third) == [idled(1), idled(2)]
    assert await unread(fourth) == [idled(2)]


async def test_the_end_reaches_present_and_later_readers() -> None:
    follower, inbox = following()
    follower.end(Disconnected("gone"))
    follower.end()
    for reader in (inbox, follower.subscribe()):
        with pytest.raises(Disconnected):
            await anext(reader)


async def test_a_first_answer_without_a_snapshot_is_a_mismatch() -> None:
    with pytest.raises(ProtocolMismatch):
        watched_view(resumed())
    with pytest.raises(ProtocolMismatch):
        seated_view(resumed())


async def test_a_first_answer_shows_the_seat_to_whom_it_belongs() -> None:
    told = state(view(), you=seat(5))
    assert seated_view(told).you == seat(5)
    assert watched_view(told).you is None
    inside = state(replace(view(), you=seat(6)))
    assert seated_view(inside).you == seat(6)
