"""An hour of play on the page, sped up, and a table with many seats: `make soak`. It prints figures; a leak fails it.

Rounds are dealt in about a second each, as many as an hour of ordinary ones holds. Memory, listeners and nodes of the
document are read after a collection, once the page is warm and at the end. Then, at an ordinary pace, the times between
the pictures of the page are read: with few seats, and with so many raw clients that sit at the same table and bet.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Browser, CDPSession, async_playwright

from tests.browser.crowd import crowd
from tests.browser.frames import metrics, watch_frames
from tests.support.node_process import NodeProcess, running_node
from tests.support.visitor import Visitor

TABLE = "royal-1"
ROUNDS, SEATS = 120, 500
WARM_ROUNDS = 10
FRAMES_S = 20
PATIENCE_MS = 60_000
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FAST = {"betting_ms": 900, "card_ms": 30, "result_ms": 250}
ORDINARY = {"betting_ms": 6_000, "card_ms": 700, "result_ms": 3_000}
DEMO_BOTS = 2
WIDE_DOORS = {
    "connections_per_address": 4_000,
    "address_opens_per_s": 4_000,
    "address_guests_per_s": 4_000,
    "address_requests_per_s": 100_000,
    "node_requests_per_s": 100_000,
}
"""All of them come from one address."""
GROWTH_BYTES_MAX = 1_500_000
"""The roads of the shoe and the rounds that are kept grow within their bounds; a leak of an hour is more than this."""
LISTENERS_MORE_MAX, NODES_MORE_MAX = 20, 4_000


class Weight(NamedTuple):
    """What a page weighs: bytes of its heap, listeners, nodes of the document."""

    heap_bytes: int
    listeners: int
    nodes: int

    def __str__(self) -> str:
        return f"heap {self.heap_bytes / 1e6:.2f} MB, {self.listeners} listeners, {self.nodes} nodes"


async def weigh(cdp: CDPSession) -> Weight:
    """Read it, after a collection."""
    await cdp.send("HeapProfiler.collectGarbage")
    found = await metrics(cdp)
    return Weight(int(found["JSHeapUsedSize"]), int(found["JSEventListeners"]), int(found["Nodes"]))


async def arrive(browser: Browser, node: NodeProcess) -> tuple[Visitor, CDPSession]:
    """Sit down with a bet that is laid again in every round."""
    visitor = await Visitor.arrive(browser, node.port, "Ada", reduced_motion="no-preference")
    visitor.page.set_default_timeout(PATIENCE_MS)
    cdp = await visitor.context.new_cdp_session(visitor.page)
    await cdp.send("Performance.enable")
    await visitor.sit(TABLE, "5000")
    await visitor.bets_open()
    await visitor.lay("banker", 100)
    await visitor.page.get_by_label("Play again each round").check()
    return visitor, cdp


async def play(visitor: Visitor, cdp: CDPSession, rounds: int) -> tuple[Weight, Weight]:
    """Play so many rounds by Play Again, going through the sheets and the lobby now and then."""
    first = await visitor.round()
    warm = None
    for number in range(first, first + rounds):
        await visitor.page.wait_for_function(
            "number => Number(document.querySelector('.top-round')?.textContent.replace(/\\D/g, '')) > number",
            arg=number,
        )
        if number % 10 == 0:
            await look_around(visitor)
        if number == first + WARM_ROUNDS:
            warm = await weigh(cdp)
    assert warm is not None, "there are more rounds than warm ones"
    return warm, await weigh(cdp)


async def look_around(visitor: Visitor) -> None:
    """Open and close the sheets, go to the lobby and back. Handles of elements would keep their view alive."""
    page = visitor.page
    for opener in ("Rules and odds", "My records"):
        await visitor.button(opener).click()
        await page.locator("dialog").wait_for()
        await page.keyboard.press("Escape")
        await page.locator("dialog").wait_for(state="detached")
    await page.evaluate("location.hash = '#/'")
    await page.locator(".lobby-table").first.wait_for()
    await page.evaluate(f"location.hash = '#/table/{TABLE}'")
    await page.locator(".table[data-phase]").wait_for()


def judged(warm: Weight, end: Weight) -> list[str]:
    """What has grown that should not."""
    found = []
    if end.heap_bytes - warm.heap_bytes > GROWTH_BYTES_MAX:
        found.append(f"the heap grew by {end.heap_bytes - warm.heap_bytes} bytes")
    if end.listeners > warm.listeners + LISTENERS_MORE_MAX:
        found.append(f"listeners grew from {warm.listeners} to {end.listeners}")
    if end.nodes > warm.nodes + NODES_MORE_MAX:
        found.append(f"nodes of the document grew from {warm.nodes} to {end.nodes}")
    return found


async def play_long(browser: Browser, node: NodeProcess, rounds: int) -> list[str]:
    """Play, and say what was wrong."""
    visitor, cdp = await arrive(browser, node)
    warm, end = await play(visitor, cdp, rounds)
    print(f"after {WARM_ROUNDS} rounds: {warm}\nafter {rounds} rounds: {end}", flush=True)
    await visitor.close()
    return judged(warm, end) + visitor.errors


async def sit_in_a_crowd(browser: Browser, node: NodeProcess, seats: int) -> list[str]:
    """Watch the frames with few seats and with so many more, and say what was wrong."""
    visitor, cdp = await arrive(browser, node)
    print(f"few seats:  {await watch_frames(visitor.page, cdp, FRAMES_S)}", flush=True)
    async with crowd(node.url, TABLE, seats):
        await visitor.page.wait_for_function(
            "seats => Number(document.querySelector('.panel-seats h2 .muted').textContent) > seats", arg=seats
        )
        frames = await watch_frames(visitor.page, cdp, FRAMES_S)
        shown = await visitor.page.locator(".panel-seats h2 .muted").inner_text()
        print(f"{shown} seats:  {frames}", flush=True)
    await visitor.close()
    return visitor.errors


async def main(rounds: int, seats: int, directory: Path) -> int:
    """Play, seat, print."""
    found = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        if rounds:
            with running_node(directory / "long", **FAST, demo_bots=DEMO_BOTS) as node:
                found += await play_long(browser, node, rounds)
        if seats:
            with running_node(directory / "crowd", **ORDINARY, demo_bots=DEMO_BOTS, **WIDE_DOORS) as node:
                found += await sit_in_a_crowd(browser, node, seats)
        await browser.close()
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="an hour at the ordinary pace (%(default)s)")
    parser.add_argument("--seats", type=int, default=SEATS, help="at one table (%(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punto-soak-") as name:
        sys.exit(asyncio.run(main(args.rounds, args.seats, Path(name))))
