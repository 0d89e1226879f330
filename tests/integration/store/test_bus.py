"""The bus: rubbish is passed over, a broken line is told, and only what was subscribed comes."""

import asyncio
import logging
from collections.abc import AsyncIterator

import msgpack
import pytest
from redis.asyncio import Redis

from server.store import bus, keys
from server.store.bus import Envelope, Subscription
from server.store.driver import Driver
from server.store.errors import StoreAway
from server.store.tables import Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id

RUBBISH = [
    b"",
    b"\xc1",
    b"rubbish",
    b"\xff" * 2_000,
    b"\x91" * 5_000,
    b"\xdd\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    msgpack.packb(None),
    msgpack.packb(7),
    msgpack.packb([]),
    msgpack.packb(["event", "inc", 1]),
    msgpack.packb(["event", "inc", 1, b"", "more"]),
    msgpack.packb({"kind": 1, "incarnation": 2, "seq": 3, "body": 4}),
    msgpack.packb([1, "inc", 1, b""]),
    msgpack.packb(["event", None, 1, b""]),
    msgpack.packb(["event", "inc", "1", b""]),
    msgpack.packb(["event", "inc", 1.0, b""]),
    msgpack.packb(["event", "inc", float("inf"), b""]),
    msgpack.packb(["event", "inc", float("nan"), b""]),
    msgpack.packb(["event", "inc", 1, 5]),
    msgpack.packb(["event", "inc", 1, 2**62]),  # as a length of bytes this would be all memory there is
    msgpack.packb(["event", "inc", 1, [1, 2]]),
    msgpack.packb([b"\xff", "inc", 1, b""]),
    msgpack.packb(["event", b"\xff", 1, b""]),
    b"\xc7\x03\xff123",  # a timestamp of no possible length
]


@pytest.fixture
async def subscription(driver: Driver) -> AsyncIterator[Subscription]:
    opened = Subscription(driver)
    yield opened
    await opened.close()


async def next_of(subscription: Subscription) -> Envelope:
    return await asyncio.wait_for(subscription.next(), 5)


async def test_bl_095_rubbish_is_logged_and_passed_over(
    driver: Driver, raw: Redis, subscription: Subscription, caplog: pytest.LogCaptureFixture
) -> None:
    """BL-095: whatever is published on a table's channel, the next event still arrives."""
    table = fresh_id("t")
    await followed(driver, subscription, table)
    with caplog.at_level(logging.WARNING):
        for number, rubbish in enumerate(RUBBISH):
            await raw.spublish(keys.bus_channel(table), rubbish)
            await bus.publish(driver, table, "mark", str(number).encode())
            assert await next_of(subscription) == Envelope(table, "mark", "", 0, str(number).encode())
    assert [record.message for record in caplog.records] == ["rubbish_on_bus"] * len(RUBBISH)


async def followed(driver: Driver, subscription: Subscription, table: str) -> None:
    """Follow a table, and wait until the server knows: what is published goes over another line, and may be faster."""
    channel = keys.bus_channel(table)
    await subscription.add(table)
    async with asyncio.timeout(5):
        while not any((await driver.call_unkeyed(channel, "PUBSUB", "SHARDNUMSUB", channel))[1::2]):
            await asyncio.sleep(0.01)


async def test_only_what_is_followed_comes(driver: Driver, subscription: Subscription) -> None:
    mine, other, later = fresh_id("t"), fresh_id("t"), fresh_id("t")
    await followed(driver, subscription, mine)
    await bus.publish(driver, other, "mark", b"other")
    await bus.publish(driver, later, "mark", b"too soon")
    await followed(driver, subscription, later)
    await bus.publish(driver, later, "mark", b"now")
    assert await next_of(subscription) == Envelope(later, "mark", "", 0, b"now")
    await subscription.remove(later)
    await bus.publish(driver, later, "mark", b"too late")
    await bus.publish(driver, mine, "mark", b"mine")
    assert await next_of(subscription) == Envelope(mine, "mark", "", 0, b"mine")
    await subscription.remove(mine)
    await followed(driver, subscription, mine)
    await bus.publish(driver, mine, "mark", b"again")
    assert (await next_of(subscription)).body == b"again"


async def test_ids_of_any_kind_have_a_channel_of_their_own(driver: Driver, subscription: Subscription) -> None:
    odd = ["a:bus", "a", "{a}", "t:a", "*", "?", "[a]", "ä", "a b", "a%3Abus", "\n", "..", ""]
    for table in odd:
        await followed(driver, subscription, table)
    for table in odd:
        await bus.publish(driver, table, "mark", table.encode())
        assert await next_of(subscription) == Envelope(table, "mark", "", 0, table.encode())


@pytest.mark.parametrize("kill", ["pubsub", "all"])
async def test_bl_093_a_killed_subscription_says_so(
    driver: Driver, raw: Redis, subscription: Subscription, kill: str
) -> None:
    """BL-093, BL-096: it never stays silently deaf; a new one hears again."""
    table = fresh_id("t")
    await subscription.add(table)
    await bus.publish(driver, table, "mark", b"1")
    await next_of(subscription)
    for _ in range(5):
        await raw.client_kill_filter(_type="pubsub", skipme=True)
        if kill == "all":
            await raw.client_kill_filter(_type="normal", skipme=True)
        with pytest.raises(StoreAway):
            await next_of(subscription)
        await subscription.close()
        subscription = Subscription(driver)
        await subscription.add(table)
        await bus.publish(driver, table, "mark", b"2")
        assert (await next_of(subscription)).body == b"2"
    await subscription.close()


async def test_bl_097_subscriptions_come_and_go_without_a_trace(driver: Driver, raw: Redis) -> None:
    """BL-097: the store's list of clients is as long as before."""
    table = fresh_id("t")
    before = len(await raw.client_list())
    for _ in range(30):
        opened = Subscription(driver)
        await opened.add(table)
        await raw.client_kill_filter(_type="pubsub", skipme=True)
        with pytest.raises(StoreAway):
            await next_of(opened)
        await opened.close()
    async with asyncio.timeout(5):
        while len(await raw.client_list()) > before + 1:  # the driver keeps one to use again
            await asyncio.sleep(0.01)


async def test_giving_up_wakes_the_listener(subscription: Subscription) -> None:
    await subscription.add(fresh_id("t"))
    waiting = asyncio.create_task(next_of(subscription))
    await asyncio.sleep(0)
    subscription.give_up("deaf")
    with pytest.raises(StoreAway, match="deaf"):
        await waiting


async def test_events_come_in_the_order_in_which_the_store_decided(
    driver: Driver, tables: Tables, ledger: Ledger, subscription: Subscription
) -> None:
    """A table's stream and its channel tell the same story, whoever else publishes."""
    owner = await Owner.of_new_table(tables, ledger)
    await subscription.add(owner.table)
    await owner.seat("p", 1_000)
    noise = asyncio.gather(*(bus.publish(driver, owner.table, "crowd", b"") for _ in range(200)))
    for _ in range(3):
        await owner.open_betting()
        await owner.act("p", "place", "player", 25)
        await owner.end_round()
    await noise
    await bus.publish(driver, owner.table, "mark", b"")
    heard = []
    while (envelope := await next_of(subscription)).kind != "mark":
        if envelope.kind == "event":
            heard.append((envelope.seq, envelope.body))
    assert heard == await tables.events_after(owner.table, 0)
    assert [seq for seq, _ in heard] == list(range(1, owner.state.seq + 1))
