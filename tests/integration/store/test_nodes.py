"""The register of nodes, and what the store tells of itself."""

import asyncio

import pytest
from redis.asyncio import Redis

from server.store import keys
from server.store.bus import Envelope, Subscription
from server.store.driver import Driver
from server.store.nodes import SILENT_MS, Nodes, SettingsDiffer
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


async def test_a_node_that_stops_tells_the_others(driver: Driver) -> None:
    """It is out of the register when the news comes."""
    nodes, subscription = Nodes(driver), Subscription(driver)
    for node in ("a", "b"):
        await nodes.heartbeat(node)
    await subscription.add_nodes()
    await subscription.add_nodes()  # as after a line that broke
    await nodes.forget("a")
    async with asyncio.timeout(5):
        assert await subscription.next() == Envelope("", "nodes", "", 0, b"")
    assert "a" not in (await nodes.heartbeat("b")).live
    await subscription.close()


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


# --- settings that must agree -----------------------------------------------------------------------------------------

OURS = {"currency": '"PTO"'}


async def differences(nodes: Nodes, node: str, of_nodes: dict[str, str], of_store: dict[str, str] = OURS) -> list[str]:
    """What keeps this node from joining, as words."""
    with pytest.raises(SettingsDiffer) as differ:
        await nodes.join(node, of_store, of_nodes, accepts_others=False)
    assert "\n" not in str(differ.value)
    return [str(difference) for difference in differ.value.differences]


async def test_nodes_that_live_must_agree(driver: Driver, raw: Redis) -> None:
    nodes, theirs = Nodes(driver), {"card_ms": "10", "minimum": "5"}
    await nodes.join("a", OURS, theirs, accepts_others=False)
    await nodes.join("b", OURS, {"card_ms": "10", "newer_option": "1"}, accepts_others=False)
    assert await differences(nodes, "c", {"card_ms": "20", "minimum": "5"}) == [
        "card_ms is 20, but node a runs by 10",
        "card_ms is 20, but node b runs by 10",
    ]
    assert sorted((await nodes.heartbeat("a")).live) == ["a", "b"]  # who was refused is not in the register
    await nodes.join("c", OURS, {"card_ms": "20"}, accepts_others=True)
    assert sorted((await nodes.heartbeat("a")).live) == ["a", "b", "c"]
    for node in ("a", "b"):
        await silence(raw, node, SILENT_MS + 1)
    await nodes.join("d", OURS, {"card_ms": "20"}, accepts_others=False)  # the dead are not asked
    assert set(await raw.hkeys(keys.NODE_SETTINGS)) == {b"", b"c", b"d"}
    await nodes.forget("c")
    assert set(await raw.hkeys(keys.NODE_SETTINGS)) == {b"", b"d"}


async def test_the_store_keeps_what_it_was_opened_with(driver: Driver, raw: Redis) -> None:
    nodes = Nodes(driver)
    await nodes.join("a", OURS, {}, accepts_others=False)
    await nodes.forget("a")
    euro = {"currency": '"EUR"', "exponent": "2"}
    told = await differences(nodes, "b", {}, euro)
    assert told == ['currency is "EUR", but this store was opened with "PTO"']
    with pytest.raises(SettingsDiffer):
        await nodes.join("b", euro, {}, accepts_others=True)
    await nodes.join("b", {**OURS, "exponent": "2"}, {}, accepts_others=False)  # an option that is new to the store
    assert len(await differences(nodes, "c", {}, {"exponent": "0"})) == 1
