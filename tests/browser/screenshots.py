"""Takes the pictures of the first page: `make pictures`. A house of its own plays until the roads have something in
them.

They are written to docs/images without the lowest bits of their colours, for which Pillow is needed: it is no part of
the project, `.venv/bin/pip install pillow` brings it.
"""

import asyncio
import importlib
import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.async_api import async_playwright

from tests.support.node_process import running_node
from tests.support.visitor import Visitor

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PLAYED_S = 40
QUICK = {"betting_ms": 300, "card_ms": 5, "result_ms": 20, "demo_bots": 5}
SLOW = {"betting_ms": 40_000, "card_ms": 1_200, "result_ms": 12_000, "demo_bots": 5}
WIDE, PHONE = (1280, 720), (360, 740)


async def take(port: int, chromium: str) -> None:
    """Walk through a round and take a picture of each place."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        visitor = await Visitor.arrive(browser, port, "Ada", size=WIDE)
        page = visitor.page
        await page.wait_for_selector(".lobby-road .ring")
        await page.screenshot(path=IMAGES / "lobby.png")
        await visitor.sit("royal-1", "1000")
        await visitor.bets_open()
        await visitor.lay("banker", 10_000)
        await visitor.lay("banker", 2_500, 2)
        await visitor.lay("tie", 500)
        await page.mouse.move(640, 200)
        await page.screenshot(path=IMAGES / "betting.png")
        await page.wait_for_selector(".card >> nth=3", timeout=60_000)
        await page.screenshot(path=IMAGES / "dealing.png")
        await page.wait_for_selector(".won:not([hidden])", timeout=60_000)
        await page.wait_for_selector('.proof-mark[data-state="ok"]')
        await asyncio.sleep(0.5)  # what has won has lifted by then
        await page.screenshot(path=IMAGES / "result.png")
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        await visitor.bets_open()
        await visitor.lay("player", 2_500, 2)
        await page.evaluate("scrollTo(0, 0)")
        await page.screenshot(path=IMAGES / "phone.png")
        await browser.close()


def make_small() -> None:
    """Make every picture easier to pack."""
    image = importlib.import_module("PIL.Image")
    for path in sorted(IMAGES.glob("*.png")):
        with image.open(path) as picture:
            # The lowest two bits of each colour are not seen, and are most of what a gradient weighs.
            picture.convert("RGB").point(lambda level: level & 0xFC).save(path, optimize=True)
        print(f"{path.relative_to(Path.cwd())}  {path.stat().st_size // 1024} kB")


def main() -> int:
    """Play, take, pack."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("PIL") is None:
        print("pictures: Chromium (apt-get install chromium) and Pillow are needed", file=sys.stderr)
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="punto-pictures-") as directory:
        data = Path(directory) / "data"
        with running_node(data, **QUICK):
            time.sleep(PLAYED_S)
        with running_node(data, **SLOW) as node:
            asyncio.run(take(node.port, chromium))
    make_small()
    return 0


if __name__ == "__main__":
    sys.exit(main())
