"""Which server holds which key: one Redis, the primary behind Sentinels, or the primaries of a cluster.

Every shard is reached through a plain client whose retries are off: a command is run again only where the server said
that it has not run it. Its pool raises where no connection is free; the driver sees to it that one is. The cluster
client of the library is used for what it knows about the cluster, not to run commands: it would retry them.
"""

import asyncio
from contextlib import suppress
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from redis.asyncio import ConnectionPool, Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from server.store.errors import StoreAway

CONNECT_TIMEOUT_MS: Final = 2_000
"""Sixty connections at once, each with its greeting, need more than one second on a machine that is busy."""
UNREADABLE: Final = "--store: the URL can't be read: is its host or port not right?"
CONNECTIONS_MAX: Final = 96
"""To one server: for `driver.CALLS_MAX` calls at once, the line of a `Sender`, subscriptions, and those that are being
closed."""


class Shards(Protocol):
    """The servers of one store."""

    def client_of(self, key: str) -> Redis:
        """Give the client of the shard that holds `key`. Raises `StoreAway` while that is not known."""
        ...

    def client_at(self, host: str, port: int) -> Redis:
        """Give the client of one server, which another has named."""
        ...

    def clients(self) -> list[Redis]:
        """Give the clients of all servers that hold keys. Raises `StoreAway` while they are not known."""
        ...

    async def refresh(self) -> None:
        """Look again who holds what. Raises `StoreAway`."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


def open_shards(url: str, call_timeout_ms: int) -> Shards:
    """Prepare the connections to a store; nothing is opened yet.

    `redis://`, `rediss://`, `unix://`; `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE`; `redis+cluster://HOST:PORT,HOST:PORT`
    (a user and password before an @ where needed). Raises ValueError where the URL can't be read.
    """
    options = _options(call_timeout_ms)
    scheme = url.partition("://")[0]
    try:
        return _shards(scheme, url, options)
    except ValueError as error:
        # what the libraries say of a URL quotes parts of it, which may be a password
        raise error if str(error).startswith("--store: ") else ValueError(UNREADABLE) from None


def _shards(scheme: str, url: str, options: dict[str, Any]) -> Shards:
    match scheme:
        case "redis+sentinel":
            return _Sentinels(url, options)
        case "redis+cluster":
            return _Cluster(url, options)
        case "redis" | "rediss" | "unix":
            return _Single(url, options)
        case _:
            raise ValueError("--store: no such kind of store (see --help for those there are)")


def _options(call_timeout_ms: int) -> dict[str, Any]:
    return {
        "socket_timeout": call_timeout_ms / 1000,
        "socket_connect_timeout": CONNECT_TIMEOUT_MS / 1000,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 3,
    }


class _Single:
    """One server."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._client = Redis.from_pool(ConnectionPool.from_url(url, max_connections=CONNECTIONS_MAX, **options))

    def client_of(self, key: str) -> Redis:
        return self._client

    def client_at(self, host: str, port: int) -> Redis:
        raise StoreAway(f"a single store named another server, {host}:{port}: is it part of a cluster?")

    def clients(self) -> list[Redis]:
        return [self._client]

    async def refresh(self) -> None:
        await _drop_idle(self._client)

    async def close(self) -> None:
        await _close(self._client)


class _Sentinels:
    """The primary of a service, as the Sentinels name it."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        parts = _Parts(url, default_port=26_379)
        if not parts.path:
            raise ValueError("--store: redis+sentinel://HOST:PORT/SERVICE needs the name of the service")
        sentinel_options = {name: value for name, value in options.items() if name.startswith(("socket_", "retry"))}
        self._sentinel = Sentinel(parts.hosts, sentinel_kwargs=sentinel_options)  # type: ignore[no-untyped-call]
        self._pool = SentinelConnectionPool(  # type: ignore[no-untyped-call]
            parts.path, self._sentinel, max_connections=CONNECTIONS_MAX, **parts.credentials, **options
        )
        self._client = Redis.from_pool(self._pool)

    def client_of(self, key: str) -> Redis:
        return self._client

    def client_at(self, host: str, port: int) -> Redis:
        raise StoreAway(f"a store behind Sentinel named another server, {host}:{port}")

    def clients(self) -> list[Redis]:
        return [self._client]

    async def refresh(self) -> None:
        """Drop the connections to what was the primary; the next ones ask the Sentinels."""
        await _drop_idle(self._client)

    async def close(self) -> None:
        await _close(self._client)
        for sentinel in self._sentinel.sentinels:
            await _close(sentinel)


class _Cluster:
    """The primaries of a cluster, as the cluster tells them."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        parts = _Parts(url, default_port=6_379)
        self._options = {**options, **parts.credentials}
        self._topology = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in parts.hosts],
            require_full_coverage=False,
            **self._options,
        )
        self._clients: dict[tuple[str, int], Redis] = {}
        self._is_known = False
        self._looking = asyncio.Lock()

    def client_of(self, key: str) -> Redis:
        if not self._is_known:
            raise StoreAway("the cluster was not reached yet")
        try:
            node = self._topology.get_node_from_key(key)
        except RedisClusterException as error:
            raise StoreAway(str(error)) from error
        if node is None:
            raise StoreAway("no server of the cluster holds this key")
        return self.client_at(node.host, int(node.port))

    def client_at(self, host: str, port: int) -> Redis:
        client = self._clients.get((host, port))
        if client is None:
            pool = ConnectionPool(host=host, port=port, max_connections=CONNECTIONS_MAX, **self._options)
            client = Redis.from_pool(pool)
            self._clients[(host, port)] = client
        return client

    def clients(self) -> list[Redis]:
        if not self._is_known:
            raise StoreAway("the cluster was not reached yet")
        return [self.client_at(node.host, int(node.port)) for node in self._topology.get_primaries()]

    async def refresh(self) -> None:
        async with self._looking:
            try:
                await self._topology.nodes_manager.initialize()
            except (RedisError, RedisClusterException, OSError) as error:
                raise StoreAway(str(error)) from error
            self._is_known = True
            primaries = {(node.host, int(node.port)) for node in self._topology.get_primaries()}
            for address in self._clients.keys() - primaries:
                await _close(self._clients.pop(address))
            for client in self._clients.values():
                await _drop_idle(client)

    async def close(self) -> None:
        for kind in ("nodes_cache", "startup_nodes"):  # its own `aclose` does nothing where it ran no command
            with suppress(RedisError, RedisClusterException, OSError):
                await self._topology.nodes_manager.aclose(kind)
        for client in self._clients.values():
            await _close(client)


class _Parts:
    """Hosts, credentials and path of a store's URL that names several servers."""

    def __init__(self, url: str, default_port: int) -> None:
        parsed = urlsplit(url)
        credentials, _, addresses = parsed.netloc.rpartition("@")
        user, _, password = credentials.rpartition(":") if ":" in credentials else ("", "", credentials)
        self.credentials = {"username": unquote(user) or None, "password": unquote(password) or None}
        self.path = parsed.path.strip("/")
        self.hosts = [_address(address, default_port) for address in addresses.split(",")]


def _address(text: str, default_port: int) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(default_port))
    if not host or not port.isdecimal():
        raise ValueError(UNREADABLE)
    return host, int(port)


async def _drop_idle(client: Redis) -> None:
    """Drop the connections that nobody uses: each of them may be as dead as the one that was found so, and one that was
    reset shows that only to the call that it fails. Out of the pool first: its own `disconnect` would close one that is
    handed out meanwhile."""
    pool = client.connection_pool
    idle, pool._available_connections = pool._available_connections, []
    for connection in idle:
        with suppress(RedisError, OSError):
            await connection.disconnect()


async def _close(client: Redis) -> None:
    """Close a client that is not wanted any more; what its connections still meet does not matter."""
    with suppress(RedisError, OSError):
        await client.aclose()
        await client.connection_pool.disconnect()
