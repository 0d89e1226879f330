"""The fast road: what a table's scripts publish, as envelopes. The stream in `tables.events_after` is the truth.

An envelope is MessagePack [kind, incarnation, seq, body]. Rubbish on a channel is dropped with a warning; it never ends
the listening. A broken subscription raises `StoreAway` to whoever listens, who then subscribes again and repairs.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgpack

from server.store import keys
from server.store.driver import Driver, translated

log = logging.getLogger(__name__)


class Envelope(NamedTuple):
    """One publication of a table. `body` is the event's bytes, or what the kind says in `lua/`."""

    table: str
    kind: str
    incarnation: str
    seq: int
    body: bytes


class Subscription:
    """A subscriber of tables on one connection of its own."""

    def __init__(self, driver: Driver) -> None:
        self._pubsub = driver.pubsub()
        self._tables: dict[bytes, str] = {}
        self._is_connected = asyncio.Event()

    async def add(self, table: str) -> None:
        """Follow a table. Raises `StoreAway`."""
        channel = keys.bus_channel(table)
        self._tables[channel.encode()] = table
        async with translated():
            await self._pubsub.ssubscribe(channel)
        self._is_connected.set()

    async def remove(self, table: str) -> None:
        """Stop following a table. Raises `StoreAway`."""
        channel = keys.bus_channel(table)
        self._tables.pop(channel.encode(), None)
        async with translated():
            await self._pubsub.sunsubscribe(channel)

    async def envelopes(self, patience_ms: int) -> AsyncIterator[Envelope | None]:
        """Yield what is published, and None after each `patience_ms` of silence. Raises `StoreAway` when the line
        breaks."""
        await self._is_connected.wait()
        while True:
            async with translated():
                message = await self._pubsub.get_message(timeout=patience_ms / 1000)
            if message is None:
                yield None
            elif message["type"] == "smessage" and message["channel"] in self._tables:
                envelope = _read(self._tables[message["channel"]], message["data"])
                if envelope is not None:
                    yield envelope

    async def close(self) -> None:
        """Give the connection up."""
        async with translated():
            await self._pubsub.aclose()  # type: ignore[no-untyped-call]


async def publish(driver: Driver, table: str, kind: str, body: bytes) -> None:
    """Publish something unnumbered about a table (`crowd`, `private`). Raises `StoreAway`."""
    await driver.call("SPUBLISH", keys.bus_channel(table), msgpack.packb((kind, "", 0, body)))


def _read(table: str, payload: bytes) -> Envelope | None:
    try:
        kind, incarnation, seq, body = msgpack.unpackb(payload, raw=True)
        return Envelope(table, kind.decode(), incarnation.decode(), int(seq), bytes(body))
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
        log.warning("rubbish_on_bus", extra={"table": table, "bytes": len(payload)})
        return None
