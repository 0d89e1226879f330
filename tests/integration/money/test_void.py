"""`punto-server tables void` beside a house in play: at once, once, and never after the decision."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_sdk.bots.fleet import Fleet
from client_sdk.bots.orders import Orders
from server.cli import main
from server.store.driver import Driver
from server.store.tables import Tables
from tests.support import plain_rules
from tests.support.house import House, newest
from tests.support.node_process import NodeProcess, own_node, running_node
from tests.support.operator import Ended, punto_server
from tests.support.raw_client import Message, RawClient
from tests.support.stores import SingleStore, running_store

TABLE = "punto-banco-1"


@pytest.fixture(scope="module")
def slow_cards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A node that deals slowly enough to come between two cards."""
    with running_node(tmp_path_factory.mktemp("slow-cards"), betting_ms=4_000, card_ms=600, result_ms=500) as node:
        yield node


@pytest.fixture
async def ann(arrive, slow_cards: NodeProcess) -> RawClient:
    """A patron with bets of 7.00 in the open round."""
    return await with_bets(arrive, slow_cards)


async def with_bets(arrive, node: NodeProcess) -> RawClient:
    client: RawClient = await arrive(node.url, "Ann")
    await client.join(TABLE, 10_000)
    number = await client.betting(TABLE)
    for spot, chip in (("player", 500), ("banker", 100), ("tie", 100)):
        await client.call("place", table=TABLE, round=number, spot=spot, chip=chip)
    client.skip()
    return client


async def void(node: NodeProcess, number: int, *more: str) -> Ended:
    return await punto_server("tables", "void", "--data", node.data, "--table", TABLE, "--round", number, *more)


async def assert_all_is_back(client: RawClient, number: int) -> None:
    """The private results of a void round, once."""
    results = await client.next("results", table=TABLE, round=number)
    assert (results["outcome"], results["stack"]) == (None, 10_000)
    stakes = {spot: line["stake"] for spot, line in results["bets"].items()}
    assert stakes == {"player": 500, "banker": 100, "tie": 100}
    for line in results["bets"].values():
        assert (line["result"], line["payout"], line["commission"]) == ("push", line["stake"], 0)
    await client.next("round_settled", table=TABLE, round=number)
    assert len(client.seen("results", round=number)) == 1


async def shoe_of(client: RawClient) -> Message:
    """The shoe that the table deals from."""
    shoe: Message = (await client.call("watch", table=TABLE))["snapshot"]["shoe"]
    return shoe


def cards_of(client: RawClient, number: int) -> list[Message]:
    return client.seen("card_dealt", table=TABLE, round=number)


async def test_a_round_is_made_void_while_bets_are_taken(slow_cards: NodeProcess, ann: RawClient) -> None:
    number, shoe = ann.round[TABLE], await shoe_of(ann)
    ended = await void(slow_cards, number, "--reason", "the lamp fell down")
    assert (ended.code, ended.out) == (0, f"voided: round {number} at {TABLE}; 1 patrons got 700 back\n")
    voided = await ann.next("round_voided", table=TABLE, round=number)
    assert voided["reason"] == "operator: the lamp fell down"
    assert ann.seen("betting_closed", round=number) == cards_of(ann, number) == []
    await assert_all_is_back(ann, number)
    ended_shoe = await ann.next("shoe_ended", table=TABLE)
    assert (ended_shoe["shoe"], ended_shoe["reason"]) == (shoe["number"], "operator")
    again = await void(slow_cards, number)
    assert (again.code, again.out) == (ended.code, ended.out)  # told again, done once
    await ann.next("betting_opened", table=TABLE, round=number + 1)
    assert len(ann.seen("round_voided")) == 1


async def test_a_round_is_made_void_between_two_cards(slow_cards: NodeProcess, ann: RawClient) -> None:
    """At once, not at the next card. What was dealt stays on record, and the shoe is revealed: who knows its order
    could choose by the instant what the next round gets."""
    number, shoe = ann.round[TABLE], await shoe_of(ann)
    await ann.next("card_dealt", table=TABLE, round=number)
    async with Driver(f"unix://{slow_cards.data / 'valkey.sock'}") as driver:
        await Tables(driver).ask_void(TABLE, number, "")
    voided = await ann.next("round_voided", table=TABLE, round=number)
    assert voided["reason"] == "operator"
    await assert_all_is_back(ann, number)
    dealt = cards_of(ann, number)
    assert len(dealt) == 1
    view = (await ann.call("watch", table=TABLE))["snapshot"]
    assert (view["is_void"], view["outcome"]) == (True, None)
    assert [card["card"] for card in view["dealt"]] == [card["card"] for card in dealt]
    ended = await ann.next("shoe_ended", table=TABLE)
    assert (ended["shoe"], ended["reason"]) == (shoe["number"], "operator")
    started = await ann.next("shoe_started", table=TABLE, shoe=shoe["number"] + 1)
    assert plain_rules.opens(shoe["commitment"], ended["secret"])
    assert started["seq"] > ended["seq"]
    assert ann.seen("round_decided", round=number) == []
    seqs = [event["seq"] for event in ann.numbered(TABLE)]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


async def test_a_decided_round_and_any_other_are_refused(arrive, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", result_ms=10_000) as node:
        ann = await with_bets(arrive, node)
        number = ann.round[TABLE]
        results = await ann.next("results", table=TABLE, round=number)
        late, later = await asyncio.gather(void(node, number), void(node, number + 20))
        assert (late.code, late.out, "decided already" in late.err) == (1, "", True)
        assert (later.code, later.out, f"which is round {number}" in later.err) == (1, "", True)
        assert ann.seen("round_voided") == []
        assert results["outcome"] in ("player", "banker", "tie")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("tables",), "verb"),
        (("tables", "void", "--table", "royal-1"), "--round"),
        (("tables", "void", "--round", "1"), "--table"),
        (("tables", "void", "--table", "Royal 1", "--round", "1"), "--table"),
        (("tables", "void", "--table", "royal-1", "--round", "0"), "--round"),
        (("tables", "void", "--table", "royal-1", "--round", "-1"), "--round"),
        (("tables", "void", "--table", "royal-1", "--round", "1", "--reason", "a\nb"), "--reason"),
        (("tables", "void", "--table", "royal-1", "--round", "1", "--reason", "x" * 101), "--reason"),
        (("tables", "void", "--table", "royal-1", "--round", "1", "--data", "/nowhere"), "--data"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...], named: str
) -> None:
    assert main(words) == 2
    assert named in capfd.readouterr().err


async def test_an_unknown_table_is_a_mistake(slow_cards: NodeProcess) -> None:
    ended = await punto_server("tables", "void", "--data", slow_cards.data, "--table", "nowhere-1", "--round", 1)
    assert (ended.code, "nowhere-1" in ended.err) == (2, True)


async def test_without_a_node_it_is_noted_and_the_next_one_does_it(arrive, tmp_path: Path) -> None:
    """Asked while the house is shut, in the middle of a round: done before anything else when it opens."""
    async with own_node(tmp_path / "data", betting_ms=5_000, grace_ms=30_000) as node:
        client = await arrive(node.url, "Ann")
        await client.join(TABLE, 10_000)
        number = await client.betting(TABLE)
        await client.place(TABLE, "banker", 500)
        await asyncio.to_thread(node.kill)
        asked = await void(node, number)
        assert (asked.code, asked.out.startswith(f"noted: round {number} at {TABLE}")) == (0, True)
        await asyncio.to_thread(node.start)
        again = await arrive(node.url, token=client.token)
        joined = await again.join(TABLE, incarnation=client.incarnation[TABLE], seq=client.events[-1].get("seq", 0))
        if not joined["you"]["last_results"]:
            await again.next("round_settled", table=TABLE, round=number)
        you = (await again.call("watch", table=TABLE))["you"]
        assert (you["stack"] + sum(you["bets"].values()), you["last_round"]) == (10_000, number)
        assert (you["last_outcome"], you["last_results"]["banker"]["result"]) == (None, "push")
        told = await void(node, number)
        assert told.out == f"voided: round {number} at {TABLE}; 1 patrons got 500 back\n"
        client.joined.clear()
    audit = await punto_server("audit", "--data", tmp_path / "data", "--json")
    assert (audit.code, audit.told["house"]) == (0, 0)


async def test_a_node_that_was_killed_leaves_the_wish_to_the_next(arrive, tmp_path: Path) -> None:
    """The command goes to the store and waits until another node has taken the table over."""
    async with running_store(SingleStore(tmp_path)) as store:
        async with House(tmp_path, store.url, 2, betting_ms=60_000) as house:
            client = await arrive(house.url, "Ann")
            await client.join(TABLE, 10_000)
            number = await client.betting(TABLE)
            await client.place(TABLE, "tie", 500)
            owner = newest(house.claims())[TABLE].by
            next(node for node in house.nodes if node.name == owner).kill()
            ended = await punto_server("tables", "void", "--store", store.url, "--table", TABLE, "--round", number)
            assert ended.out == f"voided: round {number} at {TABLE}; 1 patrons got 500 back\n"
            client.joined.clear()
        audit = await punto_server("audit", "--store", store.url, "--json")
        assert (audit.code, audit.told["house"]) == (0, 0)


async def test_bots_that_check_everything_find_nothing_wrong_in_void_rounds(tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", betting_ms=400, card_ms=40, result_ms=60) as node:
        orders = Orders(
            url=node.url, patrons=12, rounds=10**6, seed="void", strategy="busy", tables=(TABLE,), presses_ready=False
        )
        fleet, stop = Fleet(orders), asyncio.Event()
        playing = asyncio.create_task(fleet.run(stop))
        store = Driver(f"unix://{node.data / 'valkey.sock'}")
        async with store as driver, await RawClient.arrive(node.url, "Eve") as eve:
            await eve.call("watch", table=TABLE)
            for kind in ("betting_opened", "card_dealt", "betting_closed") * 2:
                event = await eve.next(kind, table=TABLE)
                await Tables(driver).ask_void(TABLE, event["round"], "")
                await eve.next("round_settled", table=TABLE, round=event["round"])
            await eve.next("round_decided", table=TABLE)
            voided = eve.seen("round_voided")
        stop.set()
        await playing
        assert len(voided) == 6
        assert fleet.tally.details == []
        assert fleet.tally.failures == []
    assert (await punto_server("audit", "--data", tmp_path / "data")).code == 0
