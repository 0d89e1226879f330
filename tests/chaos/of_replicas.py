"""Slots that move and primaries that are lost, under a house whose money acts wait for a replica."""

from server.store import keys
from tests.chaos.stage import TABLES, Stage
from tests.chaos.tape import now_ms


async def slot_moved(stage: Stage) -> None:
    """A table's slot moves to another primary and back while it is played at."""
    cluster = stage.world.cluster
    for _ in range(stage.repeats):
        table = stage.chance.choice(TABLES)
        home = await cluster.primary_of(keys.table_key(table))
        away = stage.chance.choice([member for member in await cluster.primaries() if member is not home])
        await stage.some_moment()
        at_ms = now_ms()
        await cluster.move_slot_key_by_key(keys.table_key(table), away)
        stage.struck(f"slot of {table} moved key by key", [table], at_ms=at_ms, over_ms=now_ms())
        await stage.calm(at_ms)
        await stage.some_moment()
        at_ms = now_ms()
        await cluster.move_slot_at_once(keys.table_key(table), home)
        stage.struck(f"slot of {table} moved back at once", [table], at_ms=at_ms, over_ms=now_ms())
        await stage.calm(at_ms)


async def cluster_primary_killed(stage: Stage) -> None:
    """kill -9 of a primary; its replica is voted in. What was acknowledged was on the replica too."""
    cluster = stage.world.cluster
    for _ in range(stage.repeats):
        lost = await cluster.primary_of(keys.table_key(stage.chance.choice(TABLES)))
        touched = [table for table in TABLES if await cluster.primary_of(keys.table_key(table)) is lost]
        await stage.some_moment()
        at_ms = now_ms()
        lost.kill()
        await cluster.failed_over(lost)
        stage.notes.setdefault("failover_ms", []).append(round(now_ms() - at_ms))
        stage.struck("primary killed and failed over", touched, at_ms=at_ms, over_ms=now_ms())
        await cluster.come_back_as_replica(lost)  # from now on acts can be confirmed again
        await stage.calm()
    stage.notes["voided"] = await _voided(stage)


async def sentinel_primary_killed(stage: Stage) -> None:
    """kill -9 of the primary; the Sentinels promote its replica. What was acknowledged was on the replica too."""
    store = stage.world.sentinel
    for _ in range(stage.repeats):
        lost = await store.primary()
        await stage.some_moment()
        at_ms = now_ms()
        lost.kill()
        await store.failed_over(lost)
        stage.notes.setdefault("failover_ms", []).append(round(now_ms() - at_ms))
        stage.struck("primary killed and failed over", at_ms=at_ms, over_ms=now_ms())
        await store.come_back_as_replica(lost)
        await stage.calm()
    stage.notes["voided"] = await _voided(stage)


async def _voided(stage: Stage) -> int:
    """How many rounds the tables' histories call void; seats may know of it from a snapshot alone."""
    return sum([event["type"] == "round_voided" for table in TABLES for event in await stage.stream(table)])
