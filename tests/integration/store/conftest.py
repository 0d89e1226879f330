"""A real Valkey for the tests of the store; each test has tables and patrons of its own in it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest
from redis.asyncio import Redis, RedisCluster

from server.cashier import Cashier
from server.embedded import EmbeddedValkey
from server.store import driver as driver_module
from server.store import sender
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.integration.store.checks import Ledger
from tests.integration.store.faults import FaultyDriver
from tests.support.stores import Store, kind_asked_for, new_store
from tests.support.valkey_server import KEPT

PATIENCE_MS = 20_000
"""What a test does hundreds of times at once may take its time beside other tests; limits are tried with drivers of
their own."""
ABOUT_ONE_SERVER = ("test_bus.py", "test_driver.py", "test_keys.py", "test_nodes.py")
"""These disturb, count or listen to the bundled server."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about one server where another kind of store was asked for."""
    if kind_asked_for():
        for item in items:
            if item.path.parent.name == "store" and item.path.name in ABOUT_ONE_SERVER:
                item.add_marker(pytest.mark.skip(reason="about one server"))


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    """The bundled server, without waiting for the disk: what survives a power cut is tested elsewhere."""
    with asyncio.Runner() as runner:
        server = EmbeddedValkey(tmp_path_factory.mktemp("store"))
        runner.run(server.start())
        try:
            runner.run(_do_not_wait_for_the_disk(server.url))
            yield server
        finally:
            runner.run(server.stop())


async def _do_not_wait_for_the_disk(url: str) -> None:
    async with Redis.from_url(url) as raw:
        await raw.config_set("appendfsync", "no")


@pytest.fixture(scope="session")
def big_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store | None]:
    """A store of the kind that was asked for, if another than the bundled server was."""
    if not (kind := kind_asked_for()):
        yield None
        return
    store = new_store(kind, tmp_path_factory.mktemp(kind), {**KEPT, "appendfsync": "no"})
    with asyncio.Runner() as runner:
        try:
            runner.run(store.start())
            yield store
        finally:
            store.stop()


@pytest.fixture(scope="session")
def store_url(big_store: Store | None, request: pytest.FixtureRequest) -> str:
    if big_store is not None:
        return big_store.url
    valkey: EmbeddedValkey = request.getfixturevalue("valkey")
    return valkey.url


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hundreds of calls wait for their turn, however slow the machine is."""
    monkeypatch.setattr(driver_module, "PLACE_WAIT_MS", PATIENCE_MS)
    monkeypatch.setattr(sender, "WAIT_MS_MAX", PATIENCE_MS)


@pytest.fixture
async def driver(store_url: str) -> AsyncIterator[Driver]:
    async with Driver(store_url, call_timeout_ms=PATIENCE_MS) as opened:
        yield opened


@pytest.fixture
async def raw(store_url: str, big_store: Store | None) -> AsyncIterator[Redis]:
    """The driver's own client, for looking at keys and for what an operator does; the store is empty at first."""
    async with await _client_of(store_url, big_store) as client:
        await client.flushall()
        yield client


async def _client_of(store_url: str, big_store: Store | None) -> Redis:
    if big_store is None:
        return Redis.from_url(store_url)
    (*_, primary) = await big_store.primaries()
    if kind_asked_for() == "cluster":
        return cast("Redis", _WholeCluster(host="127.0.0.1", port=primary.port))
    return Redis(host="127.0.0.1", port=primary.port)


class _WholeCluster(RedisCluster):
    """A client of every server of a cluster: one of them tells the time, all of them are set."""

    async def time(self, **_: Any) -> tuple[int, int]:
        seconds, micros = await self.execute_command("TIME", target_nodes=self.get_random_node())
        return int(seconds), int(micros)

    async def config_set(self, name: Any, value: Any, *_: Any, **__: Any) -> Any:
        return await self.execute_command("CONFIG SET", name, value, target_nodes=RedisCluster.PRIMARIES)


@pytest.fixture
def tables(driver: Driver) -> Tables:
    return Tables(driver)


@pytest.fixture
def wallets(driver: Driver) -> Wallets:
    return Wallets(driver)


@pytest.fixture
def cashier(tables: Tables, wallets: Wallets) -> Cashier:
    return Cashier(tables, wallets)


@pytest.fixture
def ledger(raw: Redis) -> Ledger:
    """Adds up the money."""
    return Ledger(raw)


@pytest.fixture
def ledgers(driver: Driver) -> Ledgers:
    return Ledgers(driver)


@pytest.fixture
async def faulty(store_url: str) -> AsyncIterator[FaultyDriver]:
    async with FaultyDriver(store_url) as opened:
        yield opened
