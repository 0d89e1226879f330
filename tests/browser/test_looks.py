"""For everybody: axe finds nothing, nothing hangs over at 360 or 1440 pixels, the keyboard is enough, all is said."""

import re
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIZES = [(360, 740), (768, 1024), (1280, 720), (1440, 900)]


async def no_violation(page) -> None:
    results = await Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


async def resize(page, width: int, height: int) -> None:
    """Give the window another size, and wait until the page has it and has drawn itself anew."""
    await page.set_viewport_size({"width": width, "height": height})
    is_there = "([width, height]) => innerWidth === width && innerHeight === height"
    await page.wait_for_function(is_there, arg=[width, height])
    await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


async def hangs_over(page) -> list[str]:
    """What stands beyond the right edge, but in places that scroll by themselves."""
    found: list[str] = await page.evaluate("""() => {
      const hides = (one) => /auto|scroll|hidden/.test(getComputedStyle(one).overflowX);
      const isInside = (one) => one !== null && (hides(one) || isInside(one.parentElement));
      const isOver = (one) => one.getClientRects().length > 0 && one.getBoundingClientRect().right > innerWidth + 0.5;
      const all = [...document.querySelectorAll("#app *")];
      const over = all.filter((one) => isOver(one) && !isInside(one.parentElement));
      if (document.documentElement.scrollWidth > innerWidth) over.push(document.documentElement);
      return over.map((one) => `${one.tagName}.${one.className.baseVal ?? one.className}`);
    }""")
    return found


async def test_axe_and_sizes(visit) -> None:
    """Lobby, table and a sheet, wide and narrow; at 1280 x 720 a table needs no scrolling, at 360 x 740 the chips and
    Deal are on the first screen."""
    table = "royal-1"
    visitor = await visit("Ada")
    page = visitor.page
    await no_violation(page)
    await resize(page, 360, 740)
    assert await hangs_over(page) == []
    await visitor.sit(table, "1000")
    await visitor.bets_open()
    await visitor.lay("banker", 2_500, 3)
    await visitor.lay("tie", 100)
    for width, height in SIZES:
        await resize(page, width, height)
        assert await hangs_over(page) == [], (width, height)
        deal = await visitor.button("Deal").bounding_box()
        assert deal is not None
        assert deal["y"] + deal["height"] <= height, (width, height)
    await resize(page, 1280, 720)
    assert await page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    roads = await page.locator(".roads").bounding_box()
    assert roads is not None
    assert roads["y"] + roads["height"] <= 720
    await no_violation(page)
    await visitor.button("Rules and odds").click()
    await page.locator("dialog").wait_for()
    await no_violation(page)
    await page.keyboard.press("Escape")
    await visitor.bets_open()
    await visitor.deal()
    await page.wait_for_selector(".card >> nth=3")
    await resize(page, 360, 740)
    assert await hangs_over(page) == []
    await no_violation(page)


async def test_narrow_screens_leave_nothing_out(visit) -> None:
    """What is beside the felt on a wide screen has its room on a narrow one, and tables of figures fit 360 pixels."""
    visitor = await visit("Ada")
    page = visitor.page
    await visitor.sit("royal-1", "1000")
    await visitor.bets_open()

    async def seats_height() -> int:
        height: int = await page.locator(".panel-seats .scroll").evaluate("one => one.clientHeight")
        return height

    await resize(page, 768, 1024)
    assert await seats_height() > 20
    await resize(page, 360, 740)
    await visitor.button("Seats, my rounds, rules").click()
    await page.locator("dialog .seats").wait_for()
    assert await seats_height() > 20
    await expect(page.locator("dialog .panel-rounds p")).to_be_visible()
    await visitor.button("Rules and odds").click()
    await page.locator("dialog .odds").wait_for()
    assert await page.locator("dialog .wide-table").evaluate("one => one.scrollWidth <= one.clientWidth")
    await page.keyboard.press("Escape")
    await visitor.button("My records").click()
    await page.get_by_role("tab", name="Statement").click()
    await expect(page.get_by_role("tabpanel", name="Statement")).to_contain_text("Play money")
    fits = "one => one.scrollWidth <= one.clientWidth"
    for wide in await page.locator("dialog .wide-table").all():
        assert await wide.evaluate(fits)


async def test_the_keyboard_alone_is_enough(visit) -> None:
    visitor = await visit(None)
    page, keyboard = visitor.page, visitor.page.keyboard

    async def tab_to(**role: Any) -> None:
        for _ in range(60):
            await keyboard.press("Tab")
            if await page.get_by_role(**role, exact=True).evaluate("one => one === document.activeElement"):
                return
        raise AssertionError(f"the Tab key never comes to {role}")

    await page.locator("#name").wait_for()
    await tab_to(role="textbox", name="Your name at the tables")
    await keyboard.type("Ada")
    await keyboard.press("Enter")
    await page.wait_for_selector(".lobby-table")
    await tab_to(role="button", name="Sit down at Punto Banco, punto-banco-1")
    await keyboard.press("Enter")
    await page.wait_for_selector("#buy-in:focus")
    await keyboard.press("Control+A")
    await keyboard.type("250")
    await keyboard.press("Enter")
    await page.wait_for_selector(".tray:not([hidden])")
    number = await visitor.bets_open()
    await tab_to(role="radio", name="5")
    await keyboard.press("ArrowRight")
    await keyboard.press("ArrowLeft")
    await keyboard.press("b")
    await keyboard.press("b")
    await keyboard.press("1")
    await keyboard.press("t")
    await visitor.answered()
    assert await visitor.bets() == {"banker": 1_000, "tie": 100}
    await keyboard.press("u")
    await visitor.answered()
    assert await visitor.bets() == {"banker": 1_000}
    await tab_to(role="button", name="Deal")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    await keyboard.press("Enter")
    await visitor.settled(number)


async def test_what_happens_is_said_aloud(visit) -> None:
    """Phases, cards, outcome and own result come to the live region, refusals to the urgent one."""
    visitor = await visit("Ada")
    page = visitor.page
    await page.evaluate("""() => {
      window.said = [];
      for (const id of ["polite", "assertive"]) {
        const region = document.getElementById(id);
        new MutationObserver(() => window.said.push(region.textContent)).observe(region, { childList: true });
      }
    }""")
    await visitor.sit("stand-off-1", "100")
    number = await visitor.bets_open()
    await visitor.lay("player", 500)
    await visitor.choose(50_000)
    await visitor.spot("banker").click(force=True)
    await visitor.note("Not enough credits")
    await visitor.deal()
    await visitor.settled(number)
    await page.wait_for_function("() => / (won|lost|comes back)/.test(window.said.join(' '))")
    said = " ".join(await page.evaluate("window.said"))
    for words in ("Not enough credits", "No more bets", "Player: ", "Banker: ", " of "):
        assert words in said
    assert re.search(r"(Player|Banker) wins, \d over \d|Tie at \d", said)


async def test_amounts_are_in_the_readers_locale(visit) -> None:
    visitor = await visit("Ada", locale="de-DE")
    await visitor.page.locator(".lobby-table", has_text="royal-1").get_by_role("button", name="Sit down").click()
    await visitor.buy("1.000,50")
    await expect(visitor.page.locator("[data-field=credits]")).to_have_text("1.000,50 PTO")
    await visitor.button("Rules and odds").click()
    await expect(visitor.page.locator(".odds")).to_contain_text("98,94 %")
