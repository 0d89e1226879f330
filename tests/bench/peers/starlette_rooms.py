"""Starlette under uvicorn: the connection manager of FastAPI's guide to WebSockets, which awaits one `send` after
another. `python -m tests.bench.peers.starlette_rooms`."""

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.bench.peers.asgi import serve

connected: list[WebSocket] = []


async def table(websocket: WebSocket) -> None:
    """Keep a socket among the connected ones for as long as it lives."""
    await websocket.accept()
    connected.append(websocket)
    try:
        while True:
            await websocket.receive()
    except (WebSocketDisconnect, RuntimeError):
        connected.remove(websocket)


async def broadcast(event: str) -> None:
    """Send an event to all."""
    body = event.encode()
    for websocket in connected:
        await websocket.send_bytes(body)


if __name__ == "__main__":
    serve(Starlette(routes=[WebSocketRoute("/", table)]), broadcast)
