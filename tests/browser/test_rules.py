"""The rules of a house as its sheet says them: what it states of its return, and what its cap does to it."""

from pathlib import Path

import pytest

from tests.support.node_process import own_node
from tests.support.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def rules_of(visitor: Visitor, table: str) -> str:
    """The words of the sheet."""
    await visitor.watch(table)
    await visitor.button("Rules and odds").click()
    return " ".join((await visitor.page.locator("dialog").inner_text()).split())


async def test_what_a_house_states_stands_beside_what_is_computed(visit) -> None:
    visitor = await visit("Ada")
    royal = await rules_of(visitor, "royal-1")
    assert "This house states an RTP of 98.85%. That is the mean of the Player and the Banker bet, 98.8535%," in royal
    assert "The cap does not touch those two bets." in royal
    assert "A win of one bet is capped at 750.00. It touches Tie bets above 93.75:" in royal
    assert "the RTP falls from 85.64% to 80.88%" in royal


async def test_a_house_that_states_nothing_says_nothing_of_it(visit) -> None:
    assert "states" not in await rules_of(await visit("Ada"), "punto-banco-1")


async def test_equal_naturals_are_a_stand_off_where_no_bet_on_the_tie_is_taken(visit) -> None:
    stand_off = await rules_of(await visit("Ada"), "stand-off-1")
    assert "equal totals, equal naturals included, are a stand-off, and all bets come back" in stand_off
    royal = await rules_of(await visit("Bea"), "royal-1")
    assert "On a tie, equal naturals included, Player and Banker bets come back." in royal
    assert "stand-off" not in royal


async def test_a_cap_that_touches_those_bets_is_counted_in(visit, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", win_max=20_000) as node:
        royal = await rules_of(await visit("Ada", at=node), "royal-1")
    assert "At the limits of this table the cap lowers it to" in royal
