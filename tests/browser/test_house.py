"""What the house does is said: a table that is paused and why, a server that goes away with bets on the felt."""

import asyncio
import signal

import pytest
from playwright.async_api import expect

from tests.support.kept import seat_kept
from tests.support.node_process import NodeProcess, own_node
from tests.support.operator import punto_server_here

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLE = "royal-1"


async def tables(node: NodeProcess, verb: str, *words: str) -> None:
    """Let the house do something with the table."""
    ended = await punto_server_here("tables", verb, *node.place, "--table", TABLE, *words)
    assert ended.code == 0, ended


async def test_a_table_is_paused_and_goes_on(visit, tmp_path) -> None:
    """The reason stands for as long as the pause lasts, is said aloud, and is text; no chip is taken meanwhile."""
    async with own_node(tmp_path / "data", betting_ms=50_000, card_ms=60, result_ms=700, grace_ms=60_000) as own:
        visitor = await visit("Ada", at=own)
        page = visitor.page
        await visitor.sit(TABLE, "100")
        number = await visitor.bets_open()
        await visitor.lay("player", 500)
        await tables(own, "pause", "--reason", "<b>ten minutes</b>")
        assert await visitor.bets() == {"player": 500}  # the round that is open plays on
        await visitor.deal()
        await visitor.settled(number)
        call = page.locator(".call")
        await expect(call).to_have_text("Table is paused")
        await expect(page.locator(".call-why")).to_have_text("<b>ten minutes</b>")
        await expect(page.locator("#polite")).to_contain_text("Table is paused: <b>ten minutes</b>")
        await expect(visitor.button("Deal")).to_have_attribute("aria-disabled", "true")
        await page.locator(".spot-player").dispatch_event("click")
        await visitor.note("The table is paused")
        await visitor.answered()
        assert await visitor.amount(".tray-total b") == 0
        other = await visit("Bea", at=own)
        await other.watch(TABLE)
        await expect(other.page.locator(".call")).to_have_text("Table is paused")
        await expect(other.page.locator(".call-why")).to_be_hidden()  # a snapshot holds no reason
        await tables(own, "resume")
        assert await visitor.bets_open() == number + 1
        await expect(call).to_have_text("Place your bets")
        await expect(page.locator(".call-why")).to_be_hidden()


async def test_a_server_goes_away_with_bets_on_the_felt(visit, tmp_path) -> None:
    """A stop that was meant is told apart from a line that broke; the bets play out when the house is back."""
    async with own_node(tmp_path / "data", betting_ms=15_000, card_ms=60, result_ms=700, grace_ms=60_000) as own:
        visitor = await visit("Ada", at=own)
        await visitor.sit(TABLE, "100")
        number = await visitor.bets_open()
        await visitor.lay("banker", 500)
        own.signal(signal.SIGTERM)
        bar = visitor.page.locator(".line-bar")
        await expect(bar).to_contain_text(
            "The server is restarting. Coming back… Your bets stay on the table and play out."
        )
        await expect(visitor.page.locator(".call")).to_have_text("Waiting for the line")
        roads = await visitor.page.locator(".roads").bounding_box()
        assert roads is not None
        assert roads["y"] + roads["height"] <= 720  # the strip pushes nothing off the screen
        await asyncio.to_thread(own.wait)
        await expect(bar).to_contain_text("The server is restarting.")  # attempts that fail change nothing of that
        await asyncio.to_thread(own.start)
        await visitor.hurry()
        await expect(bar).to_be_hidden(timeout=30_000)
        await visitor.settled(number)
        kept = await seat_kept(own, await visitor.stored_token(), TABLE)
        assert kept is not None
        assert await visitor.stack() == kept.stack
