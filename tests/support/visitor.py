"""A person before the page: comes in, sits down, lays chips, reads what is shown.

Whatever is read is what stands on the page, as text, in the locale of the browser; amounts come back in minor units.
"""

import re
from typing import Any, Self

from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

WAIT_MS = 20_000

# Chromium itself says this where a node is not there; the page goes on by itself.
_EXPECTED_ERRORS = re.compile(r"WebSocket connection to|net::ERR_CONNECTION")


class Visitor:
    """One page in a browser profile. `errors` holds what the browser complained about."""

    def __init__(self, context: BrowserContext, page: Page, port: int) -> None:
        self.context = context
        self.page = page
        self.port = port
        self.errors: list[str] = []
        self.token: str | None = None
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)

    @classmethod
    async def arrive(cls, browser: Browser, port: int, name: str | None, **how: Any) -> Self:
        """Open the page and, where a name is given, come in under it. `script` runs before the page's own, `line` is a
        `SlowLine` to the node, `size` the window's; all else is the browser profile's."""
        size = how.pop("size", (1280, 720))
        script, line = how.pop("script", None), how.pop("line", None)
        context = await browser.new_context(
            viewport={"width": size[0], "height": size[1]}, **{"locale": "en-US", "reduced_motion": "reduce"} | how
        )
        if script is not None:
            await context.add_init_script(script)
        visitor = cls(context, await context.new_page(), port)
        if line is not None:
            await line.install(visitor.page)
        await visitor.page.goto(visitor.url, wait_until="domcontentloaded", timeout=4 * WAIT_MS)
        if name is not None:
            await visitor.come_in(name)
        return visitor

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning") and not _EXPECTED_ERRORS.search(message.text):
            self.errors.append(message.text)

    async def close(self) -> None:
        """Close the profile with all its pages."""
        await self.context.close()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    async def another_tab(self, path: str = "") -> "Visitor":
        """A second tab of the same profile."""
        tab = Visitor(self.context, await self.context.new_page(), self.port)
        tab.errors = self.errors
        await tab.page.goto(self.url + path)
        return tab

    async def hurry(self) -> None:
        """Have the page try again at once, if it has not come back by itself yet."""
        await self.page.evaluate("dispatchEvent(new Event('online'))")

    # --- the lobby ---

    async def come_in(self, name: str) -> None:
        """Give a name, and be in the lobby."""
        await self.page.fill("#name", name)
        await self.page.get_by_role("button", name="Come in").click()
        await self.page.wait_for_selector(".lobby-table")

    async def watch(self, table: str) -> None:
        """Go to a table as a spectator."""
        await self.page.goto(f"{self.url}#/table/{table}")
        await self.page.wait_for_selector(".table[data-phase]")

    async def sit(self, table: str, amount: str = "100") -> None:
        """Sit down with so many chips, from the lobby."""
        await self.page.locator(".lobby-table", has_text=table).get_by_role("button", name="Sit down").click()
        await self.buy(amount)
        await self.page.wait_for_selector(".tray:not([hidden])")

    async def buy(self, amount: str) -> None:
        """Fill in the sheet that asks how much, and send it."""
        await self.page.fill("#buy-in", amount)
        await self.page.locator("dialog button[type=submit]").click()
        await self.page.wait_for_selector("dialog", state="detached")

    # --- at the table ---

    def spot(self, spot: str) -> Locator:
        """The tile of a spot."""
        return self.page.locator(f".spot-{spot}")

    def button(self, name: str) -> Locator:
        """A button by its words."""
        return self.page.get_by_role("button", name=name, exact=True)

    async def bets_open(self) -> int:
        """Wait until bets are taken with most of the time left, and return the round's number."""
        await self.page.wait_for_selector(
            '.table[data-phase="betting"] .deal:not([aria-disabled])', timeout=2 * WAIT_MS
        )
        return await self.round()

    async def deal(self) -> None:
        """Ask for the cards."""
        await self.button("Deal").click()

    async def settled(self, number: int) -> None:
        """Wait until the result of that round with own bets stands on the page."""
        await self.page.wait_for_function(
            "number => [...document.querySelectorAll('.rounds tbody tr')]"
            ".some(row => row.cells[0].textContent === String(number))",
            arg=number,
        )

    async def round(self) -> int:
        """The number of the round, 0 before the first."""
        text = await self.page.locator(".top-round").inner_text()
        return int(re.sub(r"\D", "", text) or 0)

    async def choose(self, chip: int) -> None:
        """Choose a chip of the tray, in minor units."""
        await self.page.locator(f'[data-chip="{chip}"]').click()

    async def lay(self, spot: str, chip: int, times: int = 1) -> None:
        """Lay a chip so many times, and wait until nothing is pending any more."""
        await self.choose(chip)
        for _ in range(times):
            await self.spot(spot).click()
        await self.answered()

    async def answered(self) -> None:
        """Wait until every act has its answer."""
        await self.page.wait_for_function("() => document.querySelector('.table[data-pending]') === null")

    async def bets(self) -> dict[str, int]:
        """What lies on the spots by the page, minor units."""
        found = {spot: await self.amount(f".spot-{spot} .spot-mine") for spot in ("player", "banker", "tie")}
        return {spot: amount for spot, amount in found.items() if amount}

    async def stack(self) -> int:
        """The credits, minor units."""
        return await self.amount("[data-field=credits]")

    async def net(self) -> int:
        """What this sitting has brought so far."""
        return await self.amount("[data-field=net] b")

    async def amount(self, selector: str) -> int:
        """An amount as it stands there; 0 where nothing does."""
        return amount_of(await self.page.locator(selector).text_content() or "")

    async def note(self, text: str | re.Pattern[str]) -> None:
        """Wait for a note that says this."""
        await expect(self.page.locator(".note").filter(has_text=text).first).to_be_visible(timeout=WAIT_MS)

    async def stored_token(self) -> str:
        """The token that the browser keeps."""
        token = await self.page.evaluate("localStorage.getItem('punto.token')")
        assert isinstance(token, str)
        return token


def amount_of(text: str) -> int:
    """Read an amount of an English page: "1,234.50 PTO" is 123450, "" is 0."""
    found = re.search(r"([-+]?)([\d,]+)\.(\d\d)", text)
    if found is None:
        assert not re.search(r"\d", text), text
        return 0
    sign = -1 if found[1] == "-" else 1
    return sign * int(found[2].replace(",", "") + found[3])
