"""What a node keeps of tables that nobody follows any more, and what a bet costs late in a shoe."""

from typing import Any, cast

from redis.asyncio import Redis, RedisCluster

from server.hub import Hub
from server.outlet import Outlet
from server.store.driver import Driver
from server.store.tables import Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id
from tests.support.table_rules import rules_of

TABLES = 150
ROUNDS = 40


class Follower:
    """A connection as far as a hub sees it."""

    def __init__(self) -> None:
        self.id = fresh_id("c")
        self.patron = fresh_id("p")
        self.outlet = cast(Outlet, None)


async def test_tables_that_nobody_follows_are_forgotten(driver: Driver, tables: Tables, raw: Any) -> None:
    """BL-115: opened, followed, left by the hundred: no feed is kept, no channel is listened to."""
    hub = Hub(driver, tables, lambda _: None, lambda: None)

    async def channels() -> list[bytes]:
        if isinstance(raw, RedisCluster):
            found = [await one.execute_command("PUBSUB", "SHARDCHANNELS") for one in raw.get_primaries()]
        else:
            found = [await raw.execute_command("PUBSUB", "SHARDCHANNELS")]
        return [channel for some in found for channel in some]

    before = len(await channels())
    for _ in range(TABLES):
        table, follower = fresh_id("t"), Follower()
        await tables.create(table, rules_of(), "inc", "run")
        await hub.attach(follower, table, None, None, is_seated=False)
        hub.detach(follower, table, asked_for_seat=False)
    assert len(await channels()) - before > TABLES // 2, "they were listened to"
    await hub._close_empty_feeds()
    assert repr(hub) == "<Hub tables=0 listeners=0>"
    assert len(await channels()) == before
    await hub._subscription.close()


async def test_a_bet_costs_as_much_at_the_end_of_a_shoe(tables: Tables, ledger: Ledger, raw: Redis) -> None:
    """BL-118: the store does exactly as many things for an act in a late round as in an early one."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("ann", 10_000)

    async def cost() -> dict[str, int]:
        await raw.config_resetstat()
        assert (await owner.act("ann", "place", "player", 10)).code == "ok"
        stats: Any = await raw.info("commandstats")
        return {
            name: stat["calls"]
            for name, stat in stats.items()
            if not name.startswith(("cmdstat_info", "cmdstat_config"))
        }

    costs = []
    for _ in range(ROUNDS):
        await owner.open_betting()
        costs.append(await cost())
        await owner.end_round()
    assert costs[-1] == costs[2]
