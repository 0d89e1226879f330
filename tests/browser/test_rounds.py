"""Whole rounds on the page, at a real node; what it shows is compared with what the house keeps, to the unit."""

import pytest
from playwright.async_api import expect

from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_round_with_a_bet_of_each_kind(visit, node) -> None:
    visitor = await visit("Ada")
    await visitor.sit("royal-1", "1,000.00")
    assert await visitor.stack() == 100_000
    number = await visitor.bets_open()
    await visitor.lay("player", 100, 2)
    await visitor.lay("banker", 500)
    await visitor.lay("tie", 2_500)
    assert await visitor.bets() == {"player": 200, "banker": 500, "tie": 2_500}
    assert await visitor.stack() == 100_000 - 3_200
    await visitor.deal()
    await visitor.settled(number)
    stack, net = await visitor.stack(), await visitor.net()
    async with await RawClient.arrive(node.url, token=await visitor.stored_token()) as same:
        (played, *_) = (await same.call("history"))["rounds"]
        you = (await same.call("watch", table="royal-1"))["you"]
    assert (played["round"], played["bets"]) == (number, {"player": 200, "banker": 500, "tie": 2_500})
    won = sum(line["payout"] - line["stake"] for line in played["results"].values())
    assert (stack, net) == (100_000 + won, won)
    assert you["stack"] == stack
    row = visitor.page.locator(".rounds tbody tr").first
    await expect(row).to_contain_text(f"{number}")
    assert await visitor.amount(".rounds tbody tr:first-child td:nth-child(4)") == won
