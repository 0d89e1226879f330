"""What waits for all slow readers together is bounded: the slowest are closed first, and only as many as it takes."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server import gateway
from server.doors import Doors
from server.gateway import Gateway
from server.settings import DoorLimits


class Reader:
    """A connection with so many bytes waiting for it."""

    def __init__(self, name: str, waiting_bytes: int) -> None:
        self.id = name
        self.patron = name
        self.outlet = SimpleNamespace(waiting_bytes=waiting_bytes, is_full=False, is_closing=False)
        self.is_cut = False
        self.connection = self
        """Its own socket as well."""

    def cut(self) -> None:
        self.is_cut = self.outlet.is_closing = True


async def test_past_the_bound_the_slowest_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "TEND_MS", 1)
    doors = Doors(DoorLimits(outbox_bytes_max=4_096, outboxes_bytes_max=10_000))
    door = Gateway(cast(Any, SimpleNamespace(doors=doors, node_id="n")), lambda: True, lambda: False)
    readers = {name: Reader(name, waiting) for name, waiting in {"a": 100, "b": 6_000, "c": 5_000, "d": 0}.items()}
    door._connections = cast(Any, readers)
    door._held_back = cast(Any, {reader for reader in readers.values() if reader.outlet.waiting_bytes})
    tending = asyncio.create_task(door.tend())
    async with asyncio.timeout(5):
        while not readers["b"].is_cut:
            await asyncio.sleep(0.001)
    tending.cancel()
    await asyncio.wait([tending])
    assert [name for name, reader in readers.items() if reader.is_cut] == ["b"]
    assert doors.refused["SLOW_READER"] == 1
