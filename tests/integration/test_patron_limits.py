"""Limits of one's own, from the wire: by the SDK, by a stranger's client, and by the operator."""

import asyncio

import pytest

import client_sdk
from client_sdk import Spot, messages
from client_sdk.exceptions import Excluded, LossLimit, StakeLimit
from tests.support.node_process import NodeProcess
from tests.support.operator import punto_server
from tests.support.raw_client import JSON, RawClient

TABLES = ("royal-1", "punto-banco-1")


async def lay(table: client_sdk.Table, amount: int) -> None:
    """Lay a chip in a round that has time left."""
    for _ in range(20):
        async for event in table:
            if isinstance(event, messages.BettingOpened):
                break
        try:
            await table.place(Spot.PLAYER, amount)
            return
        except (client_sdk.exceptions.BettingClosed, client_sdk.exceptions.RoundOver):
            continue
    raise AssertionError("no round was open for long enough")


async def test_a_patron_s_limits_hold_over_two_tables_and_a_reminder_comes(node: NodeProcess) -> None:
    notices: list[object] = []
    async with client_sdk.connect(node.url, name="Lim", buy_in=10_000, on_notice=notices.append) as client:
        one, two = [await client.join(table) for table in TABLES]
        assert (await client.limits()).own == messages.LimitValues()
        now = await client.set_limits(stake_per_day=1_100, reminder_ms=700)
        assert (now.own.stake_per_day, now.staked, now.reminder_ms) == (1_100, 0, 700)
        await lay(one, 500)
        await lay(two, 500)
        with pytest.raises(StakeLimit):
            await lay(one, 500)
        await lay(one, 100)
        with pytest.raises(StakeLimit):
            await lay(two, 100)
        looser = await client.set_limits(stake_per_day=5_000)
        assert looser.next is not None
        assert (looser.own.stake_per_day, looser.next.stake_per_day, looser.staked) == (1_100, 5_000, 1_100)
        async with asyncio.timeout(10):
            while not notices:
                await asyncio.sleep(0.05)
        assert isinstance(notices[0], messages.SessionReminder)
        assert notices[0].played_ms >= 600
        patron = client.patron
        shown = await punto_server("limits", "show", *node.place, "--patron", patron, "--json")
        assert (shown.told["own_stake"], shown.told["staked_today"]) == (1_100, 1_100)
        await punto_server("limits", "set", *node.place, "--patron", patron, "--exclude-ms", "60000")
        with pytest.raises(Excluded):
            await lay(one, 100)
        with pytest.raises(Excluded):
            await client.join(TABLES[0], buy_in=100)
        await punto_server("limits", "set", *node.place, "--patron", patron, "--exclude-ms", "0")
        async with client_sdk.connect(node.url, token=client.token) as again:  # another line, the same limits
            assert (await again.limits()).own.stake_per_day == 1_100
        for table in (one, two):
            await table.leave()


async def test_a_loss_limit_that_the_house_sets_is_told_and_held(node: NodeProcess) -> None:
    async with client_sdk.connect(node.url, name="Lou", buy_in=10_000) as client:
        words = ("limits", "set", *node.place, "--patron", client.patron, "--loss-per-day", "100")
        assert (await punto_server(*words)).code == 0
        table = await client.join(TABLES[0])
        with pytest.raises(LossLimit):
            await lay(table, 500)
        await lay(table, 100)
        limits = await client.limits()
        assert (limits.house.loss_per_day, limits.own.loss_per_day) == (100, None)
        await table.leave()


async def test_strange_limits_are_refused(node: NodeProcess) -> None:
    async with await RawClient.arrive(node.url, "Odd", subprotocol=JSON) as client:
        for fields in ({"stake_per_day": -1}, {"session_ms": 1.5}, {"exclude_ms": 10**13}, {"reminder_ms": True}):
            assert (await client.ask("set_limits", **fields))["name"] == "BAD_FIELD", fields
        assert (await client.call("set_limits"))["own"]["stake_per_day"] is None
    ended = await punto_server("limits", "set", *node.place, "--patron", "nobody", "--loss-per-day", "1")
    assert (ended.code, "no such patron" in ended.err) == (1, True)
