"""What the library that Punto stands on costs by itself: `python -m tests.bench.floors.sockets`.

Every message is echoed by the loop of the library's own first example. An order on stdin, EVENTS BYTES PAUSE_US..., has
`websockets.broadcast` send so many events to all connections, with a pause from the beginning of each to the next one
for each of them; the answer is "done". Nothing is compressed.
"""

import asyncio
import sys

from websockets.asyncio.server import ServerConnection, broadcast, serve


async def _echo(websocket: ServerConnection) -> None:
    async for message in websocket:
        await websocket.send(message)


async def main() -> None:
    """Print the port, then serve until stdin ends."""
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    async with serve(_echo, "127.0.0.1", 0, compression=None, backlog=1024, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        while line := await orders.readline():
            _, size, *pauses_us = map(int, line.split())
            at_s = loop.time()
            for pause_us in pauses_us:
                broadcast(server.connections, b"x" * size)
                at_s += pause_us / 1e6
                await asyncio.sleep(max(0.0, at_s - loop.time()))
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
