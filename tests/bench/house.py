"""The real service for a measurement: a node of its own on the bundled store, and the operator's hand on its tables."""

import asyncio
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

from server.store.bus import Subscription
from server.store.driver import Driver
from server.store.nodes import Nodes
from server.store.operating import Operating
from server.store.operator_acts import Signed
from server.store.tables import Tables
from tests.bench.process import cpu_us
from tests.support.node_process import NodeProcess
from tests.support.raw_client import TABLES

TABLE: Final = "punto-banco-1"
BUY_IN: Final = 100_000
CHANGE_S_MAX: Final = 60.0
REST_S: Final = 14.0
"""Longer than a buy-in is left alone (`server/cashier.py`) and its sweep takes to come."""
REST_S_MAX: Final = 90.0
REST_US_MAX: Final = 100_000
"""Of processor time in a second."""
SEATS_MAX: Final = 5_000
FLAGS: Final[dict[str, int | str]] = {
    "betting-ms": 300,
    "card-ms": 20,
    "result-ms": 50,
    "grace-ms": 600_000,
    "seats-max": SEATS_MAX,
    "maximum": 10_000,
    "tie-maximum": 10_000,
    "table-maximum": 0,
    "connections-max": 15_000,
    "node-opens-per-s": 10_000,
    "log-level": "warning",
}


class BenchHouse:
    """A node that runs, and the way to its store."""

    def __init__(self, node: NodeProcess, driver: Driver) -> None:
        self.node = node
        self.driver = driver
        self.tables = Tables(driver)
        self._operating = Operating(driver)

    def cpu_us(self) -> float:
        """What the node has used."""
        return cpu_us(self.node.pid)

    @cached_property
    def store_pid(self) -> int:
        """The process of the bundled store."""
        return self.node.children()[0]

    def store_cpu_us(self) -> float:
        """What the store has used."""
        return cpu_us(self.store_pid)

    async def until_at_rest(self) -> None:
        """Wait until the node has done what came of its newcomers: buy-ins are looked after some seconds later."""
        async with asyncio.timeout(REST_S_MAX):
            await asyncio.sleep(REST_S)
            used_us = REST_US_MAX + 1.0
            while used_us > REST_US_MAX:
                before_us = self.cpu_us()
                await asyncio.sleep(1)
                used_us = self.cpu_us() - before_us

    async def pause(self, table: str = TABLE) -> None:
        """Let no round begin after this one, and wait until it is over."""
        await self._operating.operate(table, Signed("bench"), "pause", mode="paused")
        async with asyncio.timeout(CHANGE_S_MAX):
            while (await self.tables.view(table, None, 0)).view.phase != "paused":
                await asyncio.sleep(0.05)

    async def resume(self, table: str = TABLE) -> None:
        """Let rounds begin again."""
        await self._operating.operate(table, Signed("bench"), "resume", mode="open")

    async def open_tables(self, count: int) -> tuple[str, ...]:
        """Open more tables of the same rules beside the house's own, so that there are so many; returns their names."""
        rules = (await self.tables.view(TABLE, None, 0)).view.rules
        names = [TABLE, *(name for name in TABLES if name != TABLE)]
        names += [f"bench-{number}" for number in range(count - len(names))]
        for name in names[len(TABLES) : count]:
            run_id = await Nodes(self.driver).run_id_of(name)
            await self.tables.create(name, rules, secrets.token_hex(8), run_id)
        return tuple(names[:count])

    async def note_published(self, names: Iterable[str], published: dict[bytes, float]) -> None:
        """Note, until cancelled, when each event is published, on the clock that the crowd reads too."""
        subscription = Subscription(self.driver)
        try:
            for name in names:
                await subscription.add(name)
            while True:
                envelope = await subscription.next()
                if envelope.kind == "event":
                    published[envelope.body] = time.monotonic()
        finally:
            await subscription.close()


@asynccontextmanager
async def house(module: str = "server.cli", **flags: int | str) -> AsyncIterator[BenchHouse]:
    """A house for the length of a block; flags by name with underscores, over `FLAGS`."""
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    with tempfile.TemporaryDirectory(prefix="punto-bench-") as directory:
        node = NodeProcess(Path(directory) / "data", flags={**FLAGS, **given}, module=module)
        await asyncio.to_thread(node.start)
        try:
            async with Driver(f"unix://{node.data / 'valkey.sock'}") as driver:
                yield BenchHouse(node, driver)
        finally:
            await asyncio.to_thread(node.stop)
            if os.environ.get("PUNTO_BENCH_VERBOSE"):
                print("".join(node.output))
