"""How a peer is driven: it prints its port, then each line of stdin, EVENTS BYTES PAUSE_US..., has it send so many
events to all connections, with those pauses; the answer is "done". The same as the floors'.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable


def listening() -> socket.socket:
    """Open a port, and print it."""
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(sock.getsockname()[1], flush=True)
    return sock


async def carry_out(send: Callable[[str], Awaitable[None]]) -> None:
    """Send by order until stdin ends."""
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        _, size, *pauses_us = map(int, line.split())
        at_s = loop.time()
        for pause_us in pauses_us:
            await send("x" * size)
            at_s += pause_us / 1e6
            await asyncio.sleep(max(0.0, at_s - loop.time()))
        print("done", flush=True)
