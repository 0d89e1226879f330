"""Runs an ASGI application under uvicorn with its defaults, and carries out orders beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from tests.bench.peers.orders import carry_out, listening


def serve(application: Any, send: Callable[[str], Awaitable[None]]) -> None:
    """Serve until stdin ends."""
    asyncio.run(_serve(application, send))


async def _serve(application: Any, send: Callable[[str], Awaitable[None]]) -> None:
    sock = listening()
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    await carry_out(send)
    server.should_exit = server.force_exit = True
    await serving
