"""An hour of play on the page, sped up, and a table with many seats: `make soak`. It prints figures; a leak fails it.

Rounds are dealt in about a second each, as many as an hour of ordinary ones holds. Memory, listeners and nodes of the
document are read after a collection, once the page is warm and at the end. Then so many raw clients sit down at one
table and bet, and the times between the pictures of the page are read.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import CDPSession, async_playwright

from tests.support.node_process import NodeProcess, running_node
from tests.support.raw_client import RawClient
from tests.support.visitor import Visitor

TABLE = "royal-1"
ROUNDS, SEATS = 120, 500
WARM_ROUNDS = 10
FRAMES_S = 10
PATIENCE_MS = 60_000
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
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

_FRAMES = """seconds => new Promise((resolve) => {
  const times = [];
  let before = performance.now();
  const end = before + seconds * 1000;
  const frame = () => {
    const now = performance.now();
    times.push(now - before);
    before = now;
    if (now < end) requestAnimationFrame(frame);
    else resolve(times);
  };
  requestAnimationFrame(frame);
})"""


class Weight(NamedTuple):
    """What a page weighs: bytes of its heap, listeners, nodes of the document."""

    heap_bytes: int
    listeners: int
    nodes: int


async def weigh(cdp: CDPSession) -> Weight:
    """Read it, after a collection."""
    await cdp.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = await cdp.send("Performance.getMetrics")
    metrics = {one["name"]: int(one["value"]) for one in found["metrics"]}
    return Weight(metrics["JSHeapUsedSize"], metrics["JSEventListeners"], metrics["Nodes"])


async def play(visitor: Visitor, rounds: int) -> tuple[Weight, Weight]:
    """Play so many rounds by Play Again, going through the sheets and the lobby now and then."""
    page = visitor.page
    page.set_default_timeout(PATIENCE_MS)
    cdp = await visitor.context.new_cdp_session(page)
    await cdp.send("Performance.enable")
    first = await visitor.bets_open()
    await visitor.lay("banker", 100)
    await page.get_by_label("Play again each round").check()
    warm = None
    for number in range(first, first + rounds):
        await page.wait_for_function(
            "number => Number(document.querySelector('.top-round')?.textContent.replace(/\\D/g, '')) > number",
            arg=number,
        )
        if number % 10 == 0:
            for opener in ("Rules and odds", "My records"):
                await visitor.button(opener).click()
                await page.locator("dialog").wait_for()
                await page.keyboard.press("Escape")
                await page.locator("dialog").wait_for(state="detached")
            await page.evaluate("location.hash = '#/'")
            await page.locator(".lobby-table").first.wait_for()  # a handle would keep the view alive
            await page.evaluate(f"location.hash = '#/table/{TABLE}'")
            await page.locator(".table[data-phase]").wait_for()
        if number == first + WARM_ROUNDS:
            warm = await weigh(cdp)
    assert warm is not None, "there are more rounds than warm ones"
    return warm, await weigh(cdp)


async def crowd(node: NodeProcess, seats: int) -> list[RawClient]:
    """Seat so many at the table."""
    clients: list[RawClient] = []
    for number in range(seats):
        client = await RawClient.arrive(node.url, f"Seat {number}")
        await client.join(TABLE, 10_000)
        clients.append(client)
    return clients


async def bet(client: RawClient) -> None:
    """Lay a chip in each round until cancelled."""
    while True:
        try:
            await client.betting(TABLE, timeout=60)
            await client.place(TABLE, "player", 100)
        except Exception:
            continue


async def frames(visitor: Visitor, seconds: int) -> list[float]:
    """Milliseconds from one picture of the page to the next, sorted."""
    return sorted(await visitor.page.evaluate(_FRAMES, seconds))


def judged(warm: Weight, end: Weight, rounds: int) -> list[str]:
    """What has grown that should not."""
    found = []
    if end.heap_bytes - warm.heap_bytes > GROWTH_BYTES_MAX:
        found.append(f"the heap grew by {end.heap_bytes - warm.heap_bytes} bytes in {rounds} rounds")
    if end.listeners > warm.listeners + 20:
        found.append(f"listeners grew from {warm.listeners} to {end.listeners}")
    if end.nodes > warm.nodes + 4_000:
        found.append(f"nodes of the document grew from {warm.nodes} to {end.nodes}")
    return found


async def main(rounds: int, seats: int, node: NodeProcess) -> int:
    """Play, seat, print."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        visitor = await Visitor.arrive(browser, node.port, "Ada", reduced_motion="no-preference")
        await visitor.sit(TABLE, "5000")
        warm, end = await play(visitor, rounds)
        print(f"rounds {rounds}  warm {warm}  end {end}")
        found = judged(warm, end, rounds)
        quiet = await frames(visitor, FRAMES_S)
        print(f"frames alone: {told(quiet)}")
        if seats:
            clients = await crowd(node, seats)
            bettors = [asyncio.create_task(bet(client)) for client in clients]
            full = await frames(visitor, FRAMES_S)
            seated = await visitor.page.locator("h2 .muted").inner_text()
            print(f"frames with {seated} seats: {told(full)}")
            for task in bettors:
                task.cancel()
            await asyncio.gather(*bettors, return_exceptions=True)
            await asyncio.gather(*(client.drop() for client in clients))
        await browser.close()
    for line in [*found, *visitor.errors]:
        print(line, file=sys.stderr)
    return 1 if found or visitor.errors else 0


def told(times: list[float]) -> str:
    """The middle, the tail and the worst of some frame times."""
    middle, tail = times[len(times) // 2], times[len(times) * 99 // 100]
    return f"{len(times)} frames, p50 {middle:.1f} ms, p99 {tail:.1f} ms, worst {times[-1]:.1f} ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="an hour at the ordinary pace (%(default)s)")
    parser.add_argument("--seats", type=int, default=SEATS, help="at one table (%(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punto-soak-") as directory:
        pace = {"betting_ms": 900, "card_ms": 30, "result_ms": 250, "grace_ms": 60_000, "demo_bots": 2}
        with running_node(Path(directory) / "data", **pace, **WIDE_DOORS) as running:
            sys.exit(asyncio.run(main(args.rounds, args.seats, running)))
