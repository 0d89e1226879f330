"""Lines that break, nodes that die, tabs that take the seat: the page says what is, and goes on."""

import asyncio
import re

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.support.kept import seat_kept
from tests.support.node_process import FAST, NodeProcess, own_node
from tests.support.raw_client import RawClient
from tests.support.slow_line import SlowLine

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def line():
    line = SlowLine()
    yield line
    await line.close()


async def test_a_node_is_killed_in_the_middle_of_a_round(visit, tmp_path) -> None:
    """Bets that lay play out, the seat is taken again, what was missed is told, and every amount is the store's."""
    table = "royal-1"
    async with own_node(tmp_path / "data", betting_ms=15_000, card_ms=60, result_ms=700, grace_ms=60_000) as own:
        visitor = await visit("Ada", at=own)
        page = visitor.page
        await visitor.sit(table, "100")
        number = await visitor.bets_open()
        await visitor.lay("banker", 500)
        await asyncio.to_thread(own.kill)
        bar = page.locator(".line-bar")
        await expect(bar).to_contain_text("Connection lost. Coming back… Your bets stay on the table and play out.")
        await expect(visitor.button("Undo")).to_have_attribute("aria-disabled", "true")
        await expect(visitor.spot("player")).to_have_attribute("aria-disabled", "true")
        assert await visitor.bets() == {"banker": 500}
        await asyncio.to_thread(own.start)
        await visitor.hurry()
        await expect(bar).to_be_hidden(timeout=30_000)
        await visitor.settled(number)
        kept = await seat_kept(own, await visitor.stored_token(), table)
        assert kept is not None
        assert await visitor.stack() == kept.stack
        assert await visitor.net() == kept.stack - 10_000
        await visitor.bets_open()
        await visitor.lay("player", 100)
        assert await visitor.bets() == {"player": 100}


async def test_a_half_open_line_is_noticed_and_what_was_missed_is_told_once(visit, node, line: SlowLine) -> None:
    """BL-170, BL-168: nothing comes and nothing is closed; within a ping's time the page says so and bets are off. The
    round that was played meanwhile is shown once, with the right sum."""
    table = "stand-off-1"
    visitor = await visit("Ada", line=line)
    await visitor.sit(table, "100")
    number = await visitor.bets_open()
    await visitor.lay("player", 500)
    await visitor.deal()
    line.is_dead = True
    await expect(visitor.page.locator(".line-bar")).to_contain_text("Connection lost", timeout=20_000)
    await expect(visitor.page.get_by_role("button", name=re.compile("^(Deal|Waiting…)$"))).to_be_disabled()
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        while True:
            you = (await same.call("watch", table=table))["you"]
            if you["last_round"] == number:
                break
            await asyncio.sleep(0.1)
    line.is_dead = False
    await expect(visitor.page.locator(".line-bar")).to_be_hidden(timeout=30_000)
    await visitor.settled(number)
    await visitor.note("While you were away 1 round with your bets played out")
    won = sum(one["payout"] - one["stake"] for one in you["last_results"].values())
    assert await visitor.stack() == you["stack"]
    listed = await visitor.page.locator(".rounds tbody td:first-child").all_inner_texts()
    assert listed.count(str(number)) == 1
    assert await visitor.amount(".rounds tbody tr:first-child td:nth-child(4)") == won


async def test_a_server_that_is_not_there_is_told_apart_and_found_later(visit, tmp_path) -> None:
    """BL-170, BL-171: the page never had a connection, and says that; a join that waits is made once when it has."""
    own = NodeProcess(tmp_path / "data", flags={**FAST, "betting-ms": 20_000, "grace-ms": 60_000})
    await asyncio.to_thread(own.start)
    try:
        visitor = await visit("Ada", at=own)
        token = await visitor.stored_token()
        await asyncio.to_thread(own.stop)
        bar = visitor.page.locator(".line-bar")
        await expect(bar).to_contain_text(re.compile("The server is restarting|Connection lost"))
        await visitor.page.locator(".lobby-table", has_text="royal-1").get_by_role("button", name="Sit down").click()
        await visitor.page.fill("#buy-in", "100")
        await visitor.page.locator("dialog button[type=submit]").click()
        await asyncio.to_thread(own.start)
        await visitor.page.wait_for_selector(".tray:not([hidden])", timeout=30_000)
        kept = await seat_kept(own, token, "royal-1")
        assert kept is not None
        assert (kept.stack, await visitor.stack()) == (10_000, 10_000)
        await visitor.bets_open()
        await asyncio.to_thread(own.kill)
        await expect(bar).to_contain_text("Connection lost")
        await visitor.button("Leave").click()
        await visitor.button("Try now").click()  # nobody is there yet
        await asyncio.to_thread(own.start)
        await visitor.hurry()
        await expect(bar).to_be_hidden(timeout=30_000)
        await expect(visitor.button("Take your seat here")).to_be_visible()
    finally:
        await asyncio.to_thread(own.stop)


async def test_a_second_tab_takes_the_seat_and_the_first_one_says_so(visit, node) -> None:
    """BL-175: both are the same patron by what the server gave, neither breaks the other, and money is the server's."""
    table = "red-lounge-1"
    first = await visit("Ada")
    token = await first.stored_token()
    await first.sit(table, "100")
    await first.bets_open()
    await first.lay("player", 500)
    second = await first.another_tab(f"#/table/{table}")
    take = second.button("Take your seat here")
    await take.click()
    await second.page.wait_for_selector(".tray:not([hidden])")
    assert await second.bets() == {"player": 500}
    await expect(first.page.locator(".table-state")).to_contain_text("taken over in another window")
    await expect(first.page.locator(".tray")).to_be_hidden()
    await second.lay("tie", 100)
    await first.button("Take your seat here").click()
    await first.page.wait_for_selector(".tray:not([hidden])")
    assert await first.bets() == {"player": 500, "tie": 100}
    await expect(second.page.locator(".table-state")).to_contain_text("taken over in another window")
    await first.page.reload()
    await first.page.wait_for_selector(".tray:not([hidden])")  # it sat there, so it sits there again
    await second.page.reload()
    await second.button("Take your seat here").wait_for()
    assert await first.stored_token() == token
    assert await second.stored_token() == token
    kept = await seat_kept(node, token, table)
    assert kept is not None
    assert (await first.stack(), await first.bets()) == (kept.stack, {"player": 500, "tie": 100})
