"""A table's clock: read once for many, never before it was asked for."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.store.driver import Driver
from server.store.errors import Refused
from server.store.tables import Tables
from server.table_clocks import TableClocks
from tests.integration.store.checks import fresh_id
from tests.support.table_rules import rules_of

ASKERS = 100


class HeldTables(Tables):
    """Tables of a real store whose views wait at a gate; counts them."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self.gate = asyncio.Event()
        self.views = 0

    async def view(self, *args: Any, **how: Any) -> Any:
        self.views += 1
        await self.gate.wait()
        return await super().view(*args, **how)


@pytest.fixture
def held(driver: Driver) -> HeldTables:
    return HeldTables(driver)


@pytest.fixture
async def clocks(held: HeldTables) -> AsyncIterator[TableClocks]:
    clocks = TableClocks(held)
    yield clocks
    assert repr(clocks) == "<TableClocks under_way=0 next=0>", "nothing is kept"
    await clocks.close()


@pytest.fixture
async def table(tables: Tables) -> str:
    name = fresh_id("t")
    await tables.create(name, rules_of(), "inc", "run")
    return name


def ask(clocks: TableClocks, table: str, times: int) -> "list[asyncio.Task[int]]":
    return [asyncio.create_task(clocks.at_ms(table)) for _ in range(times)]


async def test_all_who_ask_in_one_moment_share_a_reading(clocks: TableClocks, held: HeldTables, table: str) -> None:
    held.gate.set()
    answers = await asyncio.gather(*ask(clocks, table, ASKERS))
    assert (len(answers), len(set(answers)), held.views) == (ASKERS, 1, 1)


async def test_who_asks_during_a_reading_gets_the_next_one(clocks: TableClocks, held: HeldTables, table: str) -> None:
    (first,) = ask(clocks, table, 1)
    while not held.views:
        await asyncio.sleep(0)
    later = ask(clocks, table, ASKERS)
    await asyncio.sleep(0.02)
    assert held.views == 1, "the next reading begins behind the one under way"
    held.gate.set()
    at_ms = await first
    answers = set(await asyncio.gather(*later))
    assert len(answers) == 1
    assert at_ms <= answers.pop()
    assert held.views == 2


async def test_tables_do_not_wait_for_each_other(clocks: TableClocks, held: HeldTables, table: str) -> None:
    asking = [*ask(clocks, table, 2), *ask(clocks, fresh_id("t"), 2)]
    await asyncio.sleep(0.01)
    assert held.views == 2
    held.gate.set()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(answer) for answer in answers] == [int, int, Refused, Refused]


async def test_who_goes_away_takes_nobody_elses_answer_along(clocks: TableClocks, held: HeldTables, table: str) -> None:
    gone, stays = ask(clocks, table, 2)
    await asyncio.sleep(0.01)
    gone.cancel()
    held.gate.set()
    assert await stays > 0
    assert gone.cancelled()


async def test_closed_while_it_reads(clocks: TableClocks, held: HeldTables, table: str) -> None:
    asking = ask(clocks, table, 1)
    await asyncio.sleep(0.01)
    asking += ask(clocks, table, 1)
    await asyncio.sleep(0.01)
    await clocks.close()
    assert [type(answer) for answer in await asyncio.gather(*asking, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * 2
