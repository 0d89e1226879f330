"""The client against a house that refuses, loses and garbles on demand: who is told what, and what is sent again."""

import asyncio
import socket
from typing import Any

import msgspec
import pytest

from client_sdk import exceptions
from client_sdk.client import connect
from client_sdk.exceptions import (
    Busy,
    ClientClosed,
    Disconnected,
    NameRefused,
    ProtocolMismatch,
    TimedOut,
    TooMuchWaiting,
    Unreachable,
)
from client_sdk.game.variants import Spot
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import TableSummary
from client_sdk.settings import Settings
from tests.unit.sdk.builders import NO_ROADS, TABLE, rules
from tests.unit.sdk.scripted import PATRON, QUICK, TOKEN, Peer, ScriptedHouse, client_of, greet, sit, types_of, until

# --- the first connection ---


@pytest.mark.parametrize("codec", ["msgpack", "json"])
async def test_a_guest_says_its_name_and_learns_who_it_is(codec: Any) -> None:
    async with ScriptedHouse(greet) as house, client_of(house, codec=codec, bot=True) as client:
        assert (client.patron, client.name, client.token, client.wallet) == (PATRON, "alice", TOKEN, 1_000)
        assert (client.currency, client.exponent, client.server) == ("PTO", 2, "scripted")
        assert client.is_connected
        hello = house.peers[0].requests[0]
        assert (hello["name"], hello["token"], hello["bot"]) == ("alice", None, True)
        assert house.peers[0].socket.subprotocol == f"punto.v1.{codec}"


async def test_a_token_is_sent_in_the_place_of_a_name() -> None:
    async with ScriptedHouse(greet) as house:
        client = await connect(house.url, name="alice", token="mine", settings=QUICK)
        assert client.token == "mine"
        assert (house.peers[0].requests[0]["token"], house.peers[0].requests[0]["name"]) == ("mine", None)
        await client.close()


async def test_a_server_that_is_down_is_tried_until_the_timeout() -> None:
    settings = Settings(connect_ms=300, reconnect_ms_min=1, reconnect_ms_first=10)
    with pytest.raises(Unreachable) as unreachable:
        await connect("ws://someone:s3cret@127.0.0.1:1/?token=s3cret", name="alice", settings=settings)
    assert unreachable.value.server == "ws://127.0.0.1:1"
    assert "s3cret" not in str(unreachable.value)
    assert len(asyncio.all_tasks()) == 1


async def test_a_server_that_comes_up_meanwhile_is_found() -> None:
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        connecting = connect(f"ws://127.0.0.1:{port}", name="alice", settings=QUICK)
        opening = asyncio.create_task(connecting.__aenter__())
        await asyncio.sleep(0.05)
    async with ScriptedHouse(greet, port=port):
        assert (await opening).is_connected
        await connecting.close()


async def test_a_refused_name_is_told_at_once() -> None:
    async def refuse(peer: Peer) -> None:
        await peer.refuse(await peer.take("hello"), ErrorCode.NAME_REFUSED)

    async with ScriptedHouse(refuse) as house:
        with pytest.raises(NameRefused):
            await connect(house.url, name=" ", settings=QUICK)
        assert len(house.peers) == 1


async def test_a_greeting_that_can_be_had_later_is_asked_for_again() -> None:
    async def not_now(peer: Peer) -> None:
        await peer.refuse(await peer.take("hello"), ErrorCode.STORE_AWAY)

    async with ScriptedHouse(not_now, greet) as house, client_of(house):
        assert len(house.peers) == 2

    async with ScriptedHouse(not_now) as house:
        with pytest.raises(Unreachable, match="store can't be reached"):
            await connect(house.url, name="alice", settings=Settings(connect_ms=2_000, reconnect_ms_first=60))


async def test_another_protocol_is_a_mismatch() -> None:
    async def newer(peer: Peer) -> None:
        await peer.welcome(protocol=2)

    async with ScriptedHouse(newer) as house:
        with pytest.raises(ProtocolMismatch, match="please update"):
            await connect(house.url, name="alice", settings=QUICK)


async def test_a_server_without_our_subprotocol_is_a_mismatch() -> None:
    async with ScriptedHouse(greet, subprotocols=False) as house:
        with pytest.raises(ProtocolMismatch, match="no subprotocol"):
            await connect(house.url, name="alice", settings=QUICK)


async def test_a_welcome_of_another_shape_is_a_mismatch() -> None:
    async def strange(peer: Peer) -> None:
        await peer.reply(await peer.take("hello"), hello="yes")

    async with ScriptedHouse(strange) as house:
        with pytest.raises(ProtocolMismatch, match="an answer to hello"):
            await connect(house.url, name="alice", settings=QUICK)


async def test_what_is_no_address_is_told_at_once() -> None:
    with pytest.raises(Disconnected, match="no WebSocket address"):
        await connect("http://127.0.0.1:1", name="alice", settings=QUICK)


async def test_closing_while_it_connects_ends_the_attempts() -> None:
    async def silent(peer: Peer) -> None:
        await peer.take("hello")

    async with ScriptedHouse(silent) as house:
        connecting = connect(house.url, name="alice", settings=QUICK)
        opening = asyncio.create_task(connecting.__aenter__())
        await house.connections(1)
        await connecting.close()
        with pytest.raises(ClientClosed):
            await opening
        await asyncio.sleep(0.05)
        assert len(house.peers) == 1


async def test_a_cancelled_connect_leaves_nothing_behind() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await connect("ws://127.0.0.1:1", name="alice", settings=QUICK)
    assert len(asyncio.all_tasks()) == 1


async def test_a_closed_client_ends_whoever_waits_and_every_task() -> None:
    async with ScriptedHouse(sit) as house:
        client = await connect(house.url, name="alice", settings=QUICK)
        table = await client.join(TABLE, buy_in=500)
        betting = asyncio.create_task(table.place(Spot.BANKER, 100))
        reading = asyncio.create_task(anext(table))
        await until(lambda: "place" in types_of(house.peers[0]))
        await asyncio.gather(client.close(), client.close())
        with pytest.raises(ClientClosed):
            await betting
        with pytest.raises(StopAsyncIteration):
            await reading
        with pytest.raises(ClientClosed):
            await table.clear()
        assert "closed" in repr(client)
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("punto")] == []
        await asyncio.sleep(0.05)
        assert len(house.peers) == 1


# --- answers ---


async def test_answers_are_matched_by_their_id() -> None:
    async def backwards(peer: Peer) -> None:
        await sit(peer)
        acts = [await peer.take("place") for _ in range(3)]
        for act in reversed(acts):
            await peer.receipt(act, stack=act["chip"])

    async with ScriptedHouse(backwards) as house, client_of(house) as client:
        table = await client.join(TABLE)
        receipts = await asyncio.gather(*(table.place(Spot.TIE, chip) for chip in (100, 200, 300)))
        assert [receipt.stack for receipt in receipts] == [100, 200, 300]
        ids = [request["request_id"] for request in house.peers[0].requests]
        assert len(set(ids)) == len(ids)
        assert {request["round"] for request in house.peers[0].requests if request["type"] == "place"} == {7}


async def test_a_late_answer_to_a_cancelled_act_goes_to_nobody() -> None:
    release = asyncio.Event()

    async def late(peer: Peer) -> None:
        await sit(peer)
        first, second = await peer.take("place"), await peer.take("place")
        await release.wait()
        await peer.receipt(first, stack=1)
        await peer.receipt(second, stack=2)

    async with ScriptedHouse(late) as house, client_of(house) as client:
        table = await client.join(TABLE)
        first = asyncio.create_task(table.place(Spot.TIE, 100))
        second = asyncio.create_task(table.place(Spot.TIE, 100))
        await until(lambda: len(house.peers[0].requests) == 4)
        first.cancel()
        await asyncio.sleep(0)
        release.set()
        assert (await second).stack == 2
        assert first.cancelled()
        assert table.waiting == 0


async def test_a_cancelled_act_leaves_only_whole_messages_on_the_wire() -> None:
    """BL-122: many tasks act at once and half of them are cancelled on the way: what comes is whole, each at most
    once."""

    async def answer(peer: Peer) -> None:
        await sit(peer)
        while True:
            request = await peer.take("place")
            await peer.receipt(request, stack=request["chip"])

    async with ScriptedHouse(answer) as house, client_of(house) as client:
        table = await client.join(TABLE)
        tasks = [asyncio.create_task(table.place(Spot.TIE, chip)) for chip in range(1, 201)]
        for count, task in enumerate(tasks):
            if count % 2:
                task.cancel()
            if count % 20 == 0:
                await asyncio.sleep(0)
        receipts = await asyncio.gather(*tasks[::2])
        assert [receipt.stack for receipt in receipts] == list(range(1, 201, 2))
        chips = [request["chip"] for request in house.peers[0].requests if request["type"] == "place"]
        assert len(set(chips)) == len(chips)
        assert set(range(1, 201, 2)) <= set(chips)


async def test_typed_refusals_carry_what_the_server_told() -> None:
    async def refuse(peer: Peer) -> None:
        await sit(peer)
        await peer.refuse(await peer.take("place"), ErrorCode.BETTING_CLOSED, arrived_at_ms=20, closed_at_ms=10)
        await peer.refuse(await peer.take("undo"), ErrorCode.NOTHING_TO_UNDO)

    async with ScriptedHouse(refuse) as house, client_of(house) as client:
        table = await client.join(TABLE)
        with pytest.raises(exceptions.BettingClosed) as late:
            await table.place(Spot.TIE, 100)
        assert late.value.late_ms == 10
        with pytest.raises(exceptions.NothingToUndo):
            await table.undo()


async def test_a_not_now_is_sent_again_under_the_same_id_until_it_is_decided() -> None:
    async def busy(peer: Peer) -> None:
        await sit(peer)
        for code in (ErrorCode.BUSY, ErrorCode.STORE_AWAY, ErrorCode.UNCONFIRMED):
            await peer.refuse(await peer.take("place"), code)
        await peer.receipt(await peer.take("place"))

    async with ScriptedHouse(busy) as house, client_of(house) as client:
        table = await client.join(TABLE)
        assert (await table.place(Spot.BANKER, 100)).stack == 9_900
        tries = [request for request in house.peers[0].requests if request["type"] == "place"]
        assert len(tries) == 4
        assert all(request == tries[0] for request in tries)


async def test_a_not_now_for_too_long_is_raised_as_it_was_told() -> None:
    async def busy(peer: Peer) -> None:
        await sit(peer)
        while True:
            await peer.refuse(await peer.take(), ErrorCode.BUSY)

    settings = Settings(call_ms=150, retry_ms_min=10, retry_ms_first=20, retry_ms_max=20)
    async with ScriptedHouse(busy) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        with pytest.raises(Busy):
            await table.place(Spot.BANKER, 100)


async def test_an_answer_that_never_comes_times_out() -> None:
    settings = Settings(call_ms=100)
    async with ScriptedHouse(sit) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        with pytest.raises(TimedOut, match="place"):
            await table.place(Spot.BANKER, 100)
        assert table.waiting == 0


async def test_more_requests_than_may_wait_are_refused_here() -> None:
    settings = Settings(calls_max=2, call_ms=300, clock_ms=60_000)
    async with ScriptedHouse(sit) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        waiting = [asyncio.create_task(table.clear()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooMuchWaiting):
            await table.clear()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_number_that_no_message_holds_is_the_callers_mistake_alone() -> None:
    async def accept(peer: Peer) -> None:
        await sit(peer)
        await peer.receipt(await peer.take("place"))

    async with ScriptedHouse(accept) as house, client_of(house) as client:
        table = await client.join(TABLE)
        with pytest.raises(OverflowError):
            await table.place(Spot.BANKER, 2**70)
        assert (await table.place(Spot.BANKER, 100)).stack == 9_900
        assert len(house.peers) == 1


async def test_an_answer_about_another_table_is_a_mismatch() -> None:
    async def crossed(peer: Peer) -> None:
        await sit(peer)
        await peer.receipt((await peer.take("place")) | {"table": "other-1"})

    async with ScriptedHouse(crossed) as house, client_of(house) as client:
        table = await client.join(TABLE)
        with pytest.raises(ProtocolMismatch, match="another table"):
            await table.place(Spot.BANKER, 100)


async def test_the_lobby_is_read_page_by_page() -> None:
    def summary(table: str) -> Any:
        line = TableSummary(
            table=table,
            rules=rules(),
            phase="idle",
            round=0,
            closes_at_ms=None,
            seated=0,
            big_road=NO_ROADS.big_road,
            statistics=NO_ROADS.statistics,
        )
        return msgspec.to_builtins(line)

    async def lobby(peer: Peer) -> None:
        await peer.welcome()
        await peer.reply(await peer.take("list_tables"), tables=[summary("a-1"), summary("b-1")], more=True)
        await peer.reply(await peer.take("list_tables"), tables=[summary("c-1")], more=False)
        await peer.reply(await peer.take("list_tables"), tables=[], more=True)

    async with ScriptedHouse(lobby) as house, client_of(house) as client:
        assert [line.table for line in await client.list_tables()] == ["a-1", "b-1", "c-1"]
        assert [request["after"] for request in house.peers[0].requests[1:]] == [None, "b-1"]
        with pytest.raises(ProtocolMismatch):
            await client.list_tables()
