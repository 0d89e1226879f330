"""The front door: plain HTTP beside the handshake, and those who come in only half-way."""

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from tests.support.node_process import FAST, NodeProcess, own_node
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def impatient_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node that waits a second for a handshake and for a hello."""
    data = tmp_path_factory.mktemp("impatient")
    node = NodeProcess(data, flags=FAST, module="tests.support.impatient_node").start()
    yield node.url
    node.stop()


async def ask(url: str, *lines: str) -> tuple[int, dict[str, str], str]:
    """Send one plain HTTP request; returns status, headers (lower case) and body."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write("\r\n".join([*lines, "", ""]).encode())
    answer = (await asyncio.wait_for(reader.read(), 5)).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    status, *headers = head.split("\r\n")
    named = dict(line.split(": ", 1) for line in headers)
    return int(status.split()[1]), {name.lower(): value for name, value in named.items()}, body


def get(path: str) -> tuple[str, ...]:
    """The lines of a plain request."""
    return f"GET {path} HTTP/1.1", "Host: punto", "Connection: close"


async def test_plain_http_is_answered(node_url: str) -> None:
    """BL-155 too: nothing of a game is told there."""
    for path, status, part in (
        ("/healthz", 200, "ok"),
        ("/readyz", 200, "ready"),
        ("/readyz?verbose=1", 200, "ready"),
        ("/nothing", 404, "not found"),
        ("/healthz/more", 404, "not found"),
        ("/%2e%2e/etc/passwd", 404, "not found"),
        ("/" + "x" * 4_000, 404, "not found"),
    ):
        found, headers, body = await ask(node_url, *get(path))
        assert (found, part in body) == (status, True), path
        assert headers["content-type"] == "text/plain; charset=utf-8"
        assert int(headers["content-length"]) == len(body.encode())
        assert headers.get("server", "punto") == "punto"


async def test_the_page_is_at_the_front(node_url: str) -> None:
    """What the files are like is in tests/unit/test_page.py; here they come over a socket, HEAD without a body."""
    status, headers, body = await ask(node_url, *get("/"))
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert int(headers["content-length"]) == len(body.encode())
    (script,) = re.findall(r'src="([^"]+)"', body)
    status, headers, code = await ask(node_url, *get(script))
    assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert int(headers["content-length"]) == len(code.encode()) > 0
    status, head, body = await ask(node_url, f"HEAD {script} HTTP/1.1", "Host: punto", "Connection: close")
    assert (status, head["content-length"], body) == (200, headers["content-length"], "")
    known = (*get(script), f"If-None-Match: {headers['etag']}")
    assert (await ask(node_url, *known))[::2] == (304, "")


@pytest.mark.parametrize(
    "lines",
    [
        ("POST / HTTP/1.1", "Host: punto", "Content-Length: 2", "", "{}"),
        ("GET / HTTP/9.9", "Host: punto"),
        ("nonsense",),
        ("GET / HTTP/1.1", "Host: punto", "X: " + "y" * 100_000),
        ("GET / HTTP/1.1", *(f"X{n}: y" for n in range(1_000))),
        ("GET / HTTP/1.1", "Host: punto", "Upgrade: websocket", "Connection: Upgrade"),
        ("GET / HTTP/1.1", "Host: punto", "Upgrade: h2c", "Connection: Upgrade"),
    ],
    ids=lambda lines: str(lines[0]) + (f" +{len(lines)}" if len(lines) > 2 else ""),
)
async def test_what_is_no_request_of_ours_ends_in_an_error(node_url: str, lines: tuple[str, ...]) -> None:
    where = urlsplit(node_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        answer = await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        answer = b""
    writer.close()
    assert answer == b"" or answer.split()[1][:1] == b"4", answer[:200]
    async with await RawClient.arrive(node_url):
        pass


@pytest.mark.parametrize("offered", [[], ["chat"], ["punto.v2.msgpack"], ["punto.v1"]])
async def test_without_one_of_our_subprotocols_nobody_gets_in(node_url: str, offered: list[str]) -> None:
    """400, and a sentence that says what to offer."""
    subprotocols = [Subprotocol(name) for name in offered] or None
    with pytest.raises(InvalidStatus) as refused:
        await connect(node_url, subprotocols=subprotocols, proxy=None)
    response = refused.value.response
    assert response.status_code == 400
    assert b"punto.v1.msgpack" in (response.body or b"")
    assert b"punto.v1.json" in (response.body or b"")


async def test_the_first_of_ours_that_is_offered_is_taken(node_url: str) -> None:
    for offered, taken in (
        (["chat", "punto.v1.json"], "punto.v1.json"),
        (["punto.v1.json", "punto.v1.msgpack"], "punto.v1.msgpack"),
    ):
        async with connect(node_url, subprotocols=[Subprotocol(name) for name in offered], proxy=None) as websocket:
            assert websocket.subprotocol == taken


async def test_a_store_that_stands_still_and_goes_on(tmp_path: Path) -> None:
    """The node is alive but not ready meanwhile. Patrons whose join was under way, and who are gone before it is
    answered, leave no seat behind and lose no chip (BL-116)."""
    table = "royal-1"
    async with own_node(tmp_path / "data", grace_ms=300, betting_ms=300) as node:
        (store,) = node.children()

        async def until(status: int) -> None:
            async with asyncio.timeout(10):
                while (await ask(node.url, *get("/readyz")))[0] != status:
                    await asyncio.sleep(0.05)

        await until(200)
        host = await RawClient.arrive(node.url, "Host")
        await host.join(table, 1_000)
        lost = [await RawClient.arrive(node.url, f"Lost {n}") for n in range(30)]
        joins = []
        for n, client in enumerate(lost):
            joins.append(await client.begin("join", table=table, buy_in=1_000))
            if n == 25:
                os.kill(store, signal.SIGSTOP)
        try:
            for client in lost:
                await client.drop()
            await until(503)
            assert (await ask(node.url, *get("/healthz")))[0] == 200
        finally:
            os.kill(store, signal.SIGCONT)
        await until(200)
        assert all(join.done() for join in joins)
        async with asyncio.timeout(10):
            while (await host.call("watch", table=table))["snapshot"]["crowd"]["seated"] != 1:
                await asyncio.sleep(0.05)
        host.skip()
        await host.next("round_settled", table=table)
        for client in lost:
            async with await RawClient.arrive(node.url, token=client.token) as again:
                stack = (await again.join(table, 0))["you"]["stack"]
                assert again.wallet + stack == 1_000_000
                assert (await again.call("leave", table=table))["wallet"] == 1_000_000
        await host.close()


# --- half-way in ------------------------------------------------------------------------------------------------------


async def test_idle_lines_do_not_slow_a_round(arrive, node_url: str) -> None:
    """BL-125: two hundred TCP connections that say nothing, or half a request; rounds and new patrons are as quick as
    without them."""
    table = "royal-1"
    where = urlsplit(node_url)
    player = await arrive(node_url, "Player")
    await player.join(table, 10_000)
    with ExitStack() as lines:
        for n in range(200):
            line = lines.enter_context(socket.create_connection((where.hostname, where.port)))
            if n % 2:
                line.send(b"GET / HTTP/1.1\r\nHost: pun")
        await player.next("betting_opened", table=table)
        for _ in range(2):
            number = await player.betting(table)
            started_s = time.monotonic()
            await player.place(table, "player", 100)
            assert time.monotonic() - started_s < 0.2
            settled = await player.next("round_settled", table=table, round=number)
            opened = player.seen("betting_opened", table=table, round=number)
            if opened:
                assert settled["next_at_ms"] - opened[0]["opened_at_ms"] < 1_300
        started_s = time.monotonic()
        await arrive(node_url, "Newcomer")
        assert time.monotonic() - started_s < 0.5


async def test_who_does_not_finish_is_shown_out(impatient_url: str) -> None:
    """No handshake, half a handshake, no hello, or a hello that never becomes one: each line ends within its time."""
    where = urlsplit(impatient_url)

    async def half(data: bytes) -> float:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        started_s = time.monotonic()
        writer.write(data)
        try:
            await asyncio.wait_for(reader.read(), 5)
        except ConnectionError:
            pass
        writer.close()
        return time.monotonic() - started_s

    async def silent() -> int | None:
        client = await RawClient.open(impatient_url)
        return await client.closed(5)

    async def asks_without_hello() -> int | None:
        client = await RawClient.open(impatient_url)
        for _ in range(3):
            assert (await client.ask("list_tables"))["name"] == "HELLO_FIRST"
        return await client.closed(5)

    async def stays() -> None:
        client = await RawClient.arrive(impatient_url)
        await asyncio.sleep(2)
        assert (await client.call("ping"))["at_ms"] > 0
        await client.close()

    nothing, part, first, second, _ = await asyncio.gather(
        half(b""), half(b"GET / HTTP/1.1\r\nHost: pun"), silent(), asks_without_hello(), stays()
    )
    assert max(nothing, part) < 3
    assert (first, second) == (4101, 4101)


async def test_a_line_that_is_dead_without_a_word_is_noticed(arrive, impatient_url: str) -> None:
    """BL-058: nothing comes from a patron any more, no close either. The seat counts as away within the time of a ping,
    the bet is settled all the same, and after the grace time the seat is free and the chips are home."""
    table = "punto-banco-1"
    witness, dead = await arrive(impatient_url, "Witness"), await RawClient.arrive(impatient_url, "Dead")
    counter = await arrive(impatient_url, "Counter")  # whoever watches anew misses what the snapshot tells
    await witness.call("watch", table=table)
    await dead.join(table, 5_000)
    number = await dead.bet(table, "player", 500)
    dead.websocket.transport.pause_reading()  # its pings are not answered either

    async def seats() -> tuple[int, int]:
        crowd = (await counter.call("watch", table=table))["snapshot"]["crowd"]
        return crowd["seated"], crowd["connected"]

    counts = [await seats()]
    async with asyncio.timeout(30):
        while counts[-1] != (0, 0):
            await asyncio.sleep(0.02)
            counts.append(await seats())
    assert counts[0] == (1, 1)
    assert (1, 0) in counts
    settled = await witness.next("round_settled", table=table, round=number)
    assert settled["settled"] == 1
    async with await RawClient.arrive(impatient_url, token=dead.token) as again:
        assert again.wallet == 1_000_000 - 500 + settled["paid"]
    await dead.drop()


async def test_nothing_is_taken_behind_a_close(arrive, node_url: str) -> None:
    """BL-121: what was sent behind the message that ended the connection is not carried out."""
    table = "royal-1"
    client = await arrive(node_url, "Rude")
    await client.join(table, 10_000)
    place = {"table": table, "round": (await client.next("betting_opened", table=table))["round"]}
    place |= {"spot": "player", "chip": 100}
    first = await client.begin("place", **place)
    for _ in range(8):
        await client.begin("nonsense")
    behind = [await client.begin("place", **place) for _ in range(20)]
    assert await client.closed() == 4100
    assert (await first)["type"] == "ok"
    assert all(isinstance(future.exception(), ConnectionError) for future in behind)
    again = await arrive(node_url, token=client.token)
    assert (await again.join(table, 0))["you"]["bets"] == {"player": 100}


async def test_a_request_that_finds_no_place_is_told_so_before_it_is_begun(tmp_path: Path) -> None:
    """Also a hello; what asks nobody, or no more than whether the store answers, needs no place."""
    node = NodeProcess(tmp_path / "data", module="tests.support.full_node")
    await asyncio.to_thread(node.start)
    try:
        async with await RawClient.open(node.url) as client:
            told = await client.ask("hello", name="Ann")
            assert (told["name"], told["retry"]) == ("BUSY", True)
            assert (await client.ask("ping"))["name"] == "HELLO_FIRST"
    finally:
        await asyncio.to_thread(node.stop)
