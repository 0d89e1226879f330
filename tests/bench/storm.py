"""A node dies (`kill -9`) and all its seats come back to the other one: how soon all are seated, and what others feel.

Two nodes on one store, tables in play with seats at both nodes. Those of the node that dies come back as the SDK does
(`returning.py`). Until all are back: the way of each event to the seats that were not touched, and how late the tables
that the other node has owned all along keep their deadlines.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack
from redis.asyncio import Redis

from server.store import keys
from server.store.driver import Driver
from tests.bench.crowded import lateness_ms
from tests.bench.figures import percentile
from tests.bench.house import BUY_IN, FLAGS, BenchHouse
from tests.bench.process import CrowdProcess, crowd
from tests.bench.returning import ReturningCrowd
from tests.chaos.measures import steps
from tests.chaos.tape import Word
from tests.support.node_process import NodeProcess
from tests.support.stores import SingleStore

CARD_MS: Final = 500
PACE: Final[dict[str, int | str]] = {"betting-ms": 4_000, "card-ms": CARD_MS, "result-ms": 2_000}
OPENED_AT_ONCE: Final = 400
OPEN_STEP_S: Final = 1.0
"""Between so many: the doors of a node are not to be the limit before the storm."""
START_STEP_S: Final = 0.3
QUIET_S: Final = 5.0
"""Watched before the storm, for comparison."""
WATCHED_S_MIN: Final = 3.0
"""Watched after the death, however soon all are back."""


class Storm(NamedTuple):
    """What was seen. `calm_p99_ms` is the same way of events before the storm."""

    back_s: float
    events_p99_ms: float
    calm_p99_ms: float
    deadline_late_ms: float


async def measure(seats: int, untouched: int, tables: int, **flags: int) -> Storm:
    """Fill both nodes, kill one, and watch until everybody is back. `flags` of the nodes by name with underscores."""
    async with crowd() as watching, crowd(ReturningCrowd) as returning, _two_nodes(flags) as (at, dying, url):
        names = await at.open_tables(tables)
        for name in names:
            await at.pause(name)
        await _fill(watching, "untouched", at.node, untouched, names)
        await _fill(returning, "returning", dying, seats, names)
        for name in names:
            await at.resume(name)
            await asyncio.sleep(START_STEP_S)
        published: dict[bytes, float] = {}
        noting = asyncio.create_task(at.note_published(names, published))
        try:
            await watching.call("track", group="untouched")
            await asyncio.sleep(QUIET_S)
            calm, _ = await watching.call("tracked", group="untouched")
            owners = await _owners(url, names)
            await watching.call("track", group="untouched")
            await returning.call("come_back", group="returning", port=at.node.port)
            before_us, began_s = at.cpu_us(), time.monotonic()
            await asyncio.to_thread(dying.kill)
            told = await returning.call("until_back", seats=seats)
            used_s, took_s = (at.cpu_us() - before_us) / 1e6, time.monotonic() - began_s
            await asyncio.sleep(max(0.0, WATCHED_S_MIN - took_s))
            arrivals, _ = await watching.call("tracked", group="untouched")
            stayed = {name for name, owner in (await _owners(url, names)).items() if owner == owners[name]}
        finally:
            noting.cancel()
            with suppress(asyncio.CancelledError):
                await noting
        lost = (await watching.call("count", group="untouched"))["lost"]
        assert not lost, f"{lost} seats of the other node were dropped"
        assert len(told["back_s"]) == seats, f"{len(told['back_s'])} of {seats} seats are back: {told['met']}"
    back_s = [at_s - began_s for at_s in told["back_s"]]
    late_ms = [0.0, *_late_ms(published, stayed, began_s, began_s + max(took_s, WATCHED_S_MIN))]
    calm_ms, storm_ms = lateness_ms(calm, published), lateness_ms(arrivals, published)
    found = Storm(back_s[-1], percentile(storm_ms, 0.99), percentile(calm_ms, 0.99), max(late_ms))
    print(
        f"    {seats} seats back after {back_s[-1]:.1f} s (half {percentile(back_s, 0.5):.1f}, 99 % "
        f"{percentile(back_s, 0.99):.1f}); events p99 {found.events_p99_ms:.0f} ms (before {found.calm_p99_ms:.0f}); of"
        f" {len(late_ms) - 1} deadlines at {len(stayed)} tables the latest {max(late_ms):.0f} ms late; "
        f"the node had {used_s:.1f} of {took_s:.1f} s; {told['met']}",
        file=sys.stderr,
        flush=True,
    )
    return found


@asynccontextmanager
async def _two_nodes(flags: Mapping[str, int]) -> AsyncIterator[tuple[BenchHouse, NodeProcess, str]]:
    """The node that stays, the one that dies, and their store's address."""
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    with tempfile.TemporaryDirectory(prefix="punto-bench-") as directory:
        store = SingleStore(Path(directory))
        nodes: list[NodeProcess] = []
        try:
            await store.start()
            for number in (1, 2):
                node_flags = {**FLAGS, **PACE, "node-opens-per-s": 600, **given, "store": store.url}
                nodes.append(NodeProcess(Path(directory) / f"node{number}", flags=node_flags))
                await asyncio.to_thread(nodes[-1].start)
            async with Driver(store.url) as driver:
                yield BenchHouse(nodes[0], driver), nodes[1], store.url
        finally:
            for node in nodes:
                await asyncio.to_thread(node.stop)
                if os.environ.get("PUNTO_BENCH_VERBOSE"):
                    print("".join(node.output))
            store.stop()


async def _fill(lines: CrowdProcess, group: str, node: NodeProcess, seats: int, names: tuple[str, ...]) -> None:
    for start in range(0, seats, OPENED_AT_ONCE):
        count = min(OPENED_AT_ONCE, seats - start)
        took_s = await lines.call(
            "open", group=group, kind="seat", port=node.port, count=count, tables=names, buy_in=BUY_IN
        )
        await asyncio.sleep(max(0.0, OPEN_STEP_S - took_s))


async def _owners(url: str, names: Sequence[str]) -> dict[str, Any]:
    async with Redis.from_url(url) as raw:
        return {name: await raw.hget(keys.table_key(name), "owner") for name in names}


def _late_ms(published: Mapping[bytes, float], names: set[str], from_s: float, to_s: float) -> list[float]:
    """How late each step of these tables was published in this time."""
    wall_ms = (time.time() - time.monotonic()) * 1000
    words: dict[str, list[Word]] = {name: [] for name in names}
    for body, at_s in published.items():
        event = msgpack.unpackb(body)
        if event["table"] in names:
            words[event["table"]].append(Word(at_s * 1000 + wall_ms, event))
    return [
        step.late_ms
        for of_table in words.values()
        for step in steps(of_table, CARD_MS)
        if from_s <= (step.at_ms - wall_ms) / 1000 <= to_s
    ]
