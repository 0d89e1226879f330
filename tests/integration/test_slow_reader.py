"""Who does not read is not waited for: others are served on time, memory stays bounded, and the slow one is brought
level again or cut."""

import asyncio
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_process import FAST, NodeProcess
from tests.support.proxy import Proxy
from tests.support.raw_client import JSON, MSGPACK, RawClient, assert_gapless

SMALL_BYTES = 4_096
FLOOD = 100
"""So many lobby pages (some 3 KB each) fill every buffer on the way, where the server's are narrow."""
DELAY_S_MAX = 0.5
"""An event reaches the last of the others within this time after the first; one who is waited for costs seconds."""
ROUND_MS_MAX = 2_500
FLAGS = {**FAST, "betting-ms": 300, "card-ms": 10, "result-ms": 50, "grace-ms": 500}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A node that pings, drains and gives up within a second or two, with narrow buffers."""
    data = tmp_path_factory.mktemp("impatient")
    node = NodeProcess(data, flags=FLAGS, module="tests.support.impatient_node").start()
    yield node
    node.stop()


@pytest.fixture(scope="module")
def narrow_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node with narrow buffers and its ordinary patience."""
    data = tmp_path_factory.mktemp("narrow")
    node = NodeProcess(data, flags=FLAGS, module="tests.support.narrow_node").start()
    yield node.url
    node.stop()


async def flood(client: RawClient) -> list[asyncio.Future[dict[str, object]]]:
    """Stop reading and ask for more than any buffer holds."""
    client.pause_reading()
    return [await client.begin("list_tables") for _ in range(FLOOD)]


def delays_s(clients: list[RawClient], table: str) -> list[float]:
    """How long each numbered event took from the first of these clients to the last."""
    arrived: dict[int, list[float]] = {}
    for client in clients:
        for event, at_s in zip(client.events, client.heard_at_s, strict=True):
            if "seq" in event and event["table"] == table:
                arrived.setdefault(event["seq"], []).append(at_s)
    return sorted(max(times) - min(times) for times in arrived.values() if len(times) == len(clients))


def resident_bytes(node: NodeProcess) -> int:
    """What the node has in memory."""
    status = Path(f"/proc/{node.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def test_a_slow_reader_delays_nobody_and_is_brought_level(arrive, narrow_url: str) -> None:
    """BL-108, BL-110: its seat stops reading for three rounds; five others feel nothing; reading again it finds every
    answer, then a snapshot, and goes on from there without a gap."""
    table = "punto-banco-1"
    others = [await arrive(narrow_url, f"Other {n}", subprotocol=(MSGPACK, JSON)[n % 2]) for n in range(5)]
    slow = await arrive(narrow_url, "Slow", receive_bytes=SMALL_BYTES)
    for client in (*others, slow):
        await client.join(table, 10_000)
    await others[0].next("betting_opened", table=table)
    answers = await flood(slow)
    first = others[0].round[table]
    for client in others:
        await client.until(lambda client=client: client.seen("round_settled", table=table, round=first + 2))
        starts = [event["opened_at_ms"] for event in client.seen("betting_opened", table=table)]
        assert all(later - earlier < ROUND_MS_MAX for earlier, later in pairwise(starts))
    delays = delays_s(others, table)
    assert delays[int(len(delays) * 0.99)] < DELAY_S_MAX, delays[-5:]
    slow.go_on_reading()
    replies = await asyncio.wait_for(asyncio.gather(*answers), 20)
    assert {reply["type"] for reply in replies} == {"ok"}
    snapshot = await slow.next("snapshot", table=table)
    assert snapshot["reason"] == "behind"
    assert snapshot["snapshot"]["you"]["stack"] == 10_000
    number = await slow.bet(table, "tie", 100)
    await slow.next("results", table=table, round=number)
    events = slow.numbered(table)
    seq = snapshot["snapshot"]["seq"]
    assert_gapless([event for event in events if event["seq"] > seq], seq)
    before = [event["seq"] for event in events if event["seq"] <= seq]
    assert before == list(range(before[0], before[0] + len(before))) if before else True


async def test_who_never_reads_is_cut_and_its_seat_is_freed(arrive, impatient: NodeProcess) -> None:
    """BL-109: cut within the stated time; the seat is held for its grace, then the chips go home."""
    table = "royal-1"
    other = await arrive(impatient.url, "Other")
    deaf = await arrive(impatient.url, "Deaf", receive_bytes=SMALL_BYTES)
    await other.join(table, 1_000)
    await deaf.join(table, 1_000)
    deaf.joined.clear()
    await flood(deaf)
    async with asyncio.timeout(30):
        while (await other.call("watch", table=table))["snapshot"]["crowd"]["seated"] == 2:
            await asyncio.sleep(0.05)
    deaf.go_on_reading()
    assert await deaf.closed() in (4001, 1006, 1011)
    async with asyncio.timeout(30):  # the seat is free a moment before its stack is in the wallet
        while (await arrive(impatient.url, token=deaf.token)).wallet != 1_000_000:
            await asyncio.sleep(0.05)
    assert not [line for line in impatient.output if "error" in line or "Traceback" in line]


async def test_who_follows_nothing_and_never_reads_is_cut_too(arrive, impatient: NodeProcess) -> None:
    """BL-109: it only asks, and takes no answer: its requests are read no further, and it is closed in time."""
    deaf = await arrive(impatient.url, "Deaf", receive_bytes=SMALL_BYTES)
    asking = asyncio.create_task(flood(deaf))
    await asyncio.sleep(3)
    deaf.go_on_reading()
    assert await deaf.closed(20) in (4001, 1006, 1011)
    await asyncio.gather(asking, return_exceptions=True)


async def test_a_crowd_that_never_reads_costs_little(arrive, impatient: NodeProcess) -> None:
    """BL-109: a hundred that follow a table and never read, thirty of them with every buffer full: memory is bounded, a
    steady seat plays on, and all of them are gone within seconds."""
    table = "royal-1"
    steady = [await arrive(impatient.url, f"Steady {n}") for n in range(2)]
    for client in steady:
        await client.join(table, 10_000)
    # Seats that do not bet are freed as idle, however long it takes the hundred to come.
    playing = [asyncio.create_task(bet_for_ever(client, table)) for client in steady]
    await steady[0].next("round_settled", table=table)
    before = resident_bytes(impatient)
    deaf = [await arrive(impatient.url, f"Deaf {n}", receive_bytes=SMALL_BYTES) for n in range(100)]
    for client in deaf:
        await client.call("watch", table=table)
        client.pause_reading()
    floods = [asyncio.create_task(flood(client)) for client in deaf[:30]]
    most = 0
    started_s = time.monotonic()
    while time.monotonic() - started_s < 5:  # who reads again before it is cut may stay
        await steady[0].next("round_settled", table=table)
        most = max(most, resident_bytes(impatient))
    assert most - before < 64 * 1024**2
    delays = delays_s(steady, table)
    assert delays[int(len(delays) * 0.95)] < DELAY_S_MAX
    for client in deaf:
        client.go_on_reading()
    codes = [await client.closed() for client in deaf]
    assert set(codes) <= {4001, 1006, 1011}
    assert not [task for task in playing if task.done()]
    for task in (*floods, *playing):
        task.cancel()
    await asyncio.wait([*floods, *playing])


async def bet_for_ever(client: RawClient, table: str) -> None:
    while True:
        await client.bet(table, "player", 100)


async def test_a_reader_of_one_piece_at_a_time_keeps_its_order(arrive, node_url: str) -> None:
    """BL-082: a client that reads in fits and starts, but reads, gets every event in order and nothing twice."""
    table = "stand-off-1"
    client = await arrive(node_url, "Fits and starts", receive_bytes=SMALL_BYTES)
    seq = (await client.join(table, 1_000))["snapshot"]["seq"]
    for _ in range(8):
        client.pause_reading()
        await asyncio.sleep(0.15)
        client.go_on_reading()
        await asyncio.sleep(0.05)
    await client.next("round_settled", table=table)
    assert_gapless(client.numbered(table), seq)


async def test_a_ping_behind_long_answers_cuts_nobody_off(impatient: NodeProcess) -> None:
    """BL-129: lobby, history and rounds asked for at once over 64 kbit/s; line and pings are both twenty times as fast
    here."""
    table = "royal-1"
    async with await RawClient.arrive(impatient.url, "Quick") as quick:
        await quick.join(table, 10_000)
        for _ in range(12):
            await quick.bet(table, "player", 100)
            await quick.next("round_settled", table=table)
        async with (
            Proxy(impatient.url, answers_bytes_per_s=20 * 8_000) as line,
            await RawClient.arrive(line.url, token=quick.token, subprotocol=JSON) as slow,
        ):
            page = {"limit": 50}
            asked: list[tuple[str, dict[str, Any]]] = [
                ("list_tables", {}),
                ("history", page),
                ("rounds", {"table": table, **page}),
            ]
            started_s = time.monotonic()
            while time.monotonic() - started_s < 4:  # several pings, each behind some answer
                await asyncio.gather(*(slow.call(kind, **fields) for kind, fields in asked))
            assert slow.close_code is None
        await quick.leave_everywhere()
