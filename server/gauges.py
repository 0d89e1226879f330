"""What a node is at the moment, read for its gauges once a second: what counts up is counted where it happens."""

import asyncio
from collections import Counter
from typing import Final

from server import metrics
from server.doors import Doors
from server.gateway import Gateway
from server.hub import Hub
from server.jitter import jittered_s
from server.roster import Roster
from server.store.driver import Driver

LOOK_MS: Final = 1_000


class Gauges:
    """Reads a node's parts."""

    def __init__(self, gateway: Gateway, hub: Hub, roster: Roster, driver: Driver, doors: Doors) -> None:
        self._gateway = gateway
        self._hub = hub
        self._roster = roster
        self._driver = driver
        self._doors = doors
        self._refused_before: Counter[str] = Counter()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(jittered_s(LOOK_MS))

    def look(self) -> None:
        """Read everything once."""
        metrics.CONNECTIONS.set(len(self._gateway.connections()))
        metrics.READERS_BEHIND.set(self._hub.readers_behind)
        metrics.LEASES.set(self._roster.leases)
        metrics.LIVE_NODES.set(len(self._roster.live))
        metrics.STORE_UP.set(self._roster.is_alive)
        for server, offset_ms in self._driver.clock_offsets_ms().items():
            metrics.CLOCK_OFFSET.labels(server).set(offset_ms / 1000)
        for code, count in (self._doors.refused - self._refused_before).items():
            metrics.REFUSED_AT_THE_DOOR.labels(code).inc(count)
        self._refused_before = Counter(self._doors.refused)
