"""One Chromium and one node for each worker, and visitors with a browser profile of their own."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from server.page import Page
from tests.support.node_process import NodeProcess, own_node
from tests.support.visitor import Visitor

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = "The page's tests need Chromium: apt-get install chromium (on Debian; PATH must have `chromium`)"

PATIENCE_MS = 20_000
"""A browser beside other tests on two cores is slow; what is waited for is a condition, so that costs nothing."""
TEST_TIMEOUT_S = 150

Visit = Callable[..., Awaitable[Visitor]]
Run = Callable[..., Awaitable[Any]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests more time than others: the first of a worker also starts a browser and a node."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser of this worker."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail(MISSING, pytrace=False)
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodeProcess]:
    """A node with time enough for a browser on a busy machine; Deal ends the betting."""
    data = tmp_path_factory.mktemp("page") / "data"
    async with own_node(data, betting_ms=20_000, card_ms=60, result_ms=700, grace_ms=6_000) as node:
        yield node


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, node: NodeProcess) -> AsyncIterator[Visit]:
    """Bring a visitor to the page: `await visit("Ada")`, at this worker's node unless another is given."""
    visitors: list[Visitor] = []

    async def bring(name: str = "Ada", *, at: NodeProcess = node, **how: object) -> Visitor:
        visitor = await Visitor.arrive(browser, at.port, name, **how)
        visitors.append(visitor)
        return visitor

    yield bring
    await asyncio.gather(*(visitor.close() for visitor in visitors))
    for visitor in visitors:
        assert visitor.errors == [], "the page reported errors"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def run(browser: Browser, node: NodeProcess) -> AsyncIterator[Run]:
    """Run a function of JavaScript with some modules of the page: `await run("async (m, given) => ...", given)`."""
    context = await browser.new_context(locale="en-US")
    page = await context.new_page()
    await page.goto(f"http://127.0.0.1:{node.port}/")
    root = f"/page/{Page().version}/js/"

    async def run(script: str, given: Any = None) -> Any:
        return await page.evaluate(
            "async ([script, root, given]) => {"
            f"  const work = {script};"
            "  return work(path => import(new URL(root + path, location.href).href), given);"
            "}",
            [None, root, given],
        )

    yield run
    await context.close()
