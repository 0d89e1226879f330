"""The sheet of records and limits: it lists what was played, and a limit that is set there holds at the table."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLE = "punto-banco-1"


async def rows(page) -> list[list[str]]:
    """The cells of the records that are shown."""
    found: list[list[str]] = await page.evaluate("""() =>
      [...document.querySelectorAll("[role=tabpanel]:not([hidden]) tbody tr")].map((row) =>
        [...row.cells].map((cell) => cell.textContent))""")
    return found


async def test_rounds_money_and_the_table_are_listed(visit, node) -> None:
    visitor = await visit("Ada")
    page = visitor.page
    await visitor.sit(TABLE, "100")
    number = await visitor.bets_open()
    await visitor.lay("player", 500)
    await visitor.lay("tie", 100)
    await visitor.deal()
    await visitor.settled(number)
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        (round_,) = (await same.call("rounds", table=TABLE, limit=1))["rounds"]
        (mine,) = (await same.call("history"))["rounds"]
        lines = (await same.call("statement"))["lines"]
    await visitor.button("My records").click()
    await page.wait_for_selector("[role=tabpanel]:not([hidden]) tbody tr")
    ((_, table, told, _, bets, won),) = await rows(page)
    net = sum(one["payout"] - one["stake"] for one in mine["results"].values())
    assert (table, told, bets) == (TABLE, str(number), "P 5.00  T 1.00")
    assert won == f"{net / 100:+.2f}"
    await page.get_by_role("tab", name="Statement").click()
    await page.wait_for_selector("[role=tabpanel]:not([hidden]) tbody tr")
    assert [row[4] for row in await rows(page)] == [f"{line['balance'] / 100:,.2f}" for line in lines]
    await page.get_by_role("tab", name="This table").click()
    await page.wait_for_selector("[role=tabpanel]:not([hidden]) tbody tr")
    newest = (await rows(page))[0]
    assert newest[1] == str(round_["round"])
    signs = str.maketrans("cdhs", "♣♦♥♠")
    shown = [" ".join(round_[side]).translate(signs).replace("T", "10") for side in ("player", "banker")]
    assert newest[3:5] == shown
    assert newest[5:] == ["P 5.00  T 1.00", f"{round_['paid'] / 100:.2f}"]


async def test_a_limit_that_is_set_on_the_page_holds_at_the_table(visit, node) -> None:
    visitor = await visit("Ada")
    page = visitor.page
    await visitor.sit(TABLE, "100")
    number = await visitor.bets_open()
    await visitor.button("My records").click()
    await page.get_by_role("tab", name="My limits").click()
    stake, status = page.locator("#limit-stake_per_day"), page.locator("[role=tabpanel]:not([hidden]) [role=status]")
    await expect(page.locator(".limits-now")).to_contain_text("You have no limits.")
    await stake.fill("six")
    await visitor.button("Set my limits").click()
    await expect(page.locator(".sheet .problem:not(:empty)")).to_have_text("An amount is needed, or nothing")
    await stake.fill("6")
    await page.locator("#limit-reminder_ms").fill("30")
    await visitor.button("Set my limits").click()
    await expect(status).to_have_text("Your limits are set.")
    await expect(page.locator(".limits-now")).to_contain_text("Bet today: 0.00 of at most 6.00 PTO")
    assert (await Axe().run(page)).violations_count == 0
    await page.keyboard.press("Escape")
    await visitor.lay("player", 500)
    await visitor.lay("player", 500)
    assert await visitor.bets() == {"player": 500}
    await visitor.note("your own limit on stakes")
    await visitor.deal()
    await visitor.settled(number)

    await visitor.button("My records").click()
    await page.get_by_role("tab", name="My limits").click()
    await expect(page.locator(".limits-now")).to_contain_text("Bet today: 5.00 of at most 6.00 PTO")
    await page.locator("#exclude").select_option("a week")
    await visitor.button("Don't let me play").click()
    await visitor.button("Yes, no bets until then").click()
    await expect(page.locator(".limits-now")).to_contain_text("No bets until")
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        limits = await same.call("limits")
        assert (limits["own"]["stake_per_day"], limits["reminder_ms"]) == (600, 1_800_000)
        assert limits["excluded_until_ms"] - limits["at_ms"] > 6.9 * 86_400_000
    await page.keyboard.press("Escape")
    await visitor.bets_open()
    await visitor.lay("player", 100)
    assert await visitor.bets() == {}
