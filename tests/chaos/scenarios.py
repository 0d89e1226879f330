"""What is done to a house in play. Each scenario strikes and says what must have come of it; that nothing was lost,
doubled or told out of order is checked after each of them by `checker.py`, and need not be said here.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import msgpack

from server.store import keys
from tests.chaos.stage import TABLES, Plot, Stage
from tests.chaos.tape import now_ms
from tests.chaos.watch import watching_owners
from tests.support.house import HouseNode
from tests.support.stores import EVERYSEC, KEPT, run

STOPPED_S: Final = 2.6
"""Longer than a lease and than the time after which a silent node counts as dead, together."""
BACK_MS_MAX: Final = 3_000
"""Within this time after it woke up a node's seats count as connected again."""
HANDOVER_MS_MAX: Final = 200
TAKEOVER_MS_MAX: Final = 2_000
OUTAGE_MS_MIN: Final = 500
LEFT_MS_MIN: Final = 400
"""A table that had so much betting time left when the store stopped must get its time back: an owner that had less may
not have noticed before the deadline."""
GOING_AWAY: Final = 4000


_NODES: Final = Plot()
_WORKERS: Final = Plot(workers=2)
_CLUSTER: Final = Plot(store="cluster", nodes=2, confirm_replicas=1)
_SENTINEL: Final = Plot(store="sentinel", nodes=2, confirm_replicas=1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is played where. `repeats` in the long form and in the short one. `loses_acts`, `loses_claims`: see
    `Evidence`."""

    name: str
    play: Callable[[Stage], Awaitable[None]]
    plot: Plot = _NODES
    repeats: tuple[int, int] = (5, 1)
    patrons: tuple[int, int] = (40, 20)
    buy_in: int | None = None
    """What each patron sits down with; where the store is set back, enough for the whole run: a buy-in that it forgets
    is no fault."""
    loses_acts: bool = False
    loses_claims: bool = False
    takes_any_store: bool = False
    commit_ms_max: int | None = None
    """Within this time after the fault a new owner has made its first commit."""
    ends_patrons: bool = False
    """Whether patrons can't be expected to come through it."""

    def on(self, store: str) -> "Scenario":
        """The same on another kind of store, where it may be any; '' leaves it where it is."""
        if not store or not self.takes_any_store:
            return self
        return replace(self, plot=replace(self.plot, store=store))


# --- nodes ------------------------------------------------------------------------------------------------------------


async def node_killed(stage: Stage) -> None:
    """kill -9 of a node that owns tables; it comes back when the others have gone on."""
    for _ in range(stage.repeats):
        await stage.some_moment()
        victim, tables = stage.some_owner()
        at_ms = now_ms()
        victim.kill()
        stage.struck(f"kill -9 {victim.name}", tables, at_ms=at_ms)
        await stage.calm(at_ms)
        await victim.begin()


async def owner_stopped(stage: Stage) -> None:
    """SIGSTOP of an owner for longer than its lease: others take over, and it must drop its tables when it wakes up."""
    for _ in range(stage.repeats):
        await stage.some_moment()
        victim, tables = stage.some_owner()
        lost_before = len(victim.said("table_lost")) + len(victim.said("table_paused"))
        at_ms = now_ms()
        victim.pause()
        stage.struck(f"SIGSTOP {victim.name}", tables, at_ms=at_ms)
        await asyncio.sleep(STOPPED_S)
        woke_ms = now_ms()
        victim.go_on()
        others = [node for node in stage.house.nodes if node is not victim]
        taken = {claim.table for node in others for claim in node.claims() if at_ms < claim.at_ms < woke_ms}
        stage.expect(taken >= set(tables), f"{sorted(set(tables) - taken)} had no new owner when the old one woke up")

        async def all_seats_back() -> bool:
            assert stage.patrons is not None
            return await stage.connected_seats() == stage.patrons.fleet.tally.seats

        if await stage.until(all_seats_back, "the seats of the node that woke up are back"):
            stage.expect_within(now_ms() - woke_ms, BACK_MS_MAX, "the seats of the node that woke up are back")
        await stage.calm(woke_ms)
        lost = len(victim.said("table_lost")) + len(victim.said("table_paused")) - lost_before
        stage.expect(lost >= len(tables), f"the node that woke up gave up {lost} of {len(tables)} tables")


async def node_terminated(stage: Stage) -> None:
    """SIGTERM under load: every table is handed over, every socket is told to come back, nobody loses a round."""
    gaps: list[float] = []
    for _ in range(stage.repeats):
        await stage.some_moment()
        victim, tables = stage.some_owner()
        closes_before = stage.tape.closes(GOING_AWAY)
        sockets = await _sockets_of(stage, victim)
        async with watching_owners(stage.world.store, TABLES) as watch:
            at_ms = now_ms()
            victim.signal(signal.SIGTERM)
            stage.struck(f"SIGTERM {victim.name}", tables, at_ms=at_ms)
            code = await victim.ended()
            stage.notes.setdefault("exit_ms", []).append(round(now_ms() - at_ms))
            await stage.calm(at_ms)
        gaps += [watch.ownerless_ms(table) for table in tables]
        stage.expect(code == 0, f"exit code {code} after SIGTERM")
        told = stage.tape.closes(GOING_AWAY) - closes_before
        stage.expect(told >= sockets, f"{told} of {sockets} sockets were told to come back")
        await victim.begin()
    stage.notes["ownerless_ms_max"] = round(max(gaps))
    stage.expect_within(max(gaps), HANDOVER_MS_MAX, "a table was without an owner")
    stage.expect(not stage.heard("round_voided"), "a round was voided")


async def _sockets_of(stage: Stage, victim: HouseNode) -> int:
    """How many patrons sit at this node."""
    found = 0
    for table in TABLES:
        key = keys.table_key(table)
        server = await stage.world.store.primary_of(key)
        seats = await server.ask("HVALS", f"{key}:seats")
        found += sum(msgpack.unpackb(seat)["node"] == victim.node_id for seat in seats)
    return found


async def all_nodes_terminated(stage: Stage) -> None:
    """SIGTERM of every node at once, as a host does that goes down; then all start again."""
    await stage.some_moment()
    at_ms = now_ms()
    for node in stage.house.nodes:
        node.signal(signal.SIGTERM)
    codes = await asyncio.gather(*(node.ended() for node in stage.house.nodes))
    stage.expect(set(codes) == {0}, f"exit codes {codes}")
    await asyncio.gather(*(node.begin() for node in stage.house.nodes))
    stage.struck("SIGTERM of all, started again", at_ms=at_ms, over_ms=now_ms())
    await stage.calm()


async def workers_replaced(stage: Stage) -> None:
    """SIGHUP of a supervisor: one worker after another is replaced, and no seat notices more than a reconnect."""
    (supervisor,) = stage.house.nodes
    for _ in range(stage.repeats):
        before = set(supervisor.workers().values())
        await stage.some_moment()
        at_ms = now_ms()
        supervisor.signal(signal.SIGHUP)
        stage.struck("SIGHUP", at_ms=at_ms)

        async def all_new(before: set[int] = before) -> bool:
            now = set(supervisor.workers().values())
            return len(now) == len(before) and not now & before

        await stage.until(all_new, "all workers are new ones", 40)
        stage.notes.setdefault("replaced_ms", []).append(round(now_ms() - at_ms))
        await stage.calm()
    stage.expect(not stage.heard("round_voided"), "a round was voided")


async def workers_killed(stage: Stage) -> None:
    """kill -9 of a worker, again and again; the supervisor starts it again."""
    (supervisor,) = stage.house.nodes
    for _ in range(stage.repeats):
        await stage.some_moment()
        workers = supervisor.workers()
        number = stage.chance.choice(sorted(workers))
        at_ms = now_ms()
        os.kill(workers[number], signal.SIGKILL)
        stage.struck(f"kill -9 of worker {number}", stage.owned_by(f"{supervisor.name}/{number}"), at_ms=at_ms)

        async def complete(killed: int = workers[number], count: int = len(workers)) -> bool:
            alive = supervisor.workers().values()
            return len(alive) == count and killed not in alive

        await stage.calm(at_ms)
        await stage.until(complete, "the worker was started again")


# --- the store --------------------------------------------------------------------------------------------------------


async def store_killed(stage: Stage) -> None:
    """kill -9 of a store that writes before it answers: nothing is lost, no round is void."""
    server = stage.world.single.server
    incarnations = await _incarnations(stage)
    for _ in range(stage.repeats):
        await stage.some_moment()
        at_ms = now_ms()
        server.kill()
        await asyncio.sleep(stage.chance.uniform(0.1, 1.5))
        await server.start()
        stage.struck("kill -9 of the store, started again", at_ms=at_ms, over_ms=now_ms())
        await stage.calm()
    stage.expect(not stage.heard("round_voided"), "a round was voided though nothing can have been lost")
    stage.expect(await _incarnations(stage) == incarnations, "an incarnation changed though nothing can have been lost")


async def store_stopped(stage: Stage) -> None:
    """SIGSTOP of the store: tables pause, and get their betting time back; acts are answered late or told "not now"."""
    server = stage.world.single.server
    for number in range(stage.repeats):
        await stage.some_moment()
        await stage.while_betting(LEFT_MS_MIN)
        before = {table: words[-1].message for table, words in stage.tape.firsts.items()}
        at_ms = now_ms()
        server.pause()
        await asyncio.sleep((2.0, 4.5)[number % 2])
        over_ms = now_ms()
        server.go_on()
        stage.struck(f"store stopped for {over_ms - at_ms:.0f} ms", at_ms=at_ms, over_ms=over_ms)
        await stage.calm(over_ms)
        extended = {event["table"]: event for event in stage.heard("betting_extended", at_ms)}
        for table, event in before.items():
            closes_at_ms = event.get("closes_at_ms", 0)  # only where bets were taken
            if closes_at_ms > at_ms + LEFT_MS_MIN:
                given = extended[table]["closes_at_ms"] - closes_at_ms if table in extended else 0
                stage.expect(
                    given >= over_ms - at_ms - OUTAGE_MS_MIN,
                    f"{table}: {given} ms of betting time came back after {over_ms - at_ms:.0f} ms without a store",
                )
                stage.notes["extended"] = stage.notes.get("extended", 0) + (given > 0)
    stage.expect(not stage.heard("round_voided"), "a round was voided")


async def store_emptied(stage: Stage) -> None:
    """The store comes back without any data: it is said loudly, tables begin a new life, and nothing is made up."""
    server = stage.world.single.server
    incarnations = await _incarnations(stage)
    await stage.some_moment()
    at_ms = now_ms()
    server.kill()
    server.forget_data()
    await server.start()
    stage.struck("store restarted empty", at_ms=at_ms, over_ms=now_ms())

    async def all_anew() -> bool:
        found = await _incarnations(stage)
        return all(found[table] not in ("", before) for table, before in incarnations.items())

    await stage.until(all_anew, "every table was opened anew", 10)
    stage.expect(
        {_field(line, "table") for line in stage.house.said("table_lost_and_opened_anew")} == set(TABLES),
        "the loss of every table was not told in the log",
    )

    async def all_see_it() -> bool:
        seen = {
            (view.number, word.message["table"])
            for view in stage.tape.lines
            for word in view.got
            if word.at_ms > at_ms and word.message["type"] == "snapshot"
        }
        return len({table for _, table in seen}) == len(TABLES)

    await stage.until(all_see_it, "the seats got snapshots of the new life", 10)
    for line in stage.tape.lines:
        for word in line.got:
            if word.at_ms > at_ms and word.message["type"] == "snapshot":
                view = word.message["snapshot"]
                stage.expect(view["you"] is None, "a seat was made up")
                stage.expect((view["round"], view["dealt"]) in ((0, []), (1, [])), f"a round was made up: {view}")


async def store_rolled_back(stage: Stage) -> None:
    """The store comes back as it was some rounds before: a new incarnation, snapshots, the open round void, its shoe
    revealed."""
    server = stage.world.single.server
    first = stage.chance.randrange(2)
    for at in range(stage.repeats):
        # One that may lose a second says so; one that says it keeps everything may still be given an older copy.
        server.settings |= (EVERYSEC, KEPT)[(first + at) % 2]
        await stage.some_moment()
        incarnations = await _incarnations(stage)
        before = await _positions(stage)
        copy = server.copy_of_data()
        copied = {table: now for table, now in (await _positions(stage)).items() if now == before[table]}
        await asyncio.sleep(stage.chance.uniform(0.3, 2.0))
        at_ms = now_ms()
        server.kill()
        server.put_data_back(copy)
        await server.start()
        stage.struck(f"store set back, appendfsync {server.settings['appendfsync']}", at_ms=at_ms, over_ms=now_ms())
        await stage.calm()
        now = await _incarnations(stage)
        for table in TABLES:
            stage.expect(now[table] != incarnations[table], f"{table} kept its incarnation")
        for table, (phase, number, seq) in copied.items():
            news = [event for event in await stage.stream(table) if event["seq"] > int(seq)]
            if phase in ("betting", "dealing"):
                kinds = [(event["type"], event.get("round", event.get("shoe"))) for event in news[:3]]
                is_void = kinds[:2] == [("round_voided", int(number)), ("round_settled", int(number))]
                stage.expect(is_void and kinds[2][0] == "shoe_ended", f"{table} round {number} ({phase}): {kinds}")
                stage.expect(news[2].get("reason") == "store_rolled_back", f"{table}: {news[2]}")
                stage.notes["voided"] = stage.notes.get("voided", 0) + 1
    stage.expect(len(stage.house.said("store_rolled_back")) >= len(TABLES), "the loss was not told in the log")
    server.settings |= KEPT
    await server.ask("CONFIG", "SET", "appendfsync", KEPT["appendfsync"])


async def subscribers_killed(stage: Stage) -> None:
    """The nodes' subscriptions are cut again and again: nothing is missed, and no connection is left behind."""
    server = stage.world.single.server
    before = len(await server.ask("CLIENT LIST"))
    at_ms = now_ms()
    for _ in range(stage.repeats):
        await asyncio.sleep(stage.chance.uniform(0.15, 0.5))
        killed = await server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        stage.notes["killed"] = stage.notes.get("killed", 0) + killed
    stage.struck("CLIENT KILL TYPE pubsub, again and again", at_ms=at_ms, over_ms=now_ms())
    await stage.calm()
    after = len(await server.ask("CLIENT LIST"))
    stage.notes["connections"] = f"{before} -> {after}"
    stage.expect(after <= before + 6, f"{before} connections to the store have become {after}")
    channels = await server.ask("PUBSUB", "SHARDNUMSUB", *(keys.bus_channel(table) for table in TABLES))
    counts = [value for value in channels if isinstance(value, int)]
    stage.expect(min(counts) >= 1, f"not every table has a subscriber: {channels}")


RUBBISH: Final[tuple[bytes, ...]] = (
    b"",
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\x93\xa5event",
    b"\x81" * 2_000,
    b"\x91" * 5_000 + b"\xc0",
    msgpack.packb(7),
    msgpack.packb(["event", "", 1]),
    msgpack.packb([None, None, None, None]),
    msgpack.packb(["event", "no such life", 10**9, b"x"]),
    msgpack.packb(["event", "no such life", -1, b""]),
    msgpack.packb(["alive", "no such life", 3, b""]),
    msgpack.packb(["results", "", 0, b"\xc1"]),
    msgpack.packb(["results", "", 0, msgpack.packb([[1, 2, 3]])]),
    msgpack.packb(["results", "", 0, b"\xdd\xff\xff\xff\xff"]),
    msgpack.packb(["private", "", 0, msgpack.packb([1, 2])]),
    msgpack.packb(["private", "", 0, msgpack.packb([[[], {}]])]),
    msgpack.packb(["private", "", 0, b""]),
    msgpack.packb(["seat", "", 0, msgpack.packb([1])]),
    msgpack.packb(["seat", "", 0, msgpack.packb({"a": 1})]),
    msgpack.packb(["nudge", "", 0, b"\xff\xfe"]),
    msgpack.packb(["no such kind", "", 0, b""]),
)


async def rubbish_published(stage: Stage) -> None:
    """Rubbish on every channel in use: dropped, and the next event still arrives."""
    server = stage.world.single.server
    at_ms = now_ms()
    pids = [node.pid for node in stage.house.nodes]
    async with server.admin() as admin:
        for _ in range(stage.repeats):
            for table in TABLES:
                for payload in stage.chance.sample(RUBBISH, len(RUBBISH)):
                    await run(admin, "SPUBLISH", keys.bus_channel(table), payload)
                await asyncio.sleep(0.01)
    stage.struck("rubbish on every channel", at_ms=at_ms, over_ms=now_ms())
    await stage.calm()
    stage.expect([node.pid for node in stage.house.running] == pids, "a node ended over it")
    stage.expect(len(stage.house.said("rubbish_on_bus")) > 0, "the log does not tell of it")
    stage.expect(not stage.house.said("bus_lost"), "a listener broke over it")


# --- replicas ---------------------------------------------------------------------------------------------------------


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
    stage.notes["voided"] = len(stage.heard("round_voided"))


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
    stage.notes["voided"] = len(stage.heard("round_voided"))


async def _positions(stage: Stage) -> dict[str, list[str]]:
    return {table: await stage.table_fields(table, "phase", "round", "seq") for table in TABLES}


async def _incarnations(stage: Stage) -> dict[str, str]:
    return {table: (await stage.table_fields(table, "incarnation"))[0] for table in TABLES}


def _field(line: str, name: str) -> str:
    return next((word.partition("=")[2] for word in line.split() if word.startswith(f"{name}=")), "")


_ALL: Final = (
    Scenario("node_killed", node_killed, takes_any_store=True, commit_ms_max=TAKEOVER_MS_MAX),
    Scenario("owner_stopped", owner_stopped, repeats=(3, 1), takes_any_store=True, commit_ms_max=TAKEOVER_MS_MAX),
    Scenario("node_terminated", node_terminated, takes_any_store=True),
    Scenario("all_nodes_terminated", all_nodes_terminated, takes_any_store=True),
    Scenario("store_killed", store_killed, repeats=(4, 1)),
    Scenario("store_stopped", store_stopped, repeats=(4, 1)),
    Scenario("subscribers_killed", subscribers_killed, repeats=(30, 5)),
    Scenario("rubbish_published", rubbish_published, repeats=(5, 1)),
    Scenario(
        "store_rolled_back",
        store_rolled_back,
        repeats=(3, 1),
        buy_in=500_000,
        loses_acts=True,
        loses_claims=True,
    ),
    Scenario("store_emptied", store_emptied, patrons=(10, 10), loses_acts=True, loses_claims=True, ends_patrons=True),
    Scenario("workers_replaced", workers_replaced, _WORKERS, repeats=(2, 1), takes_any_store=True),
    Scenario(
        "workers_killed",
        workers_killed,
        _WORKERS,
        repeats=(8, 1),
        takes_any_store=True,
        commit_ms_max=TAKEOVER_MS_MAX,
    ),
    Scenario("slot_moved", slot_moved, _CLUSTER, repeats=(4, 1)),
    Scenario("cluster_primary_killed", cluster_primary_killed, _CLUSTER, repeats=(3, 1), loses_claims=True),
    Scenario("sentinel_primary_killed", sentinel_primary_killed, _SENTINEL, repeats=(3, 1), loses_claims=True),
)
SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType({scenario.name: scenario for scenario in _ALL})
