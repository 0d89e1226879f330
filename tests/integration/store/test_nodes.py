"""The register of nodes, and what the store tells of itself."""

from redis.asyncio import Redis

from server.store import keys
from server.store.driver import Driver
from server.store.nodes import SILENT_MS, Nodes
from server.store.tables import Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id


async def silence(raw: Redis, node: str, for_ms: int) -> None:
    """Let a node have given its last sign so long ago."""
    last_ms = await raw.zscore(keys.NODES, node)
    assert isinstance(last_ms, float)
    await raw.zadd(keys.NODES, {node: last_ms - for_ms})


async def test_a_node_lives_as_long_as_it_gives_signs(driver: Driver, raw: Redis) -> None:
    nodes = Nodes(driver)
    first = await nodes.heartbeat("a")
    assert (first.was_unknown, first.live) == (True, ("a",))
    seconds, micros = await raw.time()
    assert abs(first.now_ms - (int(seconds) * 1000 + int(micros) // 1000)) < 5_000
    second = await nodes.heartbeat("b")
    assert (second.was_unknown, sorted(second.live)) == (True, ["a", "b"])
    assert not (await nodes.heartbeat("a")).was_unknown
    await silence(raw, "a", SILENT_MS + 1)
    assert (await nodes.heartbeat("b")).live == ("b",)
    woken = await nodes.heartbeat("a")
    assert (woken.was_unknown, sorted(woken.live)) == (True, ["a", "b"])
    await nodes.forget("b")
    await nodes.forget("never seen")
    assert (await nodes.heartbeat("a")).live == ("a",)


async def test_a_slow_sign_of_its_own_makes_no_node_dead(driver: Driver, raw: Redis) -> None:
    nodes = Nodes(driver)
    await nodes.heartbeat("a")
    await silence(raw, "a", 60_000)
    assert (await nodes.heartbeat("a")).live == ("a",)


async def test_what_a_store_says_of_its_writes(driver: Driver, raw: Redis) -> None:
    """It keeps every write only with an append-only file that is written before each answer."""
    nodes, table = Nodes(driver), fresh_id("t")
    assert await nodes.run_id_of(table) == await nodes.run_id_of(fresh_id("t"))
    assert not await nodes.keeps_every_write(table)  # the tests' own does not wait for the disk
    await raw.config_set("appendfsync", "always")
    try:
        assert await nodes.keeps_every_write(table)
    finally:
        await raw.config_set("appendfsync", "no")


async def test_an_owner_notes_in_which_run_of_the_store_the_table_lives(
    driver: Driver, tables: Tables, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    claimed = await tables.claim(owner.table, owner.lease.node, 1_000)
    assert (claimed.run_id, claimed.rollback, claimed.lease.incarnation) == ("run", False, "inc")
    await tables.adopt_store(owner.table, claimed.lease, "run-2", "", rollback=False)
    again = await tables.claim(owner.table, owner.lease.node, 1_000)
    assert (again.run_id, again.rollback, again.lease.incarnation) == ("run-2", False, "inc")
    await tables.adopt_store(owner.table, again.lease, "run-3", "inc-3", rollback=True)
    heir = await tables.claim(owner.table, owner.lease.node, 1_000)
    assert (heir.run_id, heir.rollback, heir.lease.incarnation) == ("run-3", True, "inc-3")
    assert (await tables.view(owner.table)).view.incarnation == "inc-3"
    await tables.adopt_store(owner.table, heir.lease, "run-3", "", rollback=False)
    answered = await tables.claim(owner.table, owner.lease.node, 1_000)
    assert (answered.rollback, answered.lease.incarnation) == (False, "inc-3")
