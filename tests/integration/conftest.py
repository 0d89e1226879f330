"""Real parts for integration tests: a node in its own process, an embedded Valkey for store tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_process import NodeProcess, running_node
from tests.support.raw_client import RawClient
from tests.support.stores import store_asked_for


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """One open node with short times for the whole run; a test that kills or changes it starts its own."""
    data = tmp_path_factory.mktemp("node")
    with store_asked_for(data / "store") as store, running_node(data, **store) as running:
        yield running


@pytest.fixture(scope="session")
def node_url(node: NodeProcess) -> str:
    """Where that node listens."""
    return node.url


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A directory for a node of the test's own."""
    return tmp_path / "data"


@pytest.fixture
async def arrive() -> AsyncIterator[Callable[..., Awaitable[RawClient]]]:
    """`await arrive(url, name, ...)`: a raw client that has said hello; afterwards all of them get up and go."""
    clients: list[RawClient] = []

    async def come(url: str, name: str = "Ann", **how: Any) -> RawClient:
        client = await RawClient.arrive(url, name, **how)
        clients.append(client)
        return client

    yield come
    await asyncio.gather(*(client.leave_everywhere() for client in clients))


@pytest.fixture(scope="session")
def brisk_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A second shared node with rounds of less than half a second, for tests of many rounds."""
    flags = {"betting_ms": 300, "card_ms": 10, "result_ms": 50}
    data = tmp_path_factory.mktemp("brisk")
    with store_asked_for(data / "store") as store, running_node(data, **flags, **store) as running:
        yield running.url


@pytest.fixture(scope="session")
def hasty_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A third shared node: two seats at a table, and a lost seat waits for less than a second."""
    flags = {"betting_ms": 300, "card_ms": 10, "result_ms": 50, "grace_ms": 700, "seats_max": 2}
    data = tmp_path_factory.mktemp("hasty")
    with store_asked_for(data / "store") as store, running_node(data, **flags, **store) as running:
        yield running.url
