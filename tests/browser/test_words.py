"""Names and every other text of the server are text: shown, never run, never markup, never a stranger's disguise."""

import re

import pytest
from playwright.async_api import expect

from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLE = "royal-1"
NAMES = [
    "<script>hit=1</script>",
    "<img src=x onerror=hit=1>",
    '"><svg onload=hit=1>',
    "{{hit}}${hit}",
    "<b>bold</b>",
    "javascript:hit=1",
]


async def test_hostile_names_are_text_wherever_they_stand(visit, node) -> None:
    """BL-163, BL-164: in the seats, as one's own name, in the lobby, in every panel; cut to what a name may be."""
    others = []
    for name in NAMES:
        other = await RawClient.arrive(node.url, name[:24])
        await other.join(TABLE, 10_000)
        others.append((name[:24], other))
    visitor = await visit(NAMES[0][:24])
    page = visitor.page
    await expect(page.locator(".top-who b").first).to_have_text(NAMES[0][:24])
    await visitor.sit(TABLE, "100")
    for name, _ in others:
        await expect(page.locator(".seat-name").filter(has_text=name).first).to_be_attached()
    await visitor.bets_open()
    await visitor.lay("player", 100)
    for panel in ("Rules and odds", "My records"):
        await visitor.button(panel).click()
        await page.locator("dialog").wait_for()
        await page.keyboard.press("Escape")
    assert await page.evaluate("typeof window.hit") == "undefined"
    assert await page.locator("script:not([src]), .seat b, .seat img, .seat svg, iframe").count() == 0
    for _, other in others:
        await other.close()


async def test_names_that_hide_what_they_are_come_out_clean(visit, node) -> None:
    """BL-165: direction marks, joiners and tags fall out; a name of nothing else is refused, and says why."""
    visitor = await visit(None)
    for nothing in ("\u202e\u200d\ufeff", "\U000e0041\U000e0042", "\u2060"):
        await visitor.page.fill("#name", nothing)
        await visitor.button("Come in").click()
        await expect(visitor.page.locator(".problem")).not_to_be_empty()
    await visitor.come_in("A\u202ed\u200da\ufeff")
    await expect(visitor.page.locator(".top-who b").first).to_have_text("Ada")


async def test_the_browser_itself_refuses_what_a_text_would_try(visit) -> None:
    """BL-164: the policy holds: no inline script, no string turned into markup, no other host."""
    visitor = await visit("Ada")
    found = await visitor.page.evaluate("""async () => {
      const tried = [];
      const script = document.createElement("script");
      try { script.textContent = "window.hit = 1"; document.body.append(script); } catch { tried.push("script"); }
      try { document.body.insertAdjacentHTML("beforeend", "<p>"); } catch { tried.push("html"); }
      try { await fetch("http://127.0.0.1:1/"); } catch { tried.push("fetch"); }
      return [tried, typeof window.hit];
    }""")
    assert found == [["script", "html", "fetch"], "undefined"]
    assert visitor.errors
    assert all(re.search("Content Security Policy|TrustedHTML|TrustedScript", error) for error in visitor.errors)
    visitor.errors.clear()
