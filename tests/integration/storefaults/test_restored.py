"""A store that was given an older copy of its data while no node was there to remember: the operator says so."""

import signal
from pathlib import Path

import msgpack

from server.store import keys
from tests.support.house import opened
from tests.support.operator import punto_server
from tests.support.raw_client import TABLES, RawClient
from tests.support.stores import SingleStore
from tests.support.valkey_server import until

PACE = {"betting_ms": 1_500, "card_ms": 200, "result_ms": 100, "grace_ms": 20_000}
BUY_IN = 10_000


async def fields(store: SingleStore, table: str, *names: str) -> list[str]:
    found = await store.server.ask("HMGET", keys.table_key(table), *names)
    return [(value or b"").decode() for value in found]


async def test_an_older_copy_under_new_nodes_begins_a_new_life_when_it_is_told(tmp_path: Path) -> None:
    """BL-104: a patron saw cards that the store has forgotten. Every node was stopped meanwhile, so only this patron
    knows; after the operator's word the open round is void, its shoe is revealed, and the money adds up."""
    table = "royal-1"
    store = SingleStore(tmp_path / "store")
    async with opened(store, tmp_path, 1, **PACE) as house:
        (node,) = house.nodes
        ann = await RawClient.arrive(node.url, "Ann")
        await ann.join(table, BUY_IN)
        number = await ann.betting(table)
        await ann.place(table, "player", 500)
        copy = store.server.copy_of_data()
        await ann.next("card_dealt", table=table, round=number)
        node.signal(signal.SIGTERM)
        assert await node.ended() == 0
        store.server.kill()
        store.server.put_data_back(copy)
        await store.server.start()
        life, phase, seq_there = await fields(store, table, "incarnation", "phase", "seq")
        assert phase == "betting"
        await node.begin()
        back = await RawClient.arrive(node.url, token=ann.token)
        ahead = await back.call("watch", table=table, incarnation=life, seq=int(seq_there) + 1_000)
        assert ahead["resumed"] is False

        async def is_told() -> bool:
            return bool(node.said("seat_ahead_of_store"))

        await until(is_told, "the log tells of a seat that knows more than the store", 10)
        told = await punto_server("tables", "restored", "--store", store.url, "--all", "--by", "Olga")
        assert told.code == 0
        assert sorted(told.out.splitlines()) == sorted(f"begun anew: {name}" for name in TABLES)
        new_life, rollback, forgotten_at_ms = await fields(store, table, "incarnation", "rollback", "forgotten_at_ms")
        assert (new_life != life, rollback, forgotten_at_ms != "") == (True, "0", True)
        snapshot = await back.next("snapshot", table=table)
        assert snapshot["snapshot"]["incarnation"] == new_life
        entries = await store.server.ask("XRANGE", keys.events_key(table), "-", "+")
        ended = [event for _, found in entries if (event := msgpack.unpackb(found[b"event"]))["type"] == "shoe_ended"]
        assert [event["reason"] for event in ended] == ["store_rolled_back"]
        audit = await punto_server("audit", "--store", store.url)
        assert audit.code == 0, audit
        await back.leave_everywhere()
        await ann.close()
