"""Whole rounds on the page, at a real node; what it shows is compared with what the store holds, to the unit."""

import re

import pytest
from playwright.async_api import expect

from tests.support.kept import seat_kept, wallet_kept
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def agrees(visitor, node, table: str) -> int:
    """Credits and chips on the page are those of the store; returns the stack."""
    await visitor.answered()
    kept = await seat_kept(node, await visitor.stored_token(), table)
    assert kept is not None
    assert (await visitor.stack(), await visitor.bets()) == (kept.stack, {str(s): a for s, a in kept.bets.items()})
    return kept.stack


async def test_a_round_with_a_bet_of_each_kind(visit, node) -> None:
    visitor = await visit("Ada")
    await visitor.sit("royal-1", "1,000.00")
    assert await visitor.stack() == 100_000
    number = await visitor.bets_open()
    await visitor.lay("player", 100, 2)
    await visitor.lay("banker", 500)
    await visitor.lay("tie", 2_500)
    assert await visitor.bets() == {"player": 200, "banker": 500, "tie": 2_500}
    assert await agrees(visitor, node, "royal-1") == 100_000 - 3_200
    assert await visitor.amount(".tray-total b") == 3_200
    await visitor.deal()
    await visitor.settled(number)
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        (played, *_) = (await same.call("history"))["rounds"]
    assert (played["round"], played["bets"]) == (number, {"player": 200, "banker": 500, "tie": 2_500})
    won = sum(line["payout"] - line["stake"] for line in played["results"].values())
    assert (await visitor.stack(), await visitor.net()) == (100_000 + won, won)
    assert await visitor.amount(".rounds tbody tr:first-child td:nth-child(4)") == won
    kept = await seat_kept(node, await visitor.stored_token(), "royal-1")
    assert kept is not None
    assert kept.stack == 100_000 + won


async def test_every_way_to_take_chips_back(visit, node) -> None:
    """Undo, alt-click, a long press, Delete and Clear; whatever is taken back is back in the credits."""
    table = "punto-banco-1"
    visitor = await visit("Ada")
    await visitor.sit(table, "100")
    await visitor.bets_open()
    await visitor.lay("player", 100)
    await visitor.lay("player", 500)
    await visitor.lay("banker", 100, 3)
    await visitor.button("Undo").click()
    await visitor.answered()
    assert await visitor.bets() == {"player": 600, "banker": 200}
    await visitor.spot("player").click(modifiers=["Alt"])
    await visitor.answered()
    assert await visitor.bets() == {"player": 100, "banker": 200}
    await visitor.spot("banker").click(delay=700)
    await visitor.answered()
    assert await visitor.bets() == {"player": 100, "banker": 100}
    await visitor.spot("player").focus()
    await visitor.page.keyboard.press("Delete")
    await visitor.answered()
    assert await visitor.bets() == {"banker": 100}
    await visitor.button("Double").click()
    await visitor.answered()
    assert await visitor.bets() == {"banker": 200}
    await agrees(visitor, node, table)
    await visitor.button("Clear").click()
    await visitor.answered()
    assert await visitor.bets() == {}
    assert await agrees(visitor, node, table) == 10_000


async def test_repeat_and_play_again(visit, node) -> None:
    """Repeat lays the last round's bets; Play Again does so each round, is off until it is asked for, and ends with the
    seat."""
    table = "stand-off-1"
    visitor = await visit("Ada")
    await visitor.sit(table, "500")
    again = visitor.page.get_by_label("Play again each round")
    await expect(again).not_to_be_checked()
    first = await visitor.bets_open()
    await expect(visitor.button("Repeat")).to_have_attribute("aria-disabled", "true")
    await visitor.lay("banker", 500)
    await visitor.deal()
    await visitor.settled(first)
    await visitor.bets_open()
    await visitor.button("Repeat").click()
    await visitor.answered()
    assert await visitor.bets() == {"banker": 500}
    await again.check()
    await visitor.deal()
    second = first + 1
    await visitor.settled(second)
    await visitor.bets_open()
    await expect(visitor.spot("banker").locator(".spot-mine")).to_have_text("5.00")
    await agrees(visitor, node, table)
    await visitor.button("Leave").click()
    await visitor.note("You leave when this round is over")
    token = await visitor.stored_token()
    await visitor.page.wait_for_selector(".stand:not([hidden])", timeout=40_000)
    assert (await seat_kept(node, token, table)) is None
    kept = await wallet_kept(node, token)
    await visitor.page.goto(f"{visitor.url}#/")
    await expect(visitor.page.locator(".top-who")).to_contain_text(f"{kept / 100:,.2f} PTO")


async def test_a_forbidden_combination_is_said_before_the_click(visit, node) -> None:
    table = "four-deck-1"
    visitor = await visit("Ada")
    await visitor.sit(table, "100")
    await visitor.bets_open()
    banker = visitor.spot("banker")
    await expect(banker).not_to_have_attribute("aria-disabled", "true")
    await visitor.lay("player", 500)
    await expect(banker).to_have_attribute("aria-disabled", "true")
    await expect(banker).to_contain_text("Not together with Player")
    await expect(banker).to_have_attribute("aria-label", re.compile("Not together with Player"))
    await expect(visitor.spot("tie")).not_to_have_attribute("aria-disabled", "true")
    await banker.click(force=True)
    await visitor.note("Not together with Player")
    assert await visitor.bets() == {"player": 500}
    await visitor.lay("tie", 100)
    assert await visitor.bets() == {"player": 500, "tie": 100}
    await agrees(visitor, node, table)


async def test_limits_and_credits_are_said_before_the_click(visit, node) -> None:
    table = "red-lounge-1"
    visitor = await visit("Ada")
    await visitor.sit(table, "300")
    await visitor.bets_open()
    await visitor.choose(50_000)
    await expect(visitor.spot("player")).to_contain_text("Not enough credits")
    await expect(visitor.spot("tie")).to_contain_text("The limit on Tie is 100")
    await visitor.lay("player", 10_000, 2)
    await expect(visitor.button("Double")).to_have_attribute("aria-disabled", "true")
    await visitor.button("Double").click(force=True)
    await visitor.note("Not enough credits")
    assert await visitor.bets() == {"player": 20_000}
    await agrees(visitor, node, table)
    await visitor.button("Bring chips").click()
    await visitor.buy("200.50")
    await expect(visitor.page.locator("[data-field=credits]")).to_have_text("300.50 PTO")
    assert await agrees(visitor, node, table) == 30_050
    assert await visitor.net() == 0
