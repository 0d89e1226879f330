"""What nodes and patrons meet when the one server under them stops, dies, or comes back without its data."""

import asyncio
import os
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from server.store import keys
from tests.support.house import House, HouseNode, opened
from tests.support.raw_client import TABLES, CallRefused, RawClient
from tests.support.stores import SingleStore
from tests.support.valkey_server import until

PACE = {"betting_ms": 400, "card_ms": 20, "result_ms": 60, "grace_ms": 4_000}
BUY_IN = 10_000
ANSWER_S = 3.0
"""A call to the store is given up after this time."""


@pytest.fixture
def store(tmp_path: Path) -> SingleStore:
    return SingleStore(tmp_path / "store")


def on(store: SingleStore, tmp_path: Path, count: int = 1, **flags: int) -> AbstractAsyncContextManager[House]:
    return opened(store, tmp_path, count, **{**PACE, **flags})


async def status_of(node: HouseNode, path: str) -> int:
    def ask() -> int:
        with urlopen(f"http://127.0.0.1:{node.port}{path}", timeout=5) as reply:
            return int(reply.status)

    try:
        return await asyncio.to_thread(ask)
    except OSError as error:
        return int(getattr(error, "code", 0))


async def test_a_store_that_comes_back_empty_is_a_new_life(arrive, store: SingleStore, tmp_path: Path) -> None:
    """BL-074: whoever resumes by an old number gets the state of the new life and is told that nothing was resumed;
    nobody has a seat, money or an identity that the store does not know."""
    table = "royal-1"
    async with on(store, tmp_path, 2) as house:
        first, second = house.nodes
        client = await arrive(first.url, "Lost")
        await client.join(table, BUY_IN)
        await client.next("round_settled", table=table)
        life, seq = client.incarnation[table], client.numbered(table)[-1]["seq"]
        store.server.kill()
        store.server.forget_data()
        await store.server.start()

        told = await client.next("snapshot", table=table)
        view = told["snapshot"]
        assert view["incarnation"] != life
        assert (view["seq"], view["round"], view["phase"], view["you"], view["shoe"]) == (0, 0, "idle", None, None)
        assert house.said("table_lost_and_opened_anew")
        newcomer = await arrive(second.url, "Newcomer")
        resumed = await newcomer.call("watch", table=table, incarnation=life, seq=seq)
        assert resumed["resumed"] is False
        assert resumed["snapshot"]["incarnation"] == view["incarnation"]
        with pytest.raises(CallRefused, match="TOKEN_REFUSED"):
            await RawClient.arrive(second.url, token=client.token)
        for buy_in in (0, BUY_IN):
            with pytest.raises(CallRefused, match="TOKEN_REFUSED"):
                await client.call("join", table=table, buy_in=buy_in)
        assert (await newcomer.call("watch", table=table))["snapshot"]["crowd"]["seated"] == 0
        await newcomer.join(table, BUY_IN)
        assert (await newcomer.next("betting_opened", table=table))["round"] == 1
        client.joined.clear()


async def test_a_stopped_store_is_told_in_time_and_decides_once(arrive, store: SingleStore, tmp_path: Path) -> None:
    """BL-102: acts are answered within the stated time with a code that says "again"; sockets stay; the same request
    is decided once when the store is back."""
    table = "punto-banco-1"
    async with on(store, tmp_path, betting_ms=8_000) as house:
        (node,) = house.nodes
        client, other = await arrive(node.url, "Waits"), await arrive(node.url, "Too")
        await client.join(table, BUY_IN)
        await other.join(table, BUY_IN)
        number = await client.betting(table)
        bet = {"table": table, "round": number, "spot": "player", "chip": 100, "request_id": "only-once"}
        store.server.pause()
        stopped_s = time.monotonic()
        asked = [await client.begin("place", **bet), await other.begin("join", table=table, buy_in=100)]
        replies = await asyncio.gather(*asked)
        took_s = time.monotonic() - stopped_s
        assert [(reply["name"], reply["retry"]) for reply in replies] == [("STORE_AWAY", True)] * 2
        assert ANSWER_S - 0.5 < took_s < ANSWER_S + 2
        assert await status_of(node, "/healthz") == 200
        await until(lambda: is_not_ready(node), "the node says that it is not ready", ANSWER_S)
        store.server.go_on()
        again = await client.ask("place", **bet)
        while again["type"] == "error" and again["retry"]:
            await asyncio.sleep(0.05)
            again = await client.ask("place", **bet)
        assert (again["bets"], again["stack"]) == ({"player": 100}, BUY_IN - 100)
        assert (await client.ask("place", **bet)) == again
        extended = await client.next("betting_extended", table=table, round=number)
        assert extended["closes_at_ms"] > client.seen("betting_opened", table=table)[-1]["closes_at_ms"] + 2_000
        await until(lambda: is_ready(node), "the node is ready again", 5)


async def is_not_ready(node: HouseNode) -> bool:
    return await status_of(node, "/readyz") == 503


async def is_ready(node: HouseNode) -> bool:
    return await status_of(node, "/readyz") == 200


async def test_restarts_and_cut_lines_leave_no_connection_behind(arrive, store: SingleStore, tmp_path: Path) -> None:
    """BL-097, BL-096: after many of both the counts of connections and open files are where they were, and every table
    goes on."""
    async with on(store, tmp_path, 2) as house:
        clients = {table: await arrive(house.nodes[n % 2].url, "Stays") for n, table in enumerate(TABLES)}
        for table, client in clients.items():
            await client.join(table, BUY_IN)
        await asyncio.gather(*(client.next("round_settled") for client in clients.values()))
        before = await counts(store, house)
        for _ in range(4):
            store.server.kill()
            await asyncio.sleep(0.2)
            await store.server.start()
            await asyncio.sleep(0.3)
            for _ in range(3):
                await store.server.ask("CLIENT", "KILL", "TYPE", "pubsub")
                await store.server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                await asyncio.sleep(0.1)
        for client in clients.values():
            client.skip()
        for table, client in clients.items():
            number = await client.betting(table, 15)
            await client.until(lambda client=client, number=number: client.seen("round_settled", round=number), 15)

        async def has_levelled_off() -> bool:
            after = await counts(store, house)
            return all(now <= then + 4 for now, then in zip(after, before, strict=True))

        await until(has_levelled_off, f"the counts are {before} again, now {await counts(store, house)}", 10)


async def counts(store: SingleStore, house: House) -> list[int]:
    """Connections to the store, and the open files of each node."""
    connections = len(await store.server.ask("CLIENT LIST"))
    return [connections, *(len(os.listdir(f"/proc/{node.pid}/fd")) for node in house.nodes)]


async def test_sockets_that_come_and_go_leave_no_connection_behind(store: SingleStore, tmp_path: Path) -> None:
    """BL-100: three hundred clients in a few moments, then quiet."""
    async with on(store, tmp_path) as house:
        (node,) = house.nodes
        await until(lambda: is_ready(node), "the node is ready")

        async def come_and_go(n: int) -> None:
            client = await RawClient.arrive(node.url, f"Brief {n}")
            await client.call("join", table=TABLES[n % 5], buy_in=100)
            await client.drop()

        for _ in range(6):
            await asyncio.gather(*(come_and_go(n) for n in range(50)))

        async def is_quiet() -> bool:
            (connections, files) = await counts(store, house)
            return connections < 75 and files < 110  # the pool of one node is bounded by 64

        await until(is_quiet, "the counts are low again", 10)

        async def is_empty() -> bool:
            return all([await seats_of(store, table) == 0 for table in TABLES])

        await until(is_empty, "every seat was freed after its time", PACE["grace_ms"] / 1000 + 10)


KEPT: Final = (b":incoming", b":events", b":rounds", b":shoes", b":ledger")
"""What a table keeps that has played a round, and expected buy-ins, which are looked after some seconds later."""


async def test_joins_that_never_complete_leave_nothing_behind(store: SingleStore, tmp_path: Path) -> None:
    """BL-060: ten patrons begin to join two hundred times and are gone before the answer. Afterwards the store holds
    the keys that it held, and the node the files that it had open."""
    table = TABLES[0]
    async with on(store, tmp_path, grace_ms=500) as house:
        (node,) = house.nodes
        tokens = []
        for n in range(10):
            async with await RawClient.arrive(node.url, f"Hesitant {n}") as client:
                await client.join(table, 100)
                await client.leave_everywhere()
                tokens.append(client.token)

        async def is_empty() -> bool:
            return bool(await store.server.ask("HGET", keys.table_key(table), "phase") == b"idle")

        await until(is_empty, "the table is idle", 10)
        keys_before, files_before = set(await store.server.ask("KEYS", "*")), (await counts(store, house))[1]

        async def hesitate(n: int) -> None:
            for _ in range(20):
                client = await RawClient.arrive(node.url, token=tokens[n])
                answer = await client.begin("join", table=table, buy_in=100)
                await client.drop()
                assert answer.done()

        await asyncio.gather(*(hesitate(n) for n in range(10)))

        async def is_as_before() -> bool:
            found = set(await store.server.ask("KEYS", "*")) - keys_before
            left = [key for key in found if not key.endswith(KEPT)]
            return not left and (await counts(store, house))[1] <= files_before + 64  # the pool of one node

        await until(is_as_before, "nothing is left", 15)
        await until(is_empty, "the table is idle again", 10)


async def seats_of(store: SingleStore, table: str) -> int:
    return int(await store.server.ask("HLEN", keys.seats_key(table)))


async def test_who_left_while_the_store_was_away_is_away_afterwards(arrive, store: SingleStore, tmp_path: Path) -> None:
    """BL-116: nobody could be told then; afterwards the seat counts as away, and is freed after its time."""
    table = "stand-off-1"
    async with on(store, tmp_path, grace_ms=500) as house:
        (node,) = house.nodes
        stays, goes = await arrive(node.url, "Stays"), await RawClient.arrive(node.url, "Goes")
        await stays.join(table, BUY_IN)
        await goes.join(table, BUY_IN)
        store.server.kill()
        await goes.drop()
        await asyncio.sleep(0.3)
        await store.server.start()

        async def is_alone() -> bool:
            return await seats_of(store, table) == 1

        await until(is_alone, "the seat was freed", 10)
        await stays.betting(table, 10)
        back = await RawClient.arrive(node.url, token=goes.token)
        assert back.wallet == 1_000_000
        await back.close()
