"""A real Valkey for the tests of the store; each test has tables and patrons of its own in it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from server.cashier import Cashier
from server.embedded import EmbeddedValkey
from server.store.driver import Driver
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.integration.store.checks import Ledger


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
def store_url(valkey: EmbeddedValkey) -> str:
    return valkey.url


@pytest.fixture
async def driver(store_url: str) -> AsyncIterator[Driver]:
    async with Driver(store_url) as opened:
        yield opened


@pytest.fixture
async def raw(store_url: str) -> AsyncIterator[Redis]:
    """The driver's own client, for looking at keys and for what an operator does; the store is empty at first."""
    async with Redis.from_url(store_url) as client:
        await client.flushall()
        yield client


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
