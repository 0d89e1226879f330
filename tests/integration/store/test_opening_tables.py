"""Tables come into the store once, whoever opens them, and stay there; long lists are read page by page."""

import asyncio
import time

import pytest
from redis.asyncio import Redis

from server.store import keys
from server.store.driver import Driver
from server.store.tables import EVENTS_PAGE_MAX, TABLES_PAGE_MAX, Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id
from tests.support.table_rules import rules_of

TABLES = 220
EVENTS = 2_000


async def all_of(tables: Tables) -> list[str]:
    """The lobby, page by page."""
    found: list[str] = []
    while page := await tables.page(found[-1] if found else None):
        assert len(page) <= TABLES_PAGE_MAX
        found += page
    return found


async def test_a_table_that_many_open_at_once_is_opened_once(tables: Tables, ledger: Ledger) -> None:
    """BL-071: one of fifty who open it at the same moment did; the next ones change nothing, in play neither."""
    table = fresh_id("t")
    opened = await asyncio.gather(*(tables.create(table, rules_of(), f"inc-{n}", "run") for n in range(50)))
    assert sum(opened) == 1
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    before = await ledger.contents()
    assert not await tables.create(owner.table, rules_of(), "another life", "run")
    assert await ledger.contents() == before
    assert (await all_of(tables)).count(table) == 1


async def test_a_new_table_stays_whatever_goes_on_around_it(tables: Tables, raw: Redis) -> None:
    """BL-070: two hundred tables are opened while seats are given up and cleared all around; each can be sat at."""
    old = fresh_id("t")
    await tables.create(old, rules_of(seats_max=1_000), "inc", "run")

    async def open_and_sit(n: int) -> None:
        await tables.create(f"new-{n}", rules_of(), "inc", "run")
        assert (await tables.sit(f"new-{n}", f"creator-{n}", "C", False, "node-1", f"c-{n}")).is_seated

    async def come_and_go(n: int) -> None:
        await tables.sit(old, f"guest-{n}", "G", False, "node-2", f"g-{n}")
        await tables.go_away(old, f"guest-{n}", f"g-{n}")
        await tables.clear_dead_seats(old, ["node-1"])
        await tables.leave(old, f"guest-{n}")

    for start in range(0, 200, 50):
        numbers = range(start, start + 50)
        await asyncio.gather(*(step(n) for n in numbers for step in (open_and_sit, come_and_go)))
    assert set(await all_of(tables)) == {old, *(f"new-{n}" for n in range(200))}
    assert (await tables.view("new-199")).view.crowd.seated == 1
    assert (await tables.view(old)).view.crowd.seated == 0


@pytest.mark.timeout(60)
async def test_long_lists_come_in_time_on_a_busy_loop(store_url: str, raw: Redis, ledger: Ledger) -> None:
    """BL-103: a full lobby and a long history, both read while the loop has no time for a third of the time that a
    call may take; no call is taken for lost, since no answer is long."""
    names = {f"t-{n:04}": 0 for n in range(TABLES)}
    await raw.zadd(keys.TABLES, names)
    table = fresh_id("t")
    for seq in range(1, EVENTS + 1):
        await raw.xadd(keys.events_key(table), {"event": b"x" * 400}, id=f"{seq}-0")
    is_over = False

    async def keep_busy() -> None:
        while not is_over:
            time.sleep(0.3)  # noqa: ASYNC251 - it is to keep the loop from its work
            await asyncio.sleep(0.01)

    async with Driver(store_url, call_timeout_ms=1_000) as driver:
        tables = Tables(driver)
        assert await tables.page(None)  # connected
        busy = asyncio.create_task(keep_busy())
        try:
            lobby, history = await asyncio.gather(all_of(tables), read_history(tables, table))
        finally:
            is_over = True
            await busy
    assert lobby == sorted(names)
    assert history == list(range(1, EVENTS + 1))


async def read_history(tables: Tables, table: str) -> list[int]:
    found: list[int] = []
    while page := await tables.events_after(table, found[-1] if found else 0):
        assert len(page) <= EVENTS_PAGE_MAX
        found += [seq for seq, _ in page]
    return found
