"""An answer that is lost on its way: the SDK sends the same request again under the same id, and it counts once."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from client_sdk import Spot, connect
from client_sdk.table import Table
from tests.chaos.tape import Tape, recording
from tests.support.proxy import Proxy
from tests.support.raw_client import RawClient

TABLE = "royal-1"
PLAY_MONEY = 1_000_000
BUY_IN = 10_000


def tries_of(tape: Tape, kind: str, **fields: Any) -> list[tuple[int, str]]:
    """Every time that a request of this kind went over the wire: on which connection, under which id."""
    return [
        (line.number, word.message["request_id"])
        for line in tape.lines
        for word in line.sent
        if word.message["type"] == kind and all(word.message.get(name) == value for name, value in fields.items())
    ]


async def with_lost_answer(proxy: Proxy, ask: Awaitable[Any]) -> Any:
    """Let the server hear a request and nobody hear its answer; then the line breaks, and the client comes back."""
    swallowed = proxy.swallowed_bytes
    proxy.swallow()
    asking = asyncio.ensure_future(ask)
    async with asyncio.timeout(10):
        while proxy.swallowed_bytes == swallowed:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)  # the answer itself, not only an event that was on its way before it
        proxy.cut()
        return await asking


async def betting(table: Table) -> None:
    """Wait until a round has just begun."""
    inbox = table.subscribe()
    async with asyncio.timeout(10):
        number = table.mirror.round
        while table.mirror.phase != "betting" or table.mirror.round == number:
            await anext(inbox)
    table.unsubscribe(inbox)


@pytest.mark.parametrize("codec", ["json", "msgpack"])
async def test_bl_147_a_bet_whose_answer_was_lost_is_one_bet_under_one_id(node_url: str, codec: Any) -> None:
    async with Proxy(node_url) as proxy:
        with recording() as tape:
            async with connect(proxy.url, name="Ada", codec=codec) as client:
                table = await client.join(TABLE, buy_in=BUY_IN)
                await betting(table)
                receipt = await with_lost_answer(proxy, table.place(Spot.PLAYER, 500))
                assert (receipt.stack, receipt.bets) == (BUY_IN - 500, {Spot.PLAYER: 500})
                mirror = table.mirror
                assert (mirror.stack, mirror.you is not None and mirror.you.bets) == (BUY_IN - 500, {Spot.PLAYER: 500})
                await table.clear()
                await table.leave()
                assert client.wallet == PLAY_MONEY
    tries = tries_of(tape, "place")
    assert len(tries) >= 2
    assert len({line for line, _ in tries}) >= 2, "it was sent on two connections"
    assert len({request_id for _, request_id in tries}) == 1, "and always under the same id"


async def test_a_buy_in_whose_answer_was_lost_is_paid_once(node_url: str) -> None:
    async with Proxy(node_url) as proxy:
        with recording() as tape:
            async with connect(proxy.url, name="Ada") as client:
                table = await client.join(TABLE, buy_in=BUY_IN)
                await with_lost_answer(proxy, client.join(TABLE, buy_in=2_000))
                assert (table.mirror.stack, client.wallet) == (BUY_IN + 2_000, PLAY_MONEY - BUY_IN - 2_000)
                await table.leave()
                assert client.wallet == PLAY_MONEY
    assert len({request_id for _, request_id in tries_of(tape, "join", buy_in=2_000)}) == 1


async def test_a_leave_whose_answer_was_lost_leaves_no_seat_behind(node_url: str) -> None:
    """The client takes its seat again before it repeats the leave, and the leave gives that one up too."""
    async with Proxy(node_url) as proxy:
        with recording() as tape:
            async with connect(proxy.url, name="Ada") as client:
                table = await client.join(TABLE, buy_in=BUY_IN)
                left = await with_lost_answer(proxy, table.leave())
                assert (left.after_round, left.wallet, client.wallet) == (False, PLAY_MONEY, PLAY_MONEY)
                async with await RawClient.arrive(node_url, token=client.token) as raw:
                    assert raw.wallet == PLAY_MONEY
                    assert (await raw.call("watch", table=TABLE))["you"] is None
    tries = tries_of(tape, "leave")
    assert len({line for line, _ in tries}) >= 2
    assert len({request_id for _, request_id in tries}) == 1


async def test_a_leave_repeated_on_one_line_is_answered_the_same(arrive, node_url: str) -> None:
    client = await arrive(node_url, "Ann")
    await client.join(TABLE, BUY_IN)
    replies = [await client.call("leave", table=TABLE, request_id="leave-1") for _ in range(3)]
    assert replies[0]["wallet"] == PLAY_MONEY
    assert replies[1] == replies[2] == replies[0]
    assert (await client.ask("leave", table=TABLE))["name"] == "NOT_SEATED"
    client.joined.clear()
