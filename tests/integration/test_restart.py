"""A node that is stopped or killed and started again: the open round is finished with the same cards, and no money
changes.

Patrons with tokens bet at every table all the time, in both codecs. What they saw before and after is put together, and
must be one history without a gap, in which every acknowledged bet was settled once.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.bettor import Bettor
from tests.support.node_process import FAST, NodeProcess
from tests.support.raw_client import TABLES, CallRefused, RawClient
from tests.support.record import Record

FLAGS = {**FAST, "betting-ms": 400, "card-ms": 30, "result-ms": 60}
Break = Callable[[NodeProcess, random.Random], Awaitable[None]]


@asynccontextmanager
async def node_on(data: Path) -> AsyncIterator[NodeProcess]:
    """A node that may be killed and started again within the block; its port stays."""
    node = NodeProcess(data, flags=FLAGS)
    await asyncio.to_thread(node.start)
    try:
        yield node
    finally:
        await asyncio.to_thread(node.stop)
        print("".join(node.output))


def audit(data: Path) -> dict[str, int]:
    """Let `punto-server audit` add the money up; it must balance."""
    done = subprocess.run(
        [sys.executable, "-m", "server.cli", "audit", "--data", str(data), "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sums: dict[str, int] = json.loads(done.stdout)
    assert sums["put_in"] == sums["wallets"] + sums["stacks"] + sums["open_bets"] + sums["house"] + sums["under_way"]
    return sums


async def play_through(
    node: NodeProcess, breaks: Sequence[Break], chance: random.Random, spectator: RawClient | None = None
) -> list[Record]:
    """Two bettors at each table, through these breaks at random moments; returns the checked histories.

    With a spectator, who must see all events, the sockets outlive the break.
    """
    records = {table: Record(table) for table in TABLES}
    seed = str(chance.random())
    bettors = [Bettor(node.url, records[table], n, seed) for table in TABLES for n in range(2)]
    for bettor in bettors:
        await bettor.arrive()
        await asyncio.sleep(chance.uniform(0, 0.1))  # so that the tables are not all in the same phase
    for do_break in breaks:
        playing = [asyncio.create_task(bettor.play()) for bettor in bettors]
        await bettors[0].client.next("round_settled")
        await asyncio.sleep(chance.uniform(0, 0.7))  # somewhere in a round, elsewhere at each table
        await do_break(node, chance)
        if spectator is None:
            await asyncio.gather(*(bettor.client.closed() for bettor in bettors), *playing)
            await asyncio.to_thread(node.start)
            await asyncio.gather(*(bettor.come_back() for bettor in bettors))
        else:
            await asyncio.gather(*(goes_on(bettor) for bettor in bettors))
            for bettor in bettors:
                bettor.is_resting = True
            await asyncio.gather(*playing)
    rounds_before = {bettor: bettor.client.round[bettor.table] for bettor in bettors}
    for bettor in bettors:
        await bettor.client.until(lambda bettor=bettor: bettor.client.round[bettor.table] > rounds_before[bettor])  # type: ignore[misc]
    await asyncio.gather(*(bettor.leave() for bettor in bettors))
    for record in records.values():
        if spectator is not None:
            record.take_events(spectator.numbered(record.table))
        record.check()
    return list(records.values())


async def goes_on(bettor: Bettor) -> None:
    """Wait until a round is settled that begins from now on."""
    bettor.client.skip()
    opened = await bettor.client.next("betting_opened", table=bettor.table, timeout=20)
    await bettor.client.next("round_settled", table=bettor.table, round=opened["round"], timeout=20)


async def ctrl_c(node: NodeProcess, _: random.Random) -> None:
    assert await asyncio.to_thread(node.stop) == 0


async def kill_tree(node: NodeProcess, _: random.Random) -> None:
    await asyncio.to_thread(node.kill)


async def kill_node(node: NodeProcess, chance: random.Random) -> None:
    """Only the node: its Valkey may see the end a little later, or after the next start."""
    os.kill(node.pid, signal.SIGKILL)
    await asyncio.to_thread(node.wait)
    await asyncio.sleep(chance.choice([0, 0, 0.3]))


BREAKS = (ctrl_c, kill_tree, kill_tree, kill_node)


async def kill_store(node: NodeProcess, _: random.Random) -> None:
    (store,) = node.children()
    os.kill(store, signal.SIGKILL)


def seeded() -> random.Random:
    """Chance whose seed a failure shows."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


async def test_restarts_go_on_with_the_same_rounds_and_money(tmp_path: Path) -> None:
    """Stopped, killed whole, and killed without its store, in any order: one history, one settlement of each bet."""
    chance = seeded()
    breaks = chance.sample(BREAKS, len(BREAKS))
    async with node_on(tmp_path / "data") as node:
        records = await play_through(node, breaks, chance)
        sums = await asyncio.to_thread(audit, tmp_path / "data")
        assert (sums["stacks"], sums["open_bets"], sums["under_way"]) == (0, 0, 0)
    assert not [line for line in node.output if " error " in line or "Traceback" in line]
    for record in records:
        kinds = {event["type"] for event in record.events.values()}
        assert "round_voided" not in kinds
        assert kinds >= {"card_dealt", "round_settled"}


async def test_a_store_that_dies_is_started_again_under_the_node(tmp_path: Path) -> None:
    """kill -9 of Valkey alone: sockets stay open, tables pause and go on, an acknowledged bet is not lost."""
    async with node_on(tmp_path / "data") as node, await RawClient.arrive(node.url, "Spectator") as spectator:
        for table in TABLES:
            await spectator.call("watch", table=table)
        await play_through(node, [kill_store], seeded(), spectator)
        await asyncio.to_thread(audit, tmp_path / "data")
    assert "Traceback" not in "".join(node.output)


async def test_nobody_is_forgotten_over_a_restart(tmp_path: Path) -> None:
    """Tokens stay valid, wallets and stacks are what they were, a foreign or damaged token is still refused."""
    async with node_on(tmp_path / "data") as node:
        sitter, idler = await RawClient.arrive(node.url, "Sitter"), await RawClient.arrive(node.url, "Idler")
        await sitter.join("royal-1", 123_400)
        await asyncio.to_thread(node.kill)
        await asyncio.to_thread(node.start)
        for before, held in ((sitter, 1_000_000 - 123_400), (idler, 1_000_000)):
            again = await RawClient.arrive(node.url, token=before.token)
            assert (again.patron, again.wallet) == (before.patron, held)
            if before is sitter:
                assert (await again.join("royal-1", 0))["you"]["stack"] == 123_400
                assert (await again.call("leave", table="royal-1"))["wallet"] == 1_000_000
            await again.close()
        with pytest.raises(CallRefused, match="TOKEN_REFUSED"):
            await RawClient.arrive(node.url, token=sitter.token[:-1] + "!")


async def test_a_table_keeps_its_shoe_and_an_idle_one_stays_idle(tmp_path: Path) -> None:
    """Round number, shoe and position go on; a table that nobody had sat at does not begin by itself."""
    table = "punto-banco-1"
    async with node_on(tmp_path / "data") as node:
        client = await RawClient.arrive(node.url)
        await client.join(table, 100)
        await client.next("round_settled", table=table)
        await client.call("leave", table=table)
        await client.next("table_idled", table=table)
        before = (await client.call("watch", table=table))["snapshot"]
        for do_break in (node.stop, node.kill):
            await asyncio.to_thread(do_break)
            await asyncio.to_thread(node.start)
            again = await RawClient.arrive(node.url, token=client.token)
            after = (await again.call("watch", table=table))["snapshot"]
            same = ("incarnation", "seq", "phase", "round", "shoe", "roads")
            assert {name: after[name] for name in same} == {name: before[name] for name in same}
            await again.close()
        again = await RawClient.arrive(node.url, token=client.token)
        await again.call("watch", table=table, incarnation=before["incarnation"], seq=before["seq"])
        await again.join(table, 100)
        dealt = await again.next("card_dealt", table=table)
        assert dealt["round"] == before["round"] + 1
        assert dealt["remaining"] == before["shoe"]["remaining"] - 1
        await again.close()
