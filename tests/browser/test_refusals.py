"""Chips that the table does not take, and clicks that come twice: what lies on the page is what lies in the store."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.support.kept import seat_kept
from tests.support.slow_line import SlowLine

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def line():
    line = SlowLine()
    yield line
    await line.close()


async def test_late_chips_come_off_with_the_reason(visit, node, line: SlowLine) -> None:
    """BL-174: chips that are under way when betting closes are pending all the time, then go back, and say how late
    they were. Those that were confirmed count."""
    table = "royal-1"
    visitor = await visit("Late", line=line)
    await visitor.sit(table, "100")
    number = await visitor.bets_open()
    await visitor.lay("player", 100)
    line.held = {"place"}
    await visitor.spot("banker").click()
    pending = visitor.spot("banker").locator(".spot-pending")
    await expect(pending).to_have_text("+1.00 …")
    assert await visitor.bets() == {"player": 100}
    assert await visitor.stack() == 9_900
    await visitor.deal()
    await visitor.page.wait_for_selector('.table:not([data-phase="betting"])')
    await expect(pending).to_have_text("+1.00 …")
    line.release()
    await visitor.note(
        re.compile(r"1 on Banker came back\. Too late: (betting closed [\d.]+ s before|that round is over)")
    )
    await visitor.answered()
    await visitor.settled(number)
    kept = await seat_kept(node, await visitor.stored_token(), table)
    assert kept is not None
    assert kept.last_results is not None
    assert {str(spot): one.stake for spot, one in kept.last_results.items()} == {"player": 100}
    assert await visitor.stack() == kept.stack


async def test_two_clicks_on_a_slow_line(visit, node, line: SlowLine) -> None:
    """BL-166: a double click is one act, but for chips, where it is two; at 300 ms, on every button, keys held down
    too."""
    table = "punto-banco-1"
    visitor = await visit("Twice", line=line)
    line.late_ms = 300
    await visitor.page.locator(".lobby-table", has_text=table).get_by_role("button", name="Sit down").click()
    await visitor.page.fill("#buy-in", "100")
    await visitor.page.locator("dialog button[type=submit]").dblclick()
    await visitor.page.wait_for_selector(".tray:not([hidden])")
    await visitor.bets_open()
    assert await visitor.stack() == 10_000
    await visitor.choose(100)
    await visitor.spot("player").dblclick()
    await visitor.answered()
    assert await visitor.bets() == {"player": 200}
    await visitor.button("Double").dblclick()
    await visitor.answered()
    assert await visitor.bets() == {"player": 400}
    await visitor.button("Undo").dblclick()
    await visitor.answered()
    assert await visitor.bets() == {"player": 200}
    await visitor.button("Double").focus()
    keyboard = visitor.page.keyboard
    for _ in range(6):
        await keyboard.down("Enter")  # held: the second and all later ones are repeats
    await keyboard.up("Enter")
    await visitor.answered()
    assert await visitor.bets() == {"player": 400}
    await visitor.button("Clear").dblclick()
    await visitor.answered()
    assert await visitor.bets() == {}
    kept = await seat_kept(node, await visitor.stored_token(), table)
    assert kept is not None
    assert (kept.stack, kept.bets) == (10_000, {})
    await visitor.button("Leave").dblclick()
    await visitor.page.wait_for_selector(".stand:not([hidden])")
