"""python-socketio under uvicorn: `emit` to everybody. `python -m tests.bench.peers.socketio_rooms`.

Its own pings are put off: the crowd does not know them, and the others are not asked for such either.
"""

import socketio

from tests.bench.peers.asgi import serve

server = socketio.AsyncServer(async_mode="asgi", ping_interval=3_600)


async def broadcast(event: str) -> None:
    """Send an event to all."""
    await server.emit("event", event)


if __name__ == "__main__":
    serve(socketio.ASGIApp(server), broadcast)
