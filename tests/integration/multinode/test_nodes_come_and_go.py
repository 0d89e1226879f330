"""Nodes that are killed, stopped slowly, or join: who owns which table, and what becomes of the seats."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self

import pytest

from server.store import keys
from tests.support import plain_roads
from tests.support.house import House, HouseNode, newest
from tests.support.raw_client import TABLES, Message, RawClient, assert_gapless
from tests.support.rounds import check_round, whole_rounds
from tests.support.stores import Store
from tests.support.valkey_server import run, until

BUY_IN = 10_000
LEASE_S = 1.2
SILENT_S = 1.0
SLACK_S = 2.0  # of a machine on which other tests run


async def field(store: Store, table: str, name: str) -> str:
    """A field of a table's hash."""
    key = keys.table_key(table)
    value = await (await store.primary_of(key)).ask("HGET", key, name)
    return "" if value is None else str(value.decode())


async def registered(store: Store) -> set[str]:
    """The nodes that the register holds."""
    listed = await (await store.primary_of(keys.NODES)).ask("ZRANGE", keys.NODES, 0, -1)
    return {node.decode() for node in listed}


async def owned_by(store: Store, node: HouseNode) -> list[str]:
    """The tables that a node owns now."""
    return [table for table in TABLES if await field(store, table, "owner") == node.node_id]


async def quickly(condition: Callable[[], Awaitable[Any]], what: str, within_s: float) -> None:
    await until(condition, what, within_s + SLACK_S)


async def owner_among(store: Store, house: House) -> tuple[str, HouseNode, HouseNode]:
    """A table that some node owns, that node, and another one."""
    await until(lambda: all_owned(store), "every table has an owner")
    for node in house.nodes:
        if tables := await owned_by(store, node):
            return tables[0], node, next(other for other in house.nodes if other is not node)
    raise AssertionError("no table has an owner")


async def all_owned(store: Store) -> bool:
    return all([await field(store, table, "owner") for table in TABLES])


async def test_a_killed_node_is_out_of_the_register_and_its_tables_go_on(arrive, open_house) -> None:
    """BL-086: out within the stated time; its tables are listed, joined and played at the node that lives."""
    async with open_house(2) as (store, house):
        table, dead, alive = await owner_among(store, house)
        assert await registered(store) == {dead.node_id, alive.node_id}
        dead.kill()

        async def is_out() -> bool:
            return await registered(store) == {alive.node_id}

        await quickly(is_out, "the dead node is out of the register", SILENT_S)
        client = await arrive(alive.url, "Heir")
        assert [row["table"] for row in (await client.call("list_tables"))["tables"]] == sorted(TABLES)
        await client.join(table, BUY_IN)
        number = await client.betting(table, 5)
        await client.place(table, "player", 100)
        await client.next("results", table=table, round=number)
        assert await field(store, table, "owner") == alive.node_id


@pytest.mark.parametrize("phase", ["betting", "dealing"])
async def test_a_bet_outlives_the_node_that_took_it(arrive, open_house, phase: str) -> None:
    """BL-046, BL-072: the owner is killed with the bettor's socket on it; the same round goes on with the same cards,
    and the bet is settled once, for a patron who comes back at another node."""
    async with open_house(2, betting_ms=1_000, card_ms=150, grace_ms=8_000) as (store, house):
        table, owner, other = await owner_among(store, house)
        witness = await arrive(other.url, "Witness")
        before = (await witness.join(table, BUY_IN))["snapshot"]
        seq = before["seq"]
        bettor = await arrive(owner.url, "Bettor")
        await bettor.join(table, BUY_IN)
        number = (await bettor.next("betting_opened", table=table))["round"]
        await bettor.place(table, "player", 500)
        await bettor.until(lambda: bettor.phase[table] == phase)
        if phase == "dealing":
            await bettor.next("card_dealt", table=table, round=number)
        owner.kill()
        bettor.joined.clear()
        again = await arrive(other.url, token=bettor.token)
        you = (await again.join(table))["you"]
        assert (you["stack"], you["bets"]) == (BUY_IN - 500, {"player": 500})
        settled = await witness.next("round_settled", timeout=LEASE_S + SLACK_S + 5, table=table, round=number)
        results = await again.next("results", table=table, round=number)
        assert (settled["settled"], settled["paid"]) == (1, results["bets"]["player"]["payout"])
        assert results["stack"] == BUY_IN - 500 + settled["paid"]
        assert_gapless(witness.numbered(table), seq)
        (events,) = [events for events in whole_rounds(witness.numbered(table)) if events[0]["round"] == number]
        check_round(events)
        assert len(again.seen("results", table=table, round=number)) == 1
        assert_roads_go_on(before, witness.numbered(table), (await again.call("watch", table=table))["snapshot"])


def assert_roads_go_on(before: Message, events: list[Message], after: Message) -> None:
    """What was added to the roads, by whichever owner, makes those that the new owner tells."""
    roads, rounds = before["roads"], []
    for event in events:
        if event["type"] == "shoe_started" and event["seq"] <= after["seq"]:
            roads = event["roads"] or roads
        if event["type"] == "round_decided" and event["seq"] <= after["seq"]:
            roads = plain_roads.after(roads, event["roads"])
            rounds.append(event["round"])
    assert rounds
    assert after["roads"] == roads == plain_roads.whole(roads["beads"], roads["rounds_max"])


async def test_seats_of_a_dead_node_are_freed_after_their_time(open_house) -> None:
    """BL-061: its patrons died with it. The money goes home, the tables fall idle, nothing is left of the seats."""
    async with open_house(2, grace_ms=600) as (store, house):
        table, dead, alive = await owner_among(store, house)
        clients = [await RawClient.arrive(dead.url, f"Gone {n}") for n in range(6)]
        for client in clients:
            await client.join(table, BUY_IN)
        await clients[0].betting(table)
        await clients[0].place(table, "banker", 100)
        dead.kill()
        for client in clients:
            await client.drop()

        async def is_empty() -> bool:
            return await field(store, table, "phase") == "idle" and await field(store, table, "connected") == "0"

        await quickly(is_empty, "the table is idle", LEASE_S + 3)
        key = keys.table_key(table)
        async with (await store.primary_of(key)).admin() as admin:
            for part in ("seats", "stacks", "bets", "ready", "away", "leaving", "played", "outgoing"):
                assert await run(admin, "EXISTS", f"{key}:{part}") == 0, part
        back = await RawClient.arrive(alive.url, token=clients[1].token)
        assert back.wallet == 1_000_000
        await back.close()


async def test_a_node_that_joins_takes_its_share_between_two_rounds(arrive, open_house) -> None:
    """Tables are handed over while they are played at: no round is void, no event is missing, one owner an epoch."""
    async with open_house(2) as (store, house):
        late, present = house.nodes
        await late.end()

        async def has_all() -> bool:
            return len(await owned_by(store, present)) == len(TABLES)

        await until(has_all, "one node has all tables")
        clients = {table: await arrive(present.url, f"At {table}") for table in TABLES}
        seqs = {}
        for table, client in clients.items():
            seqs[table] = (await client.join(table, BUY_IN))["snapshot"]["seq"]
        before = {table: await field(store, table, "epoch") for table in TABLES}
        await late.begin()

        async def play_on(table: str, client: RawClient) -> None:
            number = await client.betting(table)
            await client.until(lambda: client.seen("round_settled", table=table, round=number + 3))

        await asyncio.gather(*(play_on(table, client) for table, client in clients.items()))
        moved = await owned_by(store, late)
        assert sorted([*moved, *await owned_by(store, present)]) == sorted(TABLES)
        for table, client in clients.items():
            assert_gapless(client.numbered(table), seqs[table])
            assert not client.seen("round_voided")
            epochs = int(await field(store, table, "epoch")) - int(before[table])
            assert epochs == (1 if table in moved else 0)
        claims = house.claims()
        assert len({(claim.table, claim.epoch) for claim in claims}) == len(claims)
        assert {table for table, claim in newest(claims).items() if claim.by == late.name} == set(moved)


class SlowLine:
    """A way to a server on which every answer takes its time."""

    def __init__(self, port: int, delay_ms: int) -> None:
        self._port = port
        self._delay_s = delay_ms / 1000
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """What a node takes as its store."""
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            store_reader, store_writer = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(self._pump(reader, store_writer, 0.0), self._pump(store_reader, writer, self._delay_s))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
        try:
            with suppress(ConnectionError):
                while chunk := await reader.read(65_536):
                    await asyncio.sleep(delay_s)
                    writer.write(chunk)
        finally:
            writer.close()


async def test_a_node_on_a_slow_line_leaves_no_table_locked(open_house, tmp_path) -> None:
    """BL-085: SIGTERM while every answer of the store takes 100 ms: all tables have a new owner within the lease."""
    async with open_house(1, kind="single") as (store, house):
        (heir,) = house.nodes
        await heir.end()
        server = await store.primary_of(keys.NODES)
        async with SlowLine(server.port, 100) as line:
            slow = HouseNode("slow", tmp_path / "slow", line.url, heir.flags | {"store": line.url})
            await slow.begin()
            try:
                await until(lambda: all_owned(store), "the slow node owns all tables")
                slow_id = slow.node_id
                await heir.begin()
                slow.signal(signal.SIGTERM)
                assert await slow.ended() == 0
            finally:
                slow.kill()

            async def has_all() -> bool:
                return len(await owned_by(store, heir)) == len(TABLES)

            await quickly(has_all, "the heir owns all tables", LEASE_S)
            assert slow_id not in await registered(store)


async def test_a_table_that_fell_out_of_the_index_is_put_back(arrive, open_house) -> None:
    """BL-087: a node that died between the table and the index left a table that no lobby shows; it is found again."""
    async with open_house(1) as (store, house):
        table = TABLES[0]
        life = await field(store, table, "incarnation")
        await (await store.primary_of(keys.TABLES)).ask("ZREM", keys.TABLES, table)
        client = await arrive(house.nodes[0].url, "Looker")

        async def is_listed() -> bool:
            return table in [row["table"] for row in (await client.call("list_tables"))["tables"]]

        assert not await is_listed()
        await until(is_listed, "the table is in the lobby again", 6)
        assert await field(store, table, "incarnation") == life
