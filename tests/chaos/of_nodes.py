"""Nodes and workers that are killed, stopped, told to end or replaced, in a house in play."""

import asyncio
import os
import signal
from collections import Counter
from typing import Final

import msgpack

from client_sdk.protocol.errors import ErrorCode
from server.store import keys
from tests.chaos.stage import TABLES, Stage
from tests.chaos.tape import now_ms
from tests.chaos.watch import watching_owners
from tests.support.house import HouseNode

STOPPED_S: Final = 2.6
"""Longer than a lease and than the time after which a silent node counts as dead, together."""
BACK_MS_MAX: Final = 3_000
"""Within this time after it woke up a node's seats count as connected again."""
HANDOVER_MS_MAX: Final = 200
GOING_AWAY: Final = 4000
NO_FAULT_OF_THEIRS: Final = {code.name for code in ErrorCode if code >= 4000}
"""Not now, and faults of ours: what no patron may meet while nodes are replaced on purpose."""


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
        victim, _ = stage.some_owner()
        closes_before = stage.tape.closes(GOING_AWAY)
        sockets = await _sockets_of(stage, victim)
        async with watching_owners(stage.world.store, TABLES) as watch:
            tables = stage.owned_by(victim.name)  # it may have handed one over since it was chosen
            at_ms = now_ms()
            victim.signal(signal.SIGTERM)
            stage.struck(f"SIGTERM {victim.name}", tables, at_ms=at_ms)
            code = await victim.ended()
            stage.notes.setdefault("exit_ms", []).append(round(now_ms() - at_ms))
            await stage.calm(at_ms)
        gaps += [watch.ownerless_ms(table) for table in TABLES]
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


async def rolling_restart(stage: Stage) -> None:
    """One node after another is replaced, as an upgrade does it: no patron meets an error, no round is lost."""
    for node in stage.house.nodes:
        for _ in range(stage.repeats):
            await stage.some_moment()
            at_ms = now_ms()
            node.signal(signal.SIGTERM)
            stage.struck(f"SIGTERM {node.name}", stage.owned_by(node.name), at_ms=at_ms)
            code = await node.ended()
            stage.expect(code == 0, f"exit code {code} after SIGTERM: {node.output[-3:]}")
            await node.begin()
            stage.notes.setdefault("replaced_ms", []).append(round(now_ms() - at_ms))
            await stage.calm(at_ms)
    stage.expect(not stage.heard("round_voided"), "a round was voided")
    met = Counter(
        word.message["name"] for line in stage.tape.lines for word in line.got if word.message["type"] == "error"
    )
    stage.notes["refusals"] = dict(met)
    stage.expect(not met.keys() & NO_FAULT_OF_THEIRS, f"patrons met {dict(met)}")


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
