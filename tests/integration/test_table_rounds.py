"""Roads and history over the wire: what was told while it was played is told again, page by page, and is replayed."""

import asyncio
from itertools import pairwise

import pytest

from client_sdk import cli, connect
from client_sdk.exceptions import UnknownTable
from client_sdk.game.cards import Card
from client_sdk.game.replay import replay_round
from client_sdk.protocol.messages import FinishedRound, RoundDecided, TableIdled
from tests.support import plain_roads, plain_rules
from tests.support.node_process import own_node
from tests.support.raw_client import TABLES, Message, RawClient
from tests.support.rounds import whole_rounds

ROUNDS = 6


def assert_told_again(finished: Message, events: list[Message]) -> None:
    """A finished round is what its events told."""
    opened, closed, decided, settled = events[0], events[1], events[-2], events[-1]
    dealt = [event for event in events if event["type"] == "card_dealt"]
    for name in ("round", "shoe", "opened_at_ms"):
        assert finished[name] == opened[name]
    for name in ("closed_at_ms", "totals"):
        assert finished[name] == closed[name]
    for name in ("outcome", "player", "banker"):
        assert finished[name] == decided[name]
    assert (finished["settled"], finished["paid"]) == (settled["settled"], settled["paid"])
    decks = plain_rules.HOUSES[settled["table"]].decks
    assert finished["first_card"] == 52 * decks - dealt[0]["remaining"] - 1
    assert finished["id"] == str(finished["round"])
    assert finished["void_reason"] is None


async def pages_of(client: RawClient, table: str, limit: int) -> list[Message]:
    """All that is kept, page by page."""
    found: list[Message] = []
    while True:
        before = found[-1]["id"] if found else None
        page = await client.call("rounds", table=table, before=before, limit=limit)
        found += page["rounds"]
        assert page["table"] == table
        assert len(page["rounds"]) <= limit
        if not page["more"]:
            return found


async def test_every_round_of_every_table_is_told_again(
    arrive, brisk_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By whoever asks, seated or not; replayed card by card each gives its outcome again, also by `punto replay`."""
    players = [await arrive(brisk_url, f"Player {table}") for table in TABLES]
    for client, table in zip(players, TABLES, strict=True):
        await client.join(table, 10_000)
    for client, table in zip(players, TABLES, strict=True):
        for number in range(ROUNDS):
            if number % 2:
                await client.betting(table)
                await client.ask("place", table=table, round=client.round[table], spot="player", chip=500)
            await client.next("round_settled", table=table)
    stranger = await arrive(brisk_url, "Stranger", subprotocol="punto.v1.json")
    for client, table in zip(players, TABLES, strict=True):
        seen = whole_rounds(client.numbered(table))
        history = {finished["round"]: finished for finished in await pages_of(stranger, table, 4)}
        assert all(later == earlier - 1 for earlier, later in pairwise(history))
        for events in seen:
            assert_told_again(history[events[0]["round"]], events)
        for finished in history.values():
            played = plain_rules.play([card for card, _ in in_deal_order(finished)])
            assert (played.player, played.banker) == (finished["player"], finished["banker"])
            assert played.outcome == finished["outcome"]
        words = ["replay", "--url", brisk_url, "--table", table, "--last", str(len(history))]
        assert await asyncio.to_thread(cli.main, words) == 0
        out, err = capsys.readouterr()
        assert (out.count("  outcome "), err) == (len(history), "")


def in_deal_order(finished: Message) -> list[tuple[str, str]]:
    """The cards of a record and whose each was."""
    player, banker = map(Card, finished["player"]), map(Card, finished["banker"])
    return [(card.card, card.side) for card in replay_round([*player], [*banker], finished["outcome"])]


async def test_the_sdk_reads_a_tables_rounds_and_keeps_its_roads(brisk_url: str) -> None:
    """BL-029: an old seat's mirror, a late comer's, and the lobby hold the same roads and counts."""
    table = "royal-1"
    async with connect(brisk_url, name="Early") as early, connect(brisk_url, name="Late") as late:
        seat = await early.join(table, buy_in=1_000)
        decided: list[RoundDecided] = []
        async with asyncio.timeout(20):
            async for event in seat:
                if isinstance(event, RoundDecided):
                    decided.append(event)
                    if len(decided) == 3:
                        break
            await seat.leave()
            async for event in seat:
                if isinstance(event, TableIdled):
                    break
        told: list[FinishedRound] = []
        async for finished in early.rounds(table, page_rounds=2):
            told.append(finished)
            if len(told) == 3:
                break
        newest = seat.mirror.round
        assert [finished.round for finished in told] == [newest, newest - 1, newest - 2]
        (only,) = [each async for each in early.rounds(table, before_round=newest, page_rounds=1)][:1]
        assert only == told[1]
        fresh = (await late.watch(table)).mirror.roads
        assert seat.mirror.roads == fresh
        counts = fresh.statistics
        assert counts.rounds == counts.player + counts.banker + counts.tie == len(fresh.beads) // 3 >= 3
        (line,) = [line for line in await late.list_tables() if line.table == table]
        assert (line.big_road, line.statistics) == (fresh.big_road, counts)
        with pytest.raises(UnknownTable):
            await anext(aiter(late.rounds("no-such-table")))


async def test_a_killed_node_forgets_no_mark(arrive, tmp_path) -> None:
    """The node and its store are killed in the middle of a deal; deltas from before and after make one picture, and the
    history has no gap."""
    table = "royal-1"
    async with own_node(tmp_path / "data", betting_ms=150, card_ms=5, result_ms=20) as node:
        client = await arrive(node.url)
        first = (await client.join(table, 1_000))["snapshot"]
        for _ in range(3):
            await client.next("round_settled", table=table)
        await client.next("card_dealt", table=table)
        await asyncio.to_thread(node.kill)
        await client.closed()
        before = client.numbered(table)
        await asyncio.to_thread(node.start)
        again = await arrive(node.url, token=client.token)
        resumed = await again.join(table, incarnation=client.incarnation[table], seq=before[-1]["seq"])
        assert resumed["resumed"]
        await again.next("round_settled", table=table)
        snapshot = (await again.call("watch", table=table))["snapshot"]
        kept = [finished["round"] for finished in await pages_of(again, table, 50)]
        client.joined.clear()
    told = [*before, *again.numbered(table)]
    known = {event["seq"]: event for event in told if event["seq"] <= snapshot["seq"]}
    assert sorted(known) == list(range(first["seq"] + 1, snapshot["seq"] + 1))
    roads: Message = first["roads"]
    for event in known.values():
        if event["type"] == "shoe_started":
            roads = event["roads"]
        elif event["type"] == "round_decided":
            roads = plain_roads.after(roads, event["roads"])
    assert snapshot["roads"] == roads == plain_roads.whole(roads["beads"], None)
    assert snapshot["roads"]["statistics"]["rounds"] == len(roads["beads"]) // 3
    assert kept == list(range(kept[0], 0, -1))
