"""Lines that come and go by the hundred: nothing of them stays behind, nobody else misses anything, nobody waits."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from server.settings import DoorLimits
from tests.support.node_process import FAST, NodeProcess
from tests.support.raw_client import MSGPACK, RawClient, assert_gapless

TABLE = "royal-1"
KILLED = 40
IDLE = 60
MIB = 1024**2
ESTABLISHED = ("01", "08")
"""As the kernel numbers states: also those that the other side has closed, and the node has not."""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A node of its own: its memory is looked at."""
    node = NodeProcess(tmp_path_factory.mktemp("lines"), flags={**FAST, "betting-ms": 400}).start()
    yield node
    node.stop()
    assert not [line for line in node.output if "Traceback" in line or " error " in line]


def resident_bytes(node: NodeProcess) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def open_lines(node: NodeProcess) -> int:
    """TCP connections at the node's port that it has not closed."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{node.port:04X}") and row[3] in ESTABLISHED for row in rows)


async def watch_and_die(url: str, token: str) -> None:
    """Follow a table with some of it unread, and be gone without a word."""
    client = await RawClient.arrive(url, token=token, receive_bytes=4_096)
    await client.call("watch", table=TABLE)
    client.pause_reading()
    for _ in range(3):
        _ = await client.begin("list_tables")
    await client.drop()


async def test_lines_that_are_killed_leave_nothing_behind(busy: NodeProcess) -> None:
    """BL-112, BL-114: those who follow a table, with what they have not read, are killed in a loop: their lines are
    given back, memory levels off."""
    async with await RawClient.arrive(busy.url, "Owner") as owner:
        await owner.join(TABLE, 1_000)

        async def kill(count: int) -> None:
            for _ in range(count // 10):
                await asyncio.gather(*(watch_and_die(busy.url, owner.token) for _ in range(10)))

        await kill(KILLED)
        memory = resident_bytes(busy)
        await kill(KILLED)
        async with asyncio.timeout(20):
            while open_lines(busy) > 1:
                await asyncio.sleep(0.05)
        assert resident_bytes(busy) - memory < 8 * MIB
        await owner.leave_everywhere()


async def test_a_patrons_lines_that_are_gone_make_room_at_once(busy: NodeProcess) -> None:
    """As many as a patron may have die with requests under way, and as many come at once in their place."""
    async with await RawClient.arrive(busy.url, "Owner") as owner:
        for _ in range(5):
            await asyncio.gather(
                *(watch_and_die(busy.url, owner.token) for _ in range(DoorLimits().connections_per_patron - 1))
            )


async def test_an_idle_line_costs_little_and_nothing_is_compressed(busy: NodeProcess) -> None:
    """BL-113: hundreds that offer permessage-deflate get none, and each costs less than 64 KiB."""
    before = resident_bytes(busy)

    async def idle() -> RawClient:
        socket = await connect(
            busy.url, subprotocols=[Subprotocol(MSGPACK)], compression="deflate", ping_interval=None, proxy=None
        )
        assert socket.protocol.extensions == []
        client = RawClient(socket, is_text=False)
        await client.call("hello", name="Idle")
        return client

    clients = [client for _ in range(IDLE // 20) for client in await asyncio.gather(*(idle() for _ in range(20)))]
    each = (resident_bytes(busy) - before) / IDLE
    assert each < 64 * 1024
    await asyncio.gather(*(client.close() for client in clients))


async def test_survivors_of_a_massacre_have_every_event(busy: NodeProcess) -> None:
    """BL-127: followers are killed exactly when cards come; those who stay miss nothing, and nothing comes twice."""
    stay = [await RawClient.arrive(busy.url, f"Stay {n}") for n in range(3)]
    start = [(await client.join(TABLE, 1_000))["snapshot"]["seq"] for client in stay]
    token, kills = stay[0].token, 0
    doomed = [await RawClient.arrive(busy.url, token=token) for _ in range(20)]
    for client in doomed:
        await client.call("watch", table=TABLE)
    while doomed:
        await stay[0].next("card_dealt", table=TABLE, timeout=20)
        for client in doomed[:3]:
            client.websocket.transport.abort()
        doomed, kills = doomed[3:], kills + 3
    number = (await stay[0].next("round_settled", table=TABLE))["round"]
    for client, seq in zip(stay, start, strict=True):
        while not client.seen("round_settled", table=TABLE, round=number):
            await client.next("round_settled", table=TABLE)
        assert_gapless(client.numbered(TABLE), seq)
    assert kills >= 20
    await asyncio.gather(*(client.leave_everywhere() for client in stay))


async def test_a_hanging_seat_stalls_no_join_elsewhere(busy: NodeProcess) -> None:
    """BL-117: a seat that does not read holds up nobody who sits down at another table, nor its own table's leavers."""
    hanging = await RawClient.arrive(busy.url, "Hanging", receive_bytes=4_096)
    await hanging.join(TABLE, 1_000)
    hanging.pause_reading()
    for _ in range(100):
        _ = await hanging.begin("list_tables")
    async with await RawClient.arrive(busy.url, "Quick") as quick:
        for table in ("punto-banco-1", "stand-off-1", "red-lounge-1", "four-deck-1", TABLE):
            started_s = time.monotonic()
            await quick.join(table, 100)
            await quick.call("leave", table=table)
            assert time.monotonic() - started_s < 5
    await hanging.drop()


async def test_who_watches_sees_what_a_seat_sees_and_nothing_more(busy: NodeProcess) -> None:
    """BL-156: a spectator gets the same public messages as a seat in each phase, and nobody's stack, wallet or
    token."""
    async with (
        await RawClient.arrive(busy.url, "Seat") as seat,
        await RawClient.arrive(busy.url, "Watcher") as watcher,
    ):
        await seat.join(TABLE, 1_000)
        watching = await watcher.call("watch", table=TABLE)
        assert (watching["you"], watching["wallet"], watching["snapshot"]["you"]) == (None, None, None)
        number = await seat.betting(TABLE)
        await seat.place(TABLE, "tie", 100)
        await seat.next("results", table=TABLE, round=number)
        phases: set[str] = set()
        async with asyncio.timeout(20):
            while len(phases) < 3:
                view = (await watcher.call("watch", table=TABLE))["snapshot"]
                phases.add(view["phase"])
                assert view["you"] is None
                await asyncio.sleep(0.03)
                assert {"stack", "wallet", "token", "secret", "order"} & keys_in(view) == set()
        watcher.skip()
        settled = await watcher.next("round_settled", table=TABLE)
        await seat.until(lambda: seat.seen("round_settled", table=TABLE, round=settled["round"]))
        public = {event["seq"]: event for event in seat.numbered(TABLE)}
        for event in watcher.numbered(TABLE):
            if event["seq"] in public:
                assert event == public[event["seq"]]
        assert not [event for event in watcher.events if event["type"] in ("results", "seat_warned", "seat_freed")]
        assert {"stack", "wallet", "token"} & set().union(*(keys_in(event) for event in watcher.events)) == set()
        await seat.leave_everywhere()


def keys_in(value: object) -> set[str]:
    """Every key of a message, at any depth."""
    match value:
        case dict():
            return {str(key) for key in value} | set().union(set(), *(keys_in(part) for part in value.values()))
        case list():
            return set().union(set(), *(keys_in(part) for part in value))
    return set()
