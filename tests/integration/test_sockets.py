"""A socket that is gone is gone: full collections of garbage are rare on a node (`server/garbage.py`)."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from server.doors import Doors
from server.settings import DoorLimits
from server.slow_lane import SlowLane
from server.sockets import Socket
from server.waiting_room import WaitingRoom

TIMES = 20
PLAIN: dict[str, Any] = {"compression": None, "ping_interval": None, "proxy": None}


async def orderly(port: int) -> None:
    async with connect(f"ws://127.0.0.1:{port}", subprotocols=[Subprotocol("punto")], **PLAIN) as websocket:
        await websocket.send("x" * 10_000)  # more than a piece
        await websocket.recv()


async def broken_off(port: int) -> None:
    websocket = await connect(f"ws://127.0.0.1:{port}", subprotocols=[Subprotocol("punto")], **PLAIN)
    websocket.transport.abort()
    await websocket.wait_closed()


async def half_open(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n")
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("visit", [orderly, broken_off, half_open])
async def test_nothing_of_a_socket_waits_for_the_collector(visit: Callable[[int], Awaitable[None]]) -> None:
    """BL-112, BL-114."""
    doors, room, lane, made = Doors(DoorLimits()), WaitingRoom(lambda: True), SlowLane(), 0

    def new_socket(*args: Any, **how: Any) -> Socket:
        nonlocal made
        made += 1
        websocket = Socket(*args, **how)
        websocket.doors, websocket.room, websocket.lane = doors, room, lane
        return websocket

    async def echo(websocket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            async for message in websocket:
                await websocket.send(message)

    gc.disable()
    try:
        how: dict[str, Any] = {
            "create_connection": new_socket,
            "compression": None,
            "ping_interval": None,
            "subprotocols": ["punto"],
            "select_subprotocol": lambda _, offered: offered[0] if offered else None,
        }
        async with serve(echo, "127.0.0.1", 0, **how) as server, asyncio.timeout(20):
            for _ in range(TIMES):
                await visit(server.sockets[0].getsockname()[1])
            while made < TIMES or any(type(held) in (Socket, ServerProtocol) for held in gc.get_objects()):
                await asyncio.sleep(0.02)
    finally:
        gc.enable()
