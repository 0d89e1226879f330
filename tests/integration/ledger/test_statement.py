"""Statement and history over the wire: what a patron was told while playing, told again from the ledger."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Spot, connect
from client_sdk.client import Client, CodecName
from client_sdk.exceptions import BadField, Refused
from client_sdk.protocol.messages import BettingOpened, PlayedRound, Receipt, Results, RoundSettled, StatementLine
from client_sdk.table import Table
from server.audit import audit
from server.store.books import Books
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.support.house import House
from tests.support.node_process import running_node
from tests.support.raw_client import TABLES, RawClient
from tests.support.stores import SingleStore, running_store

PATIENCE_S = 15
PLAY_MONEY = 1_000_000


@pytest.fixture
async def come(brisk_url: str) -> AsyncIterator[Callable[..., Any]]:
    """`await come(...)`: a client, closed afterwards."""
    clients: list[Client] = []

    async def connected(**how: Any) -> Client:
        clients.append(await connect(brisk_url, **({"name": "Ann"} | how)))
        return clients[-1]

    yield connected
    for client in clients:
        await client.close()


async def whole_statement(client: Client) -> list[StatementLine]:
    """The statement once it holds everything that has happened at the tables by now, the oldest line first."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            lines = [line async for line in client.statement()]
            if sum(line.kind == "cashed_out" for line in lines) == sum(line.kind == "cash_out_taken" for line in lines):
                return lines[::-1]
            await asyncio.sleep(0.05)


async def play(table: Table, rounds: int) -> tuple[list[Receipt], list[Results], dict[int, RoundSettled]]:
    """Bet in so many rounds; returns what was told."""
    receipts: list[Receipt] = []
    results: list[Results] = []
    settled: dict[int, RoundSettled] = {}
    async with asyncio.timeout(PATIENCE_S):
        async for event in table:
            match event:
                case BettingOpened() if len(results) < rounds:
                    for act in (table.place(Spot.PLAYER, 500), table.place(Spot.PLAYER, 100), table.undo()):
                        try:
                            receipts.append(await act)
                        except Refused:
                            pass  # too late
                case Results():
                    results.append(event)
                case RoundSettled():
                    settled[event.round] = event
                    if len(results) >= rounds and results[-1].round in settled:
                        return receipts, results, settled
    raise AssertionError("the table ended")


def assert_adds_up(lines: list[StatementLine], wallet: int) -> None:
    """Each movement follows from the one before it, in the wallet and in each stack."""
    balances: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for line in lines:
        place = "" if line.number is None else str(line.table)
        assert balances.get(place, 0) + line.amount == line.balance, line
        balances[place] = line.balance
        if line.number is not None:
            assert line.number > numbers.get(place, 0)
            numbers[place] = line.number
    assert balances.pop("") == wallet
    assert set(balances.values()) <= {0}, "every stack went home"
    assert [int(line.id) for line in lines] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("codec", ["msgpack", "json"])
async def test_what_was_told_is_in_statement_and_history(come: Callable[..., Any], codec: CodecName) -> None:
    client: Client = await come(codec=codec, buy_in=50_000)
    tables = [await client.join(table) for table in ("royal-1", "stand-off-1")]
    told = await asyncio.gather(*(play(table, 3) for table in tables))
    for table in tables:
        await table.leave()
    async with asyncio.timeout(PATIENCE_S):
        while client.wallet < PLAY_MONEY - 10_000:
            await asyncio.sleep(0.05)
    lines = await whole_statement(client)
    again: Client = await come(codec=codec, token=client.token)
    assert_adds_up(lines, again.wallet)
    for table, (receipts, results, _) in zip(tables, told, strict=True):
        mine = [line for line in lines if line.table == table.id]
        acted = [(line.request_id, line.round, line.at_ms, line.balance) for line in mine if line.kind == "acted"]
        assert acted == [(one.request_id, one.round, one.accepted_at_ms, one.stack) for one in receipts]
        paid = {line.round: (line.stake, line.amount, line.balance) for line in mine if line.kind == "settled"}
        for one in results:
            stake, payout = (sum(getattr(bet, name) for bet in one.bets.values()) for name in ("stake", "payout"))
            assert paid[one.round] == (stake, payout, one.stack)
        history = {played.round: played async for played in client.history() if played.table == table.id}
        assert {number: (played.outcome, played.results) for number, played in history.items()} == {
            one.round: (one.outcome, one.bets) for one in results
        }
    pages = [page async for page in client.statement(page_lines=7).pages()]
    assert [line for page in pages for line in page.lines] == lines[::-1]
    assert [len(page.lines) for page in pages[:-1]] == [7] * (len(pages) - 1)
    newest = {table.id: max(line.number or 0 for line in lines if line.table == table.id) for table in tables}
    async with asyncio.timeout(PATIENCE_S):  # it moves behind the copies, when all of a seal are there
        while not await is_complete_to(client, newest):
            await asyncio.sleep(0.05)


async def is_complete_to(client: Client, numbers: Mapping[str, int]) -> bool:
    """Whether a statement says that it holds everything up to these entries."""
    async for page in client.statement(page_lines=7).pages():
        return all(page.complete_to[table].number >= number for table, number in numbers.items())
    return False


async def test_every_seat_holds_the_same_seal(come: Callable[..., Any]) -> None:
    """The seal is public: who bets, who only sits and who watches are told the same."""
    ann, bob, eve = [await come(name=name) for name in ("Ann", "Bob", "Eve")]
    tables = [
        await ann.join("red-lounge-1", buy_in=5_000),
        await bob.join("red-lounge-1"),
        await eve.watch("red-lounge-1"),
    ]
    playing, watching = asyncio.create_task(play(tables[0], 2)), [table.subscribe() for table in tables[1:]]
    _, _, settled = await playing
    for reader in watching:
        seen: dict[int, RoundSettled] = {}
        async with asyncio.timeout(PATIENCE_S):
            while not seen.keys() >= settled.keys():
                event = await anext(reader)
                if isinstance(event, RoundSettled):
                    seen[event.round] = event
        assert [seen[number] for number in settled] == list(settled.values())
    newest = list(settled.values())[-1]
    assert len(newest.seal) == 64
    assert newest.sealed_to > 0


@pytest.mark.parametrize("request_kind", ["statement", "history"])
async def test_pages_are_asked_for_within_bounds(arrive: Any, brisk_url: str, request_kind: str) -> None:
    client = await arrive(brisk_url, "Strict")
    most = {"statement": 100, "history": 50}[request_kind]
    assert (await client.call(request_kind, limit=most))["more"] is False
    for field, wrongs in (("limit", (0, most + 1, "5")), ("before", ("0", "x", 3))):
        for wrong in wrongs:
            refused = await client.ask(request_kind, **{field: wrong})
            assert (refused["name"], refused["field"]) == ("BAD_FIELD", field)
    refused = await client.ask(request_kind, patron="somebody")
    assert (refused["name"], refused["field"]) == ("BAD_FIELD", "patron")
    stranger = await RawClient.open(brisk_url)
    assert (await stranger.ask(request_kind))["name"] == "HELLO_FIRST"
    await stranger.close()
    assert BadField.CODE is not None


async def test_a_new_guest_has_one_line(come: Callable[..., Any]) -> None:
    client: Client = await come()
    (line,) = [line async for line in client.statement()]
    assert (line.id, line.kind, line.amount, line.balance, line.table) == ("1", "put_in", PLAY_MONEY, PLAY_MONEY, None)
    assert [played async for played in client.history()] == []


async def test_bl_013_a_refunded_bet_is_in_the_history_as_refunded(tmp_path: Path) -> None:
    """BL-013: ties with stakes of 1, 3 and 7 units; history and totals tell the stakes as come back."""
    (tmp_path / "ties.txt").write_text("9 9 T K\nA A 2 2 K K\n6 6 T T\n")
    flags: dict[str, int | str] = {"betting_ms": 5_000, "card_ms": 0, "result_ms": 0, "chips": "7,3,1", "minimum": 1}
    with running_node(tmp_path / "data", stacked_shoe=str(tmp_path / "ties.txt"), **flags) as node:
        async with connect(node.url, name="Odd") as client:
            table, stakes = await client.join("stand-off-1", buy_in=100), [7, 3, 1]
            async with asyncio.timeout(PATIENCE_S):
                async for event in table:
                    if isinstance(event, BettingOpened):
                        if not stakes:
                            break
                        await table.place(Spot.BANKER, stakes.pop())
                        await table.ready()
            rounds: list[PlayedRound] = []
            async with asyncio.timeout(PATIENCE_S):
                while len(rounds) < 3:
                    rounds = [played async for played in client.history()]
            for played, stake in zip(reversed(rounds), (1, 3, 7), strict=True):
                (line,) = played.results.values()
                assert (played.outcome, played.bets) == ("tie", {Spot.BANKER: stake})
                assert (line.result, line.stake, line.payout, line.commission) == ("push", stake, stake, 0)
            settled = [line async for line in client.statement() if line.kind == "settled"]
            told = [(line.stake, line.amount, line.balance) for line in settled]
            assert told == [(7, 7, 100), (3, 3, 100), (1, 1, 100)]


async def test_bl_153_one_patron_at_five_tables_of_two_nodes(tmp_path: Path) -> None:
    """BL-153: bets, top-ups and leaves at five tables over two nodes, money put in and taken out in between; the wallet
    is what its lines say, and never below nothing."""
    chance = random.Random(153)
    async with running_store(SingleStore(tmp_path / "store")) as store, Driver(store.url) as driver:
        wallets, books, ledgers = Wallets(driver), Books(driver), Ledgers(driver)
        async with House(tmp_path, store.url, 2, betting_ms=400, card_ms=5, result_ms=50) as house:
            first = await RawClient.arrive(house.nodes[0].url, "Everywhere")
            second = await RawClient.arrive(house.nodes[1].url, token=first.token)
            is_over = asyncio.Event()

            async def busy(number: int, table: str) -> None:
                client = (first, second)[number % 2]
                for _ in range(2):
                    await client.ask("join", table=table, buy_in=20_000)
                    for _ in range(3):
                        round_number = await client.betting(table)
                        for _ in range(8):
                            await client.ask("place", table=table, round=round_number, spot="player", chip=100)
                        if chance.random() < 0.5:
                            await client.ask("join", table=table, buy_in=100)
                    await client.ask("leave", table=table)
                    async with asyncio.timeout(PATIENCE_S):
                        while (await client.call("watch", table=table))["you"] is not None:
                            await asyncio.sleep(0.02)

            async def operate() -> None:
                for number in range(10_000):
                    kind: Any = chance.choice(("credited", "debited"))
                    await wallets.operate(first.patron, f"o{number}", kind, 1_000)
                    assert (await books.wallet(first.patron)).balance >= 0
                    if is_over.is_set():
                        return

            operating = asyncio.create_task(operate())
            await asyncio.gather(*(busy(number, table) for number, table in enumerate(TABLES)))
            is_over.set()
            await operating
            for client in (first, second):
                await client.close()
        found = await audit(books, Tables(driver), ledgers)
        assert (found.differences, found.replayed) == ([], 5)
        assert found.stacks == found.open_bets == found.under_way == 0
        lines = [each async for each in ledgers.lines_after(first.patron, 0)]
        assert len(lines) > 200
