"""Rounds are checked in the browser against what the house published before, and the mark says what was found."""

import json
import re

import pytest
from playwright.async_api import expect

from tests.support.kept import seat_kept
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def fact(page, name: str) -> str:
    """What the open sheet says of the shoe."""
    return str(await page.locator(f"dt:text-is('{name}') + dd").inner_text())


async def test_a_round_and_an_own_cut_are_proved(visit, node) -> None:
    """What the sheet shows is what the wire tells anybody; the cut lies in the store; the round's cards are proved."""
    table = "royal-1"
    visitor = await visit("Ada")
    page = visitor.page
    await visitor.sit(table, "100")
    number = await visitor.bets_open()
    await page.locator(".proof-mark").click()
    async with await RawClient.arrive(node.url) as other:
        shoe = (await other.call("watch", table=table))["snapshot"]["shoe"]
        assert await fact(page, "Commitment") == shoe["commitment"]
        put_in = visitor.button("Put in a random cut")
        if shoe["first_round"] == number:
            await put_in.click()
            await expect(page.locator("dialog")).to_contain_text(re.compile("Yours is in this shoe: [0-9a-f]{32}"))
            kept = await seat_kept(node, await visitor.stored_token(), table)
            assert kept is not None
            assert kept.cut is not None
            assert kept.cut in await page.locator("dialog").inner_text()
        else:
            await expect(put_in).to_be_hidden()
        await page.keyboard.press("Escape")
        await visitor.lay("player", 100)
        await visitor.deal()
        await visitor.settled(number)
        await expect(page.locator(".proof-mark")).to_contain_text("proof ok")
        shoe = (await other.call("watch", table=table))["snapshot"]["shoe"]
        await page.locator(".proof-mark").click()
        assert await fact(page, "Root") == shoe["merkle_root"]
        assert await fact(page, "Digest of the cuts") == shoe["cuts_digest"]
        await expect(page.locator(".proofs tr[data-state=ok]").first).to_contain_text(str(number))


async def test_where_every_round_has_a_shoe_the_revealed_secret_is_the_proof(visit) -> None:
    visitor = await visit("Ada")
    await visitor.sit("red-lounge-1", "100")
    number = await visitor.bets_open()
    await visitor.lay("player", 100)
    await visitor.deal()
    await visitor.settled(number)
    await expect(visitor.page.locator(".proof-mark")).to_contain_text("proof ok")


async def test_a_house_that_lies_is_caught(visit) -> None:
    """One card of the round, on its way to the page, is another one: the mark says so in words."""
    visitor = await visit("Ada")
    page = visitor.page

    def connect(route) -> None:
        server = route.connect_to_server()

        def forge(text) -> None:
            message = json.loads(text)
            if message["type"] == "card_dealt":
                message["card"] = "9h" if message["card"] != "9h" else "9s"
            route.send(json.dumps(message))

        server.on_message(forge)

    await page.route_web_socket(lambda url: True, connect)
    await page.reload()
    await page.wait_for_selector(".lobby-table")
    await visitor.sit("punto-banco-1", "100")
    await visitor.bets_open()
    await visitor.lay("player", 100)
    await visitor.deal()
    await expect(page.locator(".proof-mark")).to_contain_text("proof failed", timeout=20_000)
    await page.locator(".proof-mark").click()
    await expect(page.locator(".proofs tr[data-state=failed]").first).to_contain_text(
        re.compile("tableau|outcome|shown|twice")
    )
