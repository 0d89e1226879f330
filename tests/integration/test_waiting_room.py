"""Who comes in a crowd is let in one after another; nobody is sent away who could wait, and nobody is kept for ever."""

import asyncio
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from server.waiting_room import PLACES
from tests.bench.process import allow_files
from tests.support.node_process import own_node
from tests.support.raw_client import RawClient

PER_S: Final = 40
CROWD: Final = 120


async def test_a_crowd_is_let_in_one_after_another(tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", node_opens_per_s=PER_S) as node:
        began_s = time.monotonic()
        clients = await asyncio.gather(*(RawClient.arrive(node.url, f"Seat {number}") for number in range(CROWD)))
        took_s = time.monotonic() - began_s
        assert took_s > (CROWD - 2 * PER_S) / PER_S, "what a second holds comes at once, the others wait"
        await asyncio.gather(*(client.call("list_tables") for client in clients))
        await asyncio.gather(*(client.close() for client in clients))


async def test_who_goes_while_waiting_takes_nobodys_turn(tmp_path: Path) -> None:
    """Those who wait are noticed at their turn: a crowd that has gone delays whoever comes after it by its turns."""
    async with own_node(tmp_path / "data", node_opens_per_s=PER_S) as node:
        where = urlsplit(node.url)
        gone = [await asyncio.open_connection(where.hostname, where.port) for _ in range(CROWD)]
        for _, writer in gone:
            writer.close()
        async with asyncio.timeout(CROWD / PER_S + 10):
            client = await RawClient.arrive(node.url, "Late")
            await client.call("list_tables")
            await client.close()


async def test_a_full_room_sends_away(tmp_path: Path) -> None:
    allow_files()
    async with own_node(tmp_path / "data", node_opens_per_s=1) as node:
        where = urlsplit(node.url)
        waiting = [await asyncio.open_connection(where.hostname, where.port) for _ in range(PLACES + 50)]
        reader, _ = waiting[-1]
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        for _, writer in waiting:
            writer.transport.abort()


async def test_a_node_that_stops_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", node_opens_per_s=1) as node:
        where = urlsplit(node.url)
        waiting = [await asyncio.open_connection(where.hostname, where.port) for _ in range(20)]
        began_s = time.monotonic()
        await asyncio.to_thread(node.stop)
        assert time.monotonic() - began_s < 10
        async with asyncio.timeout(10):
            for reader, writer in waiting:
                try:
                    assert await reader.read() == b""
                except ConnectionResetError:
                    pass
                writer.transport.abort()
