"""The kinds of store that a node takes as `--store`, as real processes: one server, a primary with a replica and
Sentinels, a cluster. `store.url` is the flag's value; the rest is what an operator, a kernel or bad luck does.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

from redis.exceptions import RedisError

from tests.support.cluster_store import ClusterStore
from tests.support.valkey_server import KEPT, ValkeyServer, until

DOWN_AFTER_MS: Final = 1_000
"""A primary that is silent to its Sentinels for this long may be voted out."""
SERVICE: Final = "punto"


class Store(Protocol):
    """Any of the three kinds."""

    url: str

    async def start(self) -> Self:
        """Start everything and wait until it serves."""
        ...

    def stop(self) -> None:
        """End everything."""
        ...

    async def primary_of(self, key: str) -> ValkeyServer:
        """The server that takes writes of this key now."""
        ...

    async def primaries(self) -> Sequence[ValkeyServer]:
        """All servers that take writes now."""
        ...


class SingleStore:
    """One server over TCP."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT) -> None:
        self.server = ValkeyServer(directory / "single", settings)
        self.url = f"redis://{self.server.address}"

    async def start(self) -> Self:
        """Start it."""
        await self.server.start()
        return self

    def stop(self) -> None:
        """End it."""
        self.server.kill()

    async def primary_of(self, key: str) -> ValkeyServer:
        """The only one."""
        return self.server

    async def primaries(self) -> Sequence[ValkeyServer]:
        """The only one."""
        return (self.server,)


class SentinelStore:
    """A primary, a replica, and three Sentinels that watch them."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT) -> None:
        self.first = ValkeyServer(directory / "first", settings)
        self.second = ValkeyServer(directory / "second", {**settings, "replicaof": f"127.0.0.1 {self.first.port}"})
        self.sentinels = [_Sentinel(directory / f"sentinel{n}", self.first) for n in range(3)]
        addresses = ",".join(sentinel.address for sentinel in self.sentinels)
        self.url = f"redis+sentinel://{addresses}/{SERVICE}"

    async def start(self) -> Self:
        """Start all five and wait until they know each other."""
        for server in (self.first, self.second):
            server.launch()
        await self.first.ready()
        await until(lambda: _is_linked(self.second), "the replica is linked")
        for sentinel in self.sentinels:
            sentinel.launch()
        for sentinel in self.sentinels:
            await until(sentinel.knows_the_rest, f"{sentinel!r} knows the others")
        return self

    def stop(self) -> None:
        """End all five."""
        for server in (*self.sentinels, self.first, self.second):
            server.kill()

    async def primary(self) -> ValkeyServer:
        """The one that the Sentinels name."""
        port = await self._named_port()
        return self.first if self.first.port == port else self.second

    async def primary_of(self, key: str) -> ValkeyServer:
        """The one that the Sentinels name."""
        return await self.primary()

    async def primaries(self) -> Sequence[ValkeyServer]:
        """The one that the Sentinels name."""
        return (await self.primary(),)

    async def failed_over(self, lost: ValkeyServer) -> ValkeyServer:
        """Wait until the other one has been promoted; returns it."""

        async def is_promoted() -> ValkeyServer | None:
            now = await self.primary()
            return now if now is not lost and (await now.info("replication"))["role"] == "master" else None

        return cast("ValkeyServer", await until(is_promoted, "the replica is promoted", 30))

    async def come_back_as_replica(self, lost: ValkeyServer) -> None:
        """Start a server that was killed as the replica of the present primary, and wait until it has everything.

        On a busy machine the Sentinels may change their minds meanwhile: then it is the primary in the end.
        """
        primary = await self.primary()
        primary.settings.pop("replicaof", None)
        await lost.start(replicaof=f"127.0.0.1 {primary.port}")

        async def is_whole() -> bool:
            return await _is_linked(self.second if await self.primary() is self.first else self.first)

        await until(is_whole, "the replica is linked", 30)

    async def _named_port(self) -> int:
        for sentinel in self.sentinels:
            with suppress(RedisError, OSError):
                return int((await sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE))[1])
        raise AssertionError("no Sentinel answers")


class _Sentinel(ValkeyServer):
    """A process that watches a primary and decides with others."""

    def __init__(self, directory: Path, watched: ValkeyServer) -> None:
        super().__init__(directory, {}, is_sentinel=True)
        self._watched = watched
        self.settings = {"bind": "127.0.0.1"}

    def _sentinel_lines(self) -> list[str]:
        return [
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._watched.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 1000",
            f"sentinel parallel-syncs {SERVICE} 1",
        ]

    async def knows_the_rest(self) -> bool:
        """Whether it has heard of both others and of the replica."""
        told = _pairs(await self.ask("SENTINEL", "MASTER", SERVICE))
        return told["num-other-sentinels"] == "2" and told["num-slaves"] == "1"


async def _is_linked(replica: ValkeyServer) -> bool:
    return bool((await replica.info("replication")).get("master_link_status") == "up")


def _pairs(told: Any) -> dict[str, str]:
    """A reply of names and values, however this protocol version packs it."""
    pairs = told.items() if isinstance(told, dict) else zip(told[::2], told[1::2], strict=True)
    return {_text(name): _text(value) for name, value in pairs}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def kind_asked_for() -> str:
    """On which kind of store the tests are to run that can run on any: `make test STORE=...`; '' is each test's own."""
    kind = os.environ.get("PUNTO_TEST_STORE", "")
    assert kind in ("", *KINDS), f"STORE={kind}: one of {', '.join(KINDS)}"
    return kind


def new_store(kind: str, directory: Path, settings: Mapping[str, str] = KEPT) -> Store:
    """A store of this kind, not started yet."""
    return KINDS[kind](directory, settings)


@contextmanager
def store_asked_for(directory: Path) -> Iterator[dict[str, str]]:
    """The flags by which a node finds the kind of store that was asked for; none where its own will do."""
    if not (kind := kind_asked_for()):
        yield {}
        return
    store = new_store(kind, directory)
    try:
        asyncio.run(store.start())
        yield {"store": store.url}
    finally:
        store.stop()


KINDS: Final[Mapping[str, Callable[[Path, Mapping[str, str]], Store]]] = {
    "single": SingleStore,
    "sentinel": SentinelStore,
    "cluster": ClusterStore,
}


@asynccontextmanager
async def running_store(store: Store) -> AsyncIterator[Store]:
    """A store for the length of a block."""
    await store.start()
    try:
        yield store
    finally:
        store.stop()
