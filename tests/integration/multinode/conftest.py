"""Three nodes on one store for the whole run, and houses of a test's own for tests that kill something."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.support.house import House, HouseNode, opened
from tests.support.stores import Store, kind_asked_for, new_store

PACE = {"betting_ms": 400, "card_ms": 20, "result_ms": 60, "grace_ms": 1_500}
OpenHouse = Callable[..., AbstractAsyncContextManager[tuple[Store, House]]]


@pytest.fixture(scope="session")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[HouseNode]]:
    """Nodes that nobody may kill."""
    directory = tmp_path_factory.mktemp("house")
    store = new_store(kind_asked_for() or "single", directory)
    with ExitStack() as stack, asyncio.Runner() as runner:
        stack.callback(store.stop)
        runner.run(store.start())
        nodes = House(directory, store.url, 3, **PACE).nodes
        for node in nodes:
            stack.callback(node.kill)
            node.start()
        yield nodes


@pytest.fixture
def open_house(tmp_path: Path) -> OpenHouse:
    """`async with open_house(2, grace_ms=500) as (store, house)`: so many nodes and a store of one's own, of the kind
    that was asked for unless a test needs another."""

    @asynccontextmanager
    async def open_one(count: int, kind: str = "", **flags: int | str) -> AsyncIterator[tuple[Store, House]]:
        store = new_store(kind or kind_asked_for() or "single", tmp_path)
        async with opened(store, tmp_path, count, **{**PACE, **flags}) as house:
            yield store, house

    return open_one
