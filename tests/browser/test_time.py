"""The timer is the table's: no clock of the computer, wrong or changing, and no sleep of the tab moves it."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRONG_CLOCK = """
  const real = Date.now.bind(Date);
  let jump = 3600_000;
  Date.now = () => real() + jump;
  setInterval(() => { jump = -jump * 1.5; }, 200);
"""


async def left_by_table(client: RawClient, table: str) -> float:
    """Seconds until betting closes, by the store's own clock."""
    closes_at_ms = (await client.call("watch", table=table))["snapshot"]["closes_at_ms"]
    now_at_ms = (await client.call("ping", table=table))["at_ms"]
    return (int(closes_at_ms) - int(now_at_ms)) / 1000


async def shows_the_tables_time(visitor, client: RawClient, table: str) -> None:
    """The seconds on the page lie between the table's before and after they were read."""
    before = await left_by_table(client, table)
    shown = int(await visitor.page.locator(".timer-digits").inner_text())
    after = await left_by_table(client, table)
    assert after - 0.1 <= shown <= before + 1.1


async def test_a_clock_an_hour_off_and_jumping_moves_nothing(visit, node) -> None:
    table = "royal-1"
    visitor = await visit("Ada", script=WRONG_CLOCK, timezone_id="Pacific/Kiritimati")
    await visitor.sit(table, "100")
    await visitor.bets_open()
    async with await RawClient.arrive(node.url) as other:
        for _ in range(3):
            await shows_the_tables_time(visitor, other, table)
            await asyncio.sleep(0.3)
    await visitor.lay("player", 100)
    await visitor.deal()
    await visitor.page.wait_for_selector(".card >> nth=3")


async def test_a_tab_that_slept_shows_what_is_now(visit, node) -> None:
    """Hidden over a deal, shown again: the round is where the table is, no card flies late, and the result was not
    lost."""
    table = "punto-banco-1"
    visitor = await visit("Ada", reduced_motion="no-preference")
    page = visitor.page
    await visitor.sit(table, "100")
    number = await visitor.bets_open()
    await visitor.lay("banker", 100)
    await visitor.deal()
    await page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        while (await same.call("watch", table=table))["you"]["last_round"] != number:
            await asyncio.sleep(0.1)
    await page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'visible' });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    await visitor.settled(number)
    assert await visitor.bets_open() == number + 1
    async with await RawClient.arrive(node.url) as other:
        await shows_the_tables_time(visitor, other, table)


async def test_cards_come_one_by_one_and_results_stay(visit, node) -> None:
    """BL-173: each card comes in its hand's order; the result stands for its time and the next betting opens over
    it."""
    table = "stand-off-1"
    visitor = await visit("Ada", reduced_motion="no-preference")
    page = visitor.page
    await visitor.sit(table, "100")
    number = await visitor.bets_open()
    await page.evaluate("""() => {
      window.seen = [];
      const felt = document.querySelector(".felt");
      new MutationObserver((changes) => {
        for (const { addedNodes, target } of changes) {
          for (const node of addedNodes) {
            const hand = target.closest?.(".hand")?.className;
            if (node.classList?.contains("card")) window.seen.push([hand, node.dataset.card]);
            if (target.classList?.contains("call")) window.seen.push(["call", target.textContent]);
          }
        }
      }).observe(felt, { childList: true, subtree: true });
    }""")
    await visitor.lay("player", 100)
    await visitor.deal()
    await visitor.settled(number)
    await visitor.bets_open()
    seen = await page.evaluate("window.seen")
    calls = [one[1] for one in seen if one[0] == "call"]
    async with await RawClient.arrive(node.url) as other:
        played = (await other.call("rounds", table=table, before=str(number + 1), limit=1))["rounds"][0]
    for side in ("player", "banker"):
        assert [one[1] for one in seen if one[0] == f"hand hand-{side}"] == played[side]
    assert calls[0] == "No more bets"
    assert any("over" in call or "Tie at" in call for call in calls)
    assert calls[-1] == "Place your bets"
    await expect(page.locator(".card")).to_have_count(0)
