"""A back-up taken in the middle of play is restored into an empty store, step by step as docs/runbook.md says."""

import shutil
from pathlib import Path
from typing import Any

import msgpack

from server.store import keys
from tests.support.house import House, opened
from tests.support.operator import punto_server_here
from tests.support.raw_client import TABLES, RawClient
from tests.support.stores import SingleStore
from tests.support.valkey_server import ValkeyServer, until

PACE = {"betting_ms": 2_500, "card_ms": 50, "result_ms": 100, "grace_ms": 20_000}
TABLE = "royal-1"
BUY_IN = 10_000


async def back_up(server: ValkeyServer) -> Path:
    """BGSAVE, and the file that it leaves."""
    before = await server.ask("LASTSAVE")
    await server.ask("BGSAVE")

    async def is_saved() -> bool:
        persistence = await server.info("persistence")
        return not persistence["rdb_bgsave_in_progress"] and bool(await server.ask("LASTSAVE") >= before)

    await until(is_saved, "the snapshot is written")
    return server.directory / "dump.rdb"


async def restore(file: Path, server: ValkeyServer) -> None:
    """Put the file into an empty store: without the append-only file first, then with it."""
    shutil.copy(file, server.directory / "dump.rdb")
    await server.start(appendonly="no")
    await server.ask("CONFIG", "SET", "appendonly", "yes")

    async def is_rewritten() -> bool:
        persistence: dict[str, Any] = await server.info("persistence")
        in_progress = persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"]
        return bool(persistence["aof_enabled"]) and not in_progress

    await until(is_rewritten, "the append-only file holds everything")
    server.stop()
    (server.directory / "dump.rdb").unlink()  # what is read back now is the append-only file alone
    await server.start(appendonly="yes")


async def audit(store: SingleStore) -> dict[str, Any]:
    ended = await punto_server_here("audit", "--store", store.url, "--json")
    assert ended.code == 0, ended
    return ended.told


async def test_a_back_up_is_restored_into_an_empty_store_and_balances(tmp_path: Path) -> None:
    """What was acknowledged since is lost, and nothing else; the round that was open then does not count."""
    old, new = SingleStore(tmp_path / "old"), SingleStore(tmp_path / "new")
    async with opened(old, tmp_path / "before", 1, **PACE) as house:
        ann = await RawClient.arrive(house.nodes[0].url, "Ann")
        await ann.join(TABLE, BUY_IN)
        number = await ann.betting(TABLE)
        await ann.place(TABLE, "player", 500)
        file = await back_up(old.server)
        put_in = (await audit(old))["put_in"]
        late = await RawClient.arrive(house.nodes[0].url, "Late")  # comes after the back-up
        await ann.next("round_settled", table=TABLE, round=number)
        await ann.close()
        await late.close()
    await restore(file, new.server)
    try:
        found = await audit(new)
        assert (found["put_in"], found["stacks"], found["open_bets"]) == (put_in, BUY_IN - 500, 500)
        told = await punto_server_here("tables", "restored", "--store", new.url, "--all", "--by", "Olga")
        assert told.code == 0
        assert {line.split(":")[0] for line in told.out.splitlines()} == {"noted"}  # no node deals yet
        async with House(tmp_path / "after", new.url, 1, **PACE) as house:
            back = await RawClient.arrive(house.nodes[0].url, token=ann.token)
            await back.join(TABLE)
            await back.until(lambda: back.seen("betting_opened", table=TABLE), what="a new round")
            assert back.seen("betting_opened", table=TABLE)[0]["round"] == number + 1
            kinds = [event["type"] for event in await stream(new.server)]
            assert [kind for kind in kinds if kind in ("round_voided", "shoe_ended")] == ["round_voided", "shoe_ended"]
            you = (await back.call("watch", table=TABLE))["you"]
            assert (you["stack"], you["last_round"], you["last_outcome"]) == (BUY_IN, number, None)
            refused = await RawClient.open(house.nodes[0].url)
            assert (await refused.ask("hello", token=late.token))["name"] == "TOKEN_REFUSED"
            await refused.close()
            await audit(new)
            assert (await punto_server_here("tables", "list", "--store", new.url)).out.count("\n") == len(TABLES)
            await back.leave_everywhere()
            await back.close()
    finally:
        new.stop()


async def stream(server: ValkeyServer) -> list[dict[str, Any]]:
    """The numbered events of the table as the store holds them."""
    entries = await server.ask("XRANGE", keys.events_key(TABLE), "-", "+")
    return [msgpack.unpackb(fields[b"event"]) for _, fields in entries]
