"""The fast road: what a table's scripts publish, as envelopes. The stream in `tables.events_after` is the truth.

An envelope is MessagePack [kind, incarnation, seq, body, at_ms]. Rubbish on a channel is dropped with a warning; it
never ends the listening. A broken subscription raises `StoreAway` to whoever listens, who then subscribes again and
repairs.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import msgpack
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from server.fair_loop import let_go_first
from server.store import keys
from server.store.driver import Driver, Translated
from server.store.errors import StoreAway, StoreError

log = logging.getLogger(__name__)
ENVELOPES_WAITING_MAX: Final = 10_000


class Envelope(NamedTuple):
    """One publication of a table. `body` is the event's bytes, or what the kind says in `lua/`. Kind `nodes` is about
    no table: the register of nodes has changed. `at_ms` is when it was committed, on the clock of the table's store (0:
    not told)."""

    table: str
    kind: str
    incarnation: str
    seq: int
    body: bytes
    at_ms: int = 0


class Subscription:
    """A subscriber of tables: one connection for each server that holds any of them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._tables: dict[bytes, str] = {}
        self._removed: Counter[bytes] = Counter()
        self._readers: dict[Redis, tuple[PubSub, asyncio.Task[None]]] = {}
        self._arrived: asyncio.Queue[Envelope | StoreAway] = asyncio.Queue(ENVELOPES_WAITING_MAX)

    async def add(self, table: str) -> None:
        """Follow a table. Raises `StoreAway`."""
        await self._subscribe(keys.bus_channel(table), table)

    async def add_nodes(self) -> None:
        """Follow the register of nodes. Raises `StoreAway`."""
        await self._subscribe(keys.NODES_CHANNEL, "")

    async def _subscribe(self, channel: str, table: str) -> None:
        client = await self._driver.client_of(channel)
        self._tables[channel.encode()] = table
        async with _line_may_break():
            if client in self._readers:
                await self._readers[client][0].ssubscribe(channel)
            else:
                pubsub = client.pubsub()
                await pubsub.ssubscribe(channel)
                line: Any = pubsub.connection
                let_go_first(line._writer.transport)
                self._readers[client] = (pubsub, asyncio.create_task(self._read(pubsub), name="bus"))

    async def remove(self, table: str) -> None:
        """Stop following a table. Raises `StoreAway`."""
        channel = keys.bus_channel(table)
        self._tables.pop(channel.encode(), None)
        client = await self._driver.client_of(channel)
        if client in self._readers:
            self._removed[channel.encode()] += 1
            async with _line_may_break():
                await self._readers[client][0].sunsubscribe(channel)

    async def next(self) -> Envelope:
        """Wait for what is published next. Raises `StoreAway` where a line broke or a table moved to another server."""
        arrived = await self._arrived.get()
        if isinstance(arrived, StoreAway):
            raise arrived
        return arrived

    def give_up(self, reason: str) -> None:
        """Make `next` raise: whoever listens has found out that nothing comes over this line any more."""
        try:
            self._arrived.put_nowait(StoreAway(reason))
        except asyncio.QueueFull:
            pass  # then something does come

    async def close(self) -> None:
        """Give the connections up."""
        for pubsub, task in self._readers.values():
            task.cancel()
            await asyncio.wait([task])
            with suppress(RedisError, OSError):
                await pubsub.aclose()  # type: ignore[no-untyped-call]
        self._readers.clear()

    async def _read(self, pubsub: PubSub) -> None:
        """Pass on what one server publishes, until its line breaks."""
        try:
            while True:
                with Translated():
                    message = await pubsub.get_message(timeout=None)
                if message is None:
                    continue
                if message["type"] == "sunsubscribe":
                    self._take_unsubscribed(message["channel"])
                if message["type"] == "smessage" and message["channel"] in self._tables:
                    envelope = _read(self._tables[message["channel"]], message["data"])
                    if envelope is not None:
                        await self._arrived.put(envelope)
        except StoreError as error:
            await self._arrived.put(error if isinstance(error, StoreAway) else StoreAway(str(error)))
        except Exception as error:  # whatever the driver meets on a broken line, the listening begins anew
            log.exception("bus_reader_failed")
            await self._arrived.put(StoreAway(f"{type(error).__name__} {error}"))

    def _take_unsubscribed(self, channel: bytes) -> None:
        """Tell the answer to a `remove` (it may be followed again by now) from a server that gave a table away."""
        if self._removed[channel]:
            self._removed -= Counter({channel: 1})
        elif channel in self._tables:
            raise StoreAway("a table moved to another server")


@asynccontextmanager
async def _line_may_break() -> AsyncIterator[None]:
    """Turn whatever the driver meets into ours. Where a write fails it connects again by itself and reads the answers
    beside the task that reads already, which asyncio refuses by a RuntimeError."""
    try:
        with Translated():
            yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreAway(f"{type(error).__name__} {error}") from error


async def publish(driver: Driver, table: str, kind: str, body: bytes) -> None:
    """Publish something unnumbered about a table (`crowd`, `private`). Raises `StoreAway`."""
    await driver.call("SPUBLISH", keys.bus_channel(table), msgpack.packb((kind, "", 0, body)))


def _read(table: str, payload: bytes) -> Envelope | None:
    try:
        match msgpack.unpackb(payload, raw=True):
            case [bytes(kind), bytes(incarnation), int(seq), bytes(body)]:
                return Envelope(table, kind.decode(), incarnation.decode(), seq, body)
            case [bytes(kind), bytes(incarnation), int(seq), bytes(body), int(at_ms)]:
                return Envelope(table, kind.decode(), incarnation.decode(), seq, body, at_ms)
    except (ValueError, TypeError, msgpack.UnpackException):
        pass
    log.warning("rubbish_on_bus", extra={"table": table, "bytes": len(payload)})
    return None
