"""Odd amounts over the wire: chips of 1, 7 and 33 at every house, until nothing is left but what the rules say.

The shoes are stacked, so that every outcome comes; what was paid is compared with a second calculation that knows
nothing of ours, the stack with the sum of what was told.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Spot, connect
from client_sdk.protocol.messages import Results
from client_sdk.table import Table
from server.store.driver import Driver
from server.store.tables import Tables
from server.store.wallets import WALLET_MAX, Wallets
from tests.support import plain_rules
from tests.support.node_process import NodeProcess, running_node
from tests.support.raw_client import SUBPROTOCOLS, TABLES, Message, RawClient

LINES = {"player": "9 K T K", "banker": "K 9 T K", "tie": "9 9 T K"}
CHIPS = (9_999, 999, 101, 33, 7, 1)
BUY_IN = 2_000_000
LAST_BETS = 50
"""Wins in a row after which a shown balance must still be the real one."""


def stacked_node(home: Path, outcomes: Sequence[str], **flags: int | str) -> Any:
    """A node that deals these outcomes over and over, and goes on as soon as everybody is ready."""
    file = home / "lines.txt"
    file.write_text("".join(f"{LINES[outcome]}\n" for outcome in outcomes))
    chips = ",".join(map(str, CHIPS))
    given: dict[str, int | str] = {
        "betting_ms": 5_000,
        "card_ms": 0,
        "result_ms": 0,
        "chips": chips,
        "minimum": 1,
        "maximum": 100_000,
        "tie_maximum": 20_000,
        "play_money": 10 * BUY_IN,
    }
    return running_node(home / "data", stacked_shoe=str(file), **(given | flags))


@pytest.fixture(scope="module")
def odd_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with stacked_node(tmp_path_factory.mktemp("odd"), tuple(LINES)) as node:
        yield node


async def test_the_start_says_that_commission_is_rounded(odd_node: NodeProcess) -> None:
    async with asyncio.timeout(5):
        while not (notes := [line for line in odd_node.output if "commission" in line]):
            await asyncio.sleep(0.01)
    (note,) = notes
    assert note.split("note")[1].strip() == (
        "banker commission is rounded up to the minor unit at royal-1, four-deck-1, punto-banco-1, stand-off-1, "
        "red-lounge-1"
    )


async def lay(client: RawClient, table: str, spots: Sequence[str], chips: Sequence[int]) -> dict[str, int]:
    """Lay each of these chips on the next spot in turn; returns what lies."""
    number = client.round[table]
    laying = [
        await client.begin("place", table=table, round=number, spot=spots[place % len(spots)], chip=chip)
        for place, chip in enumerate(chips)
    ]
    replies = [await asyncio.wait_for(reply, 10) for reply in laying]
    assert [reply["type"] for reply in replies] == ["ok"] * len(chips), replies
    laid: dict[str, int] = replies[-1]["bets"]
    return laid


async def play(url: str, table: str, subprotocol: str) -> list[Message]:
    """Every set of spots against every outcome; returns the lines of all results."""
    house = plain_rules.HOUSES[table]
    sets = [spots for size in (1, 2, 3) for spots in combinations(house.spots, size)]
    sets = [spots for spots in sets if house.player_with_banker or not {"player", "banker"} <= set(spots)]
    chosen, lines = count(), []
    async with await RawClient.arrive(url, "Odd", subprotocol=subprotocol) as client:
        stack = (await client.join(table, BUY_IN))["you"]["stack"]
        for spots in sets:
            for outcome in LINES:
                number = await client.betting(table)
                turn = next(chosen)
                chips = [CHIPS[(turn + place) % len(CHIPS)] for place in range(1 + turn % 5)] + [101] * len(spots)
                laid = await lay(client, table, spots, chips)
                await client.call("ready", table=table, round=number)
                results = await client.next("results", table=table, round=number)
                assert results["outcome"] == outcome
                assert results["bets"] == plain_rules.results(table, laid, outcome)
                stack += sum(line["payout"] - line["stake"] for line in results["bets"].values())
                assert results["stack"] == stack
                lines += results["bets"].values()
        assert (await client.call("leave", table=table))["wallet"] == 9 * BUY_IN + stack
    return lines


async def test_every_house_pays_odd_amounts_to_the_unit(odd_node: NodeProcess) -> None:
    told = await asyncio.gather(
        *(play(odd_node.url, table, SUBPROTOCOLS[place % 2]) for place, table in enumerate(TABLES))
    )
    for table, lines in zip(TABLES, told, strict=True):
        rounded = [line for line in lines if line["commission"] and line["stake"] * 5 % 100 and line["stake"] * 4 % 100]
        assert rounded, f"no commission at {table} had to be rounded"
        assert any(line["capped"] for line in lines) is (table == "royal-1")


# --- BL-150, BL-152: what is shown is what there is -------------------------------------------------------------------


@pytest.fixture(scope="module")
def banker_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with stacked_node(
        tmp_path_factory.mktemp("banker"), ["banker"], maximum=10_000_000, table_maximum=0, seats_max=10
    ) as node:
        yield node


async def play_round(table: Table, chips: Sequence[int]) -> Results:
    """Lay chips on BANKER with the SDK and wait for what comes of them."""
    mirror = table.mirror
    async with asyncio.timeout(10):
        inbox = table.subscribe()
        while mirror.phase != "betting":
            await anext(inbox)
        for chip in chips:
            await table.place(Spot.BANKER, chip)
        await table.ready()
        while not isinstance(event := await anext(inbox), Results):
            pass
        table.unsubscribe(inbox)
    return event


async def test_bl_150_the_whole_balance_that_is_shown_can_be_bet(banker_node: NodeProcess) -> None:
    """After fifty wins on BANKER with odd stakes: the stack in view is laid to the last unit, and nothing is left."""
    async with connect(banker_node.url, name="Ada", codec="json") as client:
        before = client.wallet
        table = await client.join("red-lounge-1", buy_in=54_321)
        won = 0
        for turn in range(LAST_BETS):
            chips = [CHIPS[(turn + place) % len(CHIPS)] for place in range(1 + turn % 3)]
            stack = table.mirror.stack
            results = await play_round(table, chips)
            line = results.bets[Spot.BANKER]
            assert (line.stake, line.commission) == (sum(chips), -(-sum(chips) * 4 // 100))
            assert results.stack == stack + line.payout - line.stake
            won += line.payout - line.stake
        shown = table.mirror.stack
        assert shown == 54_321 + won
        chips, left = [], shown
        while left:
            chips.append(next(chip for chip in CHIPS if chip <= left))
            left -= chips[-1]
        inbox = table.subscribe()
        while table.mirror.phase != "betting":
            await anext(inbox)
        for chip in chips:
            receipt = await table.place(Spot.BANKER, chip)
        assert (receipt.stack, receipt.bets, table.mirror.stack) == (0, {Spot.BANKER: shown}, 0)
        await table.clear()
        assert table.mirror.stack == shown
        left_with = await table.leave()
        assert left_with.wallet == client.wallet == before + won


@pytest.mark.parametrize("codec", ["json", "msgpack"])
async def test_bl_152_sixteen_digits_are_shown_and_bet_to_the_unit(tmp_path: Path, codec: Any) -> None:
    """A wallet as full as the operator may make it, a chip of fifteen digits: no side rounds any of it."""
    chip, other = 123_456_789_012_347, 1
    limits = {"maximum": 2 * chip, "tie_maximum": chip, "table_maximum": 0, "seats_max": 2, "play_money": 0}
    with stacked_node(tmp_path, ["banker"], chips=f"{chip},{other}", **limits) as node:
        async with connect(node.url, name="Croesus", codec=codec) as client:
            async with Driver(f"unix://{node.data / 'valkey.sock'}") as driver:
                await Wallets(driver).operate(client.patron, "o1", "credited", WALLET_MAX)
            async with connect(node.url, token=client.token, codec=codec) as rich:
                assert rich.wallet == WALLET_MAX
                table = await rich.join("punto-banco-1", buy_in=WALLET_MAX - 1)
                assert (rich.wallet, table.mirror.stack) == (1, WALLET_MAX - 1)
                results = await play_round(table, [chip, other])
                line = results.bets[Spot.BANKER]
                commission = -(-(chip + other) * 5 // 100)
                assert (line.stake, line.payout) == (chip + other, 2 * (chip + other) - commission)
                assert table.mirror.stack == results.stack == WALLET_MAX - 1 + chip + other - commission
                assert (await table.leave()).wallet == rich.wallet == WALLET_MAX + chip + other - commission


# --- BL-014: two wins at once -----------------------------------------------------------------------------------------


async def test_bl_014_two_wins_of_one_wallet_at_two_tables_are_each_cut_to_the_cap(tmp_path: Path) -> None:
    """Both settled in the same instant; the cut is told, and the other bets of the round stay whole."""
    with stacked_node(tmp_path, ["tie"], win_max=5_000) as node:
        async with await RawClient.arrive(node.url, "Twice") as client:
            async with Driver(f"unix://{node.data / 'valkey.sock'}") as driver:
                tables = Tables(driver)
                rules = (await tables.view("royal-1")).view.rules
                assert rules.win_max == 5_000
                assert await tables.create("royal-2", rules, "twin", "run")
            both = ("royal-1", "royal-2")
            for table in reversed(both):  # the twin has a dealer as soon as a node finds it
                await client.join(table, 100_000)
                await client.betting(table)
            for table in both:
                await lay(client, table, ("tie", "banker"), (999, 999))
            await asyncio.gather(*(client.call("ready", table=table, round=client.round[table]) for table in both))
            for table in both:
                (results,) = await client.until(partial(client.seen, "results", table=table))
                assert results["bets"] == {
                    "tie": {"stake": 999, "payout": 5_999, "commission": 0, "result": "win", "capped": 2_992},
                    "banker": {"stake": 999, "payout": 999, "commission": 0, "result": "push", "capped": 0},
                }
                assert results["stack"] == 105_000
            wallets = [(await client.call("leave", table=table))["wallet"] for table in both]
            assert wallets[-1] == 10 * BUY_IN + 10_000
