"""Lines that drop: what is resumed, what is sent again under which id, and when a client stays away."""

import asyncio
import logging
from typing import Any

import pytest

from client_sdk.client import connect
from client_sdk.desk import now_ms
from client_sdk.exceptions import Disconnected, ProtocolMismatch, TokenRefused, UnknownTable
from client_sdk.game.variants import Spot
from client_sdk.protocol.errors import CloseCode, ErrorCode
from client_sdk.protocol.messages import SeatFreed, SeatTakenOver, Snapshot, TableIdled
from client_sdk.settings import Settings
from tests.unit.sdk.builders import TABLE, seat, view
from tests.unit.sdk.scripted import (
    BETTING,
    PATRON,
    QUICK,
    TOKEN,
    Peer,
    ScriptedHouse,
    client_of,
    greet,
    read,
    rejoin,
    rewatch,
    sit,
    types_of,
    until,
)


def idled(seq: int) -> TableIdled:
    return TableIdled(table=TABLE, seq=seq, round=7)


async def sit_and_drop(peer: Peer) -> None:
    """Seat the patron, and cut the line at the next request."""
    await sit(peer)
    await peer.take()
    peer.drop()


# --- what is sent again ---


async def test_a_guest_comes_back_as_the_same_patron() -> None:
    async with ScriptedHouse(greet) as house, client_of(house) as client:
        house.peers[0].drop()
        await house.connections(2)
        await until(lambda: client.is_connected and len(house.peers[1].requests) == 1)
        hello = house.peers[1].requests[0]
        assert (hello["token"], hello["name"]) == (TOKEN, None)
        assert client.token == TOKEN


async def test_an_unanswered_act_is_sent_again_as_it_was_after_the_seat_was_taken_again() -> None:
    async def decide(peer: Peer) -> None:
        await rejoin(peer)
        await peer.receipt(await peer.take("place"))

    async with ScriptedHouse(sit_and_drop, decide) as house, client_of(house) as client:
        table = await client.join(TABLE, buy_in=500)
        assert (await table.place(Spot.BANKER, 100)).bets == {Spot.BANKER: 100}
        first, second = (peer.requests for peer in house.peers)
        assert types_of(house.peers[1]) == ["hello", "join", "place"]
        assert second[2] == first[2]  # the same request_id, round, spot and chip
        join = second[1]
        assert (join["buy_in"], join["incarnation"], join["seq"]) == (0, "first", 40)


async def test_acts_wait_for_their_own_seat_and_go_in_their_order() -> None:
    seated = asyncio.Event()

    async def slow(peer: Peer) -> None:
        await peer.welcome()
        join = await peer.take("join")
        await seated.wait()
        await peer.resume(join, seat())
        for _ in range(3):
            await peer.receipt(await peer.take("place"))

    async with ScriptedHouse(sit, slow) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        acts = [asyncio.create_task(table.place(Spot.TIE, chip)) for chip in (100, 200, 300)]
        await house.connections(2)
        await until(lambda: len(house.peers[1].requests) == 2)
        await asyncio.sleep(0.03)
        assert types_of(house.peers[1]) == ["hello", "join"]
        assert not table.is_followed
        seated.set()
        await asyncio.gather(*acts)
        assert [request["chip"] for request in house.peers[1].requests[2:]] == [100, 200, 300]
        assert {request["round"] for request in house.peers[1].requests[2:]} == {7}


async def test_an_unanswered_join_is_sent_again_with_its_buy_in_and_only_once() -> None:
    async def lose(peer: Peer) -> None:
        await peer.welcome()
        await peer.take("join")
        peer.drop()

    async with ScriptedHouse(lose, lose, sit) as house, client_of(house) as client:
        table = await client.join(TABLE, buy_in=500)
        joins = [[request for request in peer.requests if request["type"] == "join"] for peer in house.peers]
        assert [len(requests) for requests in joins] == [1, 1, 1]
        assert joins[0] == joins[1] == joins[2]
        assert (table.mirror.stack, client.wallet) == (10_000, 500)


async def test_chips_that_are_added_across_a_drop_keep_their_id() -> None:
    async def add(peer: Peer) -> None:
        await rejoin(peer)
        again = await peer.take("join")
        await peer.resume(again, seat(10_300))

    async with ScriptedHouse(sit_and_drop, add) as house, client_of(house) as client:
        table = await client.join(TABLE, buy_in=500)
        assert await client.join(TABLE, buy_in=300) is table
        first, second = (peer.requests for peer in house.peers)
        assert [request["buy_in"] for request in second[1:]] == [0, 300]
        assert second[2] == first[2]
        assert table.mirror.stack == 10_300


async def test_an_act_that_can_never_be_sent_is_refused_in_time() -> None:
    async def silent(peer: Peer) -> None:
        await peer.take("hello")

    settings = Settings(call_ms=150, dial_ms=5_000, reconnect_ms_min=1, reconnect_ms_first=2)
    async with ScriptedHouse(sit, silent) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        with pytest.raises(Disconnected, match="place could not be sent within 150 ms"):
            await table.place(Spot.BANKER, 100)
        await house.connections(2)
        assert types_of(house.peers[1]) == ["hello"]


async def test_a_late_bet_is_never_laid_in_a_later_round() -> None:
    async def next_round(peer: Peer) -> None:
        await peer.welcome()
        join = await peer.take("join")
        await peer.show(join, view(phase="betting", round=8, seq=60), seat())
        await peer.refuse(await peer.take("place"), ErrorCode.ROUND_OVER)

    async with ScriptedHouse(sit, next_round) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        with pytest.raises(Exception, match="ROUND_OVER"):
            await table.place(Spot.BANKER, 100)
        assert house.peers[1].requests[-1]["round"] == 7
        assert (table.mirror.round, table.mirror.bets) == (8, {})


# --- events across a drop ---


async def test_missed_events_follow_gapless_after_a_drop() -> None:
    async def before(peer: Peer) -> None:
        await sit(peer)
        await peer.tell(idled(41))
        await peer.tell(idled(42))
        await peer.take("ready")
        peer.drop()

    async def after(peer: Peer) -> None:
        await peer.welcome()
        join = await peer.take("join")
        assert join["seq"] == 42
        await peer.resume(join, seat())
        for seq in (42, 43, 44):
            await peer.tell(idled(seq))
        await peer.receipt(await peer.take("ready"))

    async with ScriptedHouse(before, after) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert await read(table, 2) == [idled(41), idled(42)]
        await table.ready()
        assert await read(table, 2) == [idled(43), idled(44)]
        assert table.mirror.seq == 44


async def test_where_events_are_gone_a_snapshot_takes_their_place() -> None:
    async def after(peer: Peer) -> None:
        await peer.welcome()
        await peer.show(await peer.take("join"), view(seq=90, round=9, incarnation="second"), seat(7))
        await peer.tell(idled(91))

    async with ScriptedHouse(sit_and_drop, after) as house, client_of(house) as client:
        table = await client.join(TABLE)
        ready = asyncio.create_task(table.ready())
        snapshot, event = await read(table, 2)
        assert isinstance(snapshot, Snapshot)
        assert (snapshot.snapshot.seq, snapshot.snapshot.incarnation) == (90, "second")
        assert event == idled(91)
        assert (table.mirror.incarnation, table.mirror.stack) == ("second", 7)
        ready.cancel()


async def test_a_gap_is_filled_on_the_same_line() -> None:
    async def gap(peer: Peer) -> None:
        await sit(peer)
        await peer.tell(idled(41))
        await peer.tell(idled(44))
        join = await peer.take("join")
        assert (join["buy_in"], join["incarnation"], join["seq"]) == (0, "first", 41)
        await peer.tell(idled(45))
        await peer.resume(join, seat())
        for seq in (42, 43, 44, 45, 46):
            await peer.tell(idled(seq))

    async with ScriptedHouse(gap) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert await read(table, 6) == [idled(seq) for seq in range(41, 47)]
        assert len(house.peers) == 1


async def test_a_gap_does_not_send_again_what_is_on_its_way() -> None:
    async def gap(peer: Peer) -> None:
        await sit(peer)
        act = await peer.take("place")
        await peer.tell(idled(43))
        await peer.resume(await peer.take("join"), seat())
        for seq in (41, 42, 43):
            await peer.tell(idled(seq))
        await peer.receipt(await peer.take("ready"))
        await peer.receipt(act)

    async with ScriptedHouse(gap) as house, client_of(house) as client:
        table = await client.join(TABLE)
        betting = asyncio.create_task(table.place(Spot.BANKER, 100))
        await read(table, 3)
        await table.ready()
        await betting
        assert types_of(house.peers[0]) == ["hello", "join", "place", "join", "ready"]


async def test_a_gap_that_a_resume_does_not_fill_is_bridged_by_a_snapshot() -> None:
    async def gap(peer: Peer) -> None:
        await peer.welcome()
        await peer.show(await peer.take("watch"), BETTING)
        await peer.tell(idled(44))
        await peer.resume(await peer.take("watch"))
        await peer.tell(idled(45))
        watch = await peer.take("watch")
        assert (watch["incarnation"], watch["seq"]) == (None, None)
        await peer.show(watch, view(seq=45, round=8))

    async with ScriptedHouse(gap) as house, client_of(house) as client:
        table = await client.watch(TABLE)
        (snapshot,) = await read(table, 1)
        assert isinstance(snapshot, Snapshot)
        assert table.mirror.seq == 45


@pytest.mark.parametrize("code", [ErrorCode.INTERNAL, ErrorCode.STORE_AWAY])
async def test_a_resume_that_fails_for_now_keeps_the_seat(code: ErrorCode) -> None:
    async def fail_first(peer: Peer) -> None:
        await peer.welcome()
        await peer.refuse(await peer.take("join"), code)
        await peer.resume(await peer.take("join"), seat())

    async with ScriptedHouse(sit, fail_first) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await house.connections(2)
        await until(lambda: table.is_followed)
        assert table.is_seated


async def test_a_resume_without_an_answer_drops_the_line() -> None:
    async def deaf(peer: Peer) -> None:
        await peer.welcome()
        await peer.take("join")

    settings = Settings(call_ms=100, close_ms=100, reconnect_ms_min=1, reconnect_ms_first=5)
    async with ScriptedHouse(sit, deaf, rejoin) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await house.connections(3)
        await until(lambda: table.is_followed)
        assert table.is_seated


# --- whether to come back ---


@pytest.mark.parametrize("code", [1001, 1011, 1012, CloseCode.GOING_AWAY, CloseCode.SLOW_READER])
async def test_these_close_codes_mean_come_back(code: int) -> None:
    async def leave(peer: Peer) -> None:
        await peer.welcome()
        await peer.socket.close(code, "for now")

    async with ScriptedHouse(leave, greet) as house, client_of(house) as client:
        await house.connections(2)
        await until(lambda: client.is_connected)
        assert client.error is None


@pytest.mark.parametrize("code", [1000, 1008, CloseCode.TOO_MANY_ERRORS, CloseCode.HELLO_TIMEOUT, 4999])
async def test_these_close_codes_mean_stay_away(code: int) -> None:
    async def expel(peer: Peer) -> None:
        await sit(peer)
        await peer.take("ready")
        await peer.socket.close(code, "for good")

    async with ScriptedHouse(expel) as house, client_of(house) as client:
        table = await client.join(TABLE)
        with pytest.raises(Disconnected, match="for good") as ended:
            await table.ready()
        assert ended.value.close_code == code
        with pytest.raises(Disconnected):
            await anext(table)
        with pytest.raises(Disconnected):
            await client.list_tables()
        await asyncio.sleep(0.03)
        assert len(house.peers) == 1


async def test_a_token_refused_on_the_way_back_ends_every_waiter() -> None:
    async def expel(peer: Peer) -> None:
        await peer.refuse(await peer.take("hello"), ErrorCode.TOKEN_REFUSED)

    async with ScriptedHouse(sit_and_drop, expel) as house, client_of(house) as client:
        table = await client.join(TABLE)
        reading = asyncio.create_task(anext(table))
        with pytest.raises(TokenRefused):
            await table.place(Spot.BANKER, 100)
        with pytest.raises(TokenRefused):
            await reading
        assert isinstance(client.error, TokenRefused)
        await asyncio.sleep(0.03)
        assert len(house.peers) == 2


async def test_a_server_that_takes_us_for_somebody_else_ends_the_client() -> None:
    async def confused(peer: Peer) -> None:
        await peer.welcome(patron="p2")

    async with ScriptedHouse(sit_and_drop, confused) as house, client_of(house) as client:
        table = await client.join(TABLE)
        with pytest.raises(ProtocolMismatch, match=f"expected patron {PATRON}, found patron p2"):
            await table.ready()


@pytest.mark.parametrize("garbage", [b"\xc1", b"\x91\x01", "text", b"\x81\xa4type\x90", b"\x80"])
async def test_a_frame_that_cannot_be_read_drops_the_line_and_no_more(garbage: Any) -> None:
    async def garble(peer: Peer) -> None:
        await sit(peer)
        await peer.socket.send(garbage)

    async with ScriptedHouse(garble, rejoin) as house, client_of(house) as client:
        table = await client.join(TABLE)
        await house.connections(2)
        await until(lambda: table.is_followed and client.is_connected)


async def test_a_message_above_the_limit_ends_the_line() -> None:
    async def flood(peer: Peer) -> None:
        await sit(peer)
        await peer.socket.send(b"\x00" * 2_000_000)

    async with ScriptedHouse(flood, rejoin) as house, client_of(house) as client:
        await client.join(TABLE)
        await until(lambda: client.error is not None or len(house.peers) > 1)


# --- seats and tables that were given up ---


async def test_a_seat_that_was_taken_over_is_only_watched_again() -> None:
    async def take_over(peer: Peer) -> None:
        await sit(peer)
        await peer.tell(SeatTakenOver(table=TABLE))
        await peer.take("ready")
        peer.drop()

    async with ScriptedHouse(take_over, rewatch) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert await read(table, 1) == [SeatTakenOver(table=TABLE)]
        assert not table.is_seated
        ready = asyncio.create_task(table.ready())
        await house.connections(2)
        await until(lambda: table.is_followed)
        assert types_of(house.peers[1])[:2] == ["hello", "watch"]
        ready.cancel()


async def test_a_seat_that_was_freed_meanwhile_is_told_and_watched() -> None:
    async def freed(peer: Peer) -> None:
        await peer.welcome(wallet=10_500)
        await peer.refuse(await peer.take("join"), ErrorCode.NOT_SEATED)
        await peer.resume(await peer.take("watch"))

    async def sit_shortly(peer: Peer) -> None:
        await peer.welcome()
        await peer.seat(BETTING, seat(), wallet=500)

    async with ScriptedHouse(sit_shortly, freed) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        assert await read(table, 1) == [SeatFreed(table=TABLE, reason="away", wallet=None)]
        await until(lambda: table.is_followed)
        assert (table.is_seated, client.wallet) == (False, 10_500)
        assert types_of(house.peers[1]) == ["hello", "join", "watch"]


async def test_a_seat_that_is_refused_is_told_and_watched() -> None:
    async def full(peer: Peer) -> None:
        await peer.welcome()
        await peer.refuse(await peer.take("join"), ErrorCode.TABLE_FULL)
        await peer.resume(await peer.take("watch"))

    async with ScriptedHouse(sit, full) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        assert await read(table, 1) == [SeatFreed(table=TABLE, reason="refused", wallet=None)]
        await until(lambda: table.is_followed)
        assert not table.is_seated


async def test_a_table_that_is_gone_ends_its_readers_and_no_others() -> None:
    async def gone(peer: Peer) -> None:
        await peer.welcome()
        await peer.refuse(await peer.take("watch"), ErrorCode.UNKNOWN_TABLE)

    async def watch(peer: Peer) -> None:
        await peer.welcome()
        await peer.show(await peer.take("watch"), BETTING)

    async with ScriptedHouse(watch, gone) as house, client_of(house) as client:
        table = await client.watch(TABLE)
        house.peers[0].drop()
        with pytest.raises(UnknownTable):
            await anext(table)
        assert client.tables == {}
        assert client.is_connected


async def test_leaving_while_offline_takes_the_seat_only_to_give_it_up() -> None:
    async def let_go(peer: Peer) -> None:
        await rejoin(peer)
        await peer.reply(await peer.take("leave"), table=TABLE, after_round=False, wallet=1_500)

    async with ScriptedHouse(sit, let_go, rewatch) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        assert not (await table.leave()).after_round
        assert (client.wallet, table.is_seated) == (1_500, False)
        house.peers[1].drop()
        await house.connections(3)
        await until(lambda: table.is_followed)
        assert types_of(house.peers[2])[:2] == ["hello", "watch"]


async def test_leaving_after_the_round_shows_until_the_seat_is_freed() -> None:
    async def later(peer: Peer) -> None:
        await sit(peer)
        await peer.reply(await peer.take("leave"), table=TABLE, after_round=True, wallet=None)
        await peer.tell(SeatFreed(table=TABLE, reason="left", wallet=1_234))

    async with ScriptedHouse(later) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert (await table.leave()).after_round
        await read(table, 1)
        assert (table.is_seated, client.wallet) == (False, 1_234)


async def test_a_table_dropped_while_offline_is_not_resumed() -> None:
    async with ScriptedHouse(sit, greet) as house, client_of(house) as client:
        table = await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        await table.unwatch()
        assert [event async for event in table] == []
        await house.connections(2)
        await until(lambda: client.is_connected)
        await asyncio.sleep(0.03)
        assert types_of(house.peers[1]) == ["hello"]


async def test_unwatching_ends_the_readers_and_tells_the_server() -> None:
    async def part(peer: Peer) -> None:
        await sit(peer)
        await peer.reply(await peer.take("unwatch"), table=TABLE)
        await peer.seat(view(seq=70), seat())

    async with ScriptedHouse(part) as house, client_of(house) as client:
        table = await client.join(TABLE)
        await table.unwatch()
        assert [event async for event in table] == []
        assert not table.is_followed
        again = await client.join(TABLE)
        assert again is not table
        assert again.mirror.seq == 70


async def test_closing_while_offline_ends_the_attempts() -> None:
    async with ScriptedHouse(sit, greet) as house:
        client = await connect(house.url, name="alice", settings=QUICK)
        await client.join(TABLE)
        house.peers[0].drop()
        await until(lambda: not client.is_connected)
        await client.close()
        count = len(house.peers)
        await asyncio.sleep(0.05)
        assert len(house.peers) == count
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("punto")] == []


async def test_a_watched_table_is_returned_as_it_is() -> None:
    async with ScriptedHouse(sit) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert await client.watch(TABLE) is table
        assert client.tables == {TABLE: table}
        assert types_of(house.peers[0]) == ["hello", "join"]


# --- secrets and signs of life ---


async def test_no_log_and_no_text_shows_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with ScriptedHouse(sit_and_drop, rejoin) as house, client_of(house, token=TOKEN) as client:
        table = await client.join(TABLE)
        betting = asyncio.create_task(table.place(Spot.BANKER, 100))
        await house.connections(2)
        await until(lambda: table.is_followed)
        for told in (client, table, table.mirror, table.clock, client._session.identity, *client._session.desk.calls):
            assert TOKEN not in repr(told)
        betting.cancel()
    ours = [record for record in caplog.records if record.name.startswith(("client_sdk", "websockets.client"))]
    assert ours
    assert not [record for record in ours if TOKEN in record.getMessage() or TOKEN in str(vars(record))]


async def test_it_tells_its_state() -> None:
    async with ScriptedHouse(sit) as house, client_of(house) as client:
        table = await client.join(TABLE)
        await until(lambda: len(client._session.desk.calls) == 0)
        assert repr(client) == "<Client 'alice' p1 connected tables=1 waiting=0>"
        assert repr(table) == "<Table royal-1 betting round=7 seq=40 seated=True waiting=0 unread=0>"


async def test_a_break_makes_the_next_ping_due() -> None:
    async def drift(peer: Peer) -> None:
        await peer.welcome()
        await peer.resume(await peer.take("join"), seat())
        await peer.reply(await peer.take("ping"), at_ms=2_000_000)

    async with ScriptedHouse(sit, drift) as house, client_of(house) as client:
        table = await client.join(TABLE)
        await until(lambda: len(client._session.desk.calls) == 0)
        house.peers[0].drop()
        await until(lambda: table.clock.now_at_ms(now_ms()) >= 2_000_000)


async def test_the_table_clock_is_known_before_a_table_is_handed_out() -> None:
    async with ScriptedHouse(sit) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert table.clock.is_known
        sample = await client.ping(TABLE)
        assert sample.at_ms == 1_000_000
        assert (await client.ping()).round_trip_ms >= 0
