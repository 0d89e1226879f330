"""A house that does what a test tells it: a real socket, one script for each connection.

The real server can't be made to refuse, lose or garble on demand. Requests are recorded per connection as they come.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from client_sdk.client import Client, connect
from client_sdk.protocol.codec import CODECS, MSGPACK, Codec
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import AnyEvent, Message, OwnSeat, TableView
from client_sdk.settings import Settings
from client_sdk.table import Table
from tests.unit.sdk.builders import seat, view

TOKEN = "guest.p1.s3cret-of-the-guest"
PATRON = "p1"
QUICK = Settings(
    connect_ms=2_000,
    dial_ms=500,
    call_ms=2_000,
    close_ms=200,
    reconnect_ms_min=1,
    reconnect_ms_first=5,
    reconnect_ms_max=20,
    retry_ms_min=1,
    retry_ms_first=5,
    retry_ms_max=20,
)
BETTING = view(phase="betting", round=7, seq=40)


class Peer:
    """One connection, from the house's side."""

    def __init__(self, socket: ServerConnection, codec: Codec) -> None:
        self.socket = socket
        self.requests: list[Message] = []
        self._codec = codec

    async def take(self, kind: str | None = None) -> Message:
        """Receive the next request that is no ping; pings are answered on the way."""
        while True:
            request = self._codec.decode(await self.socket.recv())
            if request["type"] == "ping" and kind != "ping":
                await self.reply(request, at_ms=1_000_000)
                continue
            self.requests.append(request)
            assert kind in (None, request["type"]), f"{kind} expected, {request['type']} came"
            return request

    async def reply(self, request: Message, **fields: Any) -> None:
        """Answer a request."""
        await self.tell({"type": "ok", "request_id": request["request_id"], **fields})

    async def refuse(self, request: Message, code: ErrorCode, **fields: Any) -> None:
        """Refuse a request."""
        told = {"code": int(code), "name": code.name, "message": code.text, "retry": code.is_retryable}
        await self.tell({"type": "error", "request_id": request["request_id"], **told, **fields})

    async def tell(self, message: msgspec.Struct | Message) -> None:
        """Send any message."""
        await self.socket.send(self._codec.encode(message))

    async def welcome(self, **fields: Any) -> Message:
        """Take the hello and answer it."""
        hello = await self.take("hello")
        known: dict[str, Any] = {
            "protocol": 1,
            "server": "scripted",
            "patron": PATRON,
            "name": hello["name"] or "alice",
            "token": TOKEN if hello["token"] is None else None,
            "wallet": 1_000,
            "currency": "PTO",
            "exponent": 2,
            "at_ms": 1_000_000,
        }
        await self.reply(hello, **(known | fields))
        return hello

    async def seat(self, view: TableView, you: OwnSeat | None, **fields: Any) -> Message:
        """Take a join and answer it by a snapshot."""
        return await self.show(await self.take("join"), view, you, **fields)

    async def show(self, request: Message, view: TableView, you: OwnSeat | None = None, **fields: Any) -> Message:
        """Answer a join or a watch by a snapshot."""
        await self.reply(
            request,
            table=view.table,
            resumed=False,
            snapshot=msgspec.to_builtins(view),
            you=msgspec.to_builtins(you),
            **fields,
        )
        return request

    async def resume(self, request: Message, you: OwnSeat | None = None) -> None:
        """Answer a join or a watch by the promise of what was missed."""
        await self.reply(request, table=request["table"], resumed=True, snapshot=None, you=msgspec.to_builtins(you))

    async def receipt(self, act: Message, **fields: Any) -> None:
        """Accept an act."""
        known: dict[str, Any] = {"accepted_at_ms": 5_000, "stack": 9_900, "bets": {"banker": 100}, "ready": False}
        await self.reply(act, table=act["table"], round=act["round"], **(known | fields))

    async def rest(self) -> None:
        """Answer pings until the connection ends; anything else is recorded and not answered."""
        while True:
            await self.take()

    def drop(self) -> None:
        """Cut the connection without a word."""
        self.socket.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class ScriptedHouse:
    """Plays one script for each connection, the last one for all that come after.

    A connection stays open after its script. A script that fails fails the test.
    """

    def __init__(self, *scripts: Script, subprotocols: bool = True, port: int = 0) -> None:
        self.peers: list[Peer] = []
        self.failures: list[BaseException] = []
        self._scripts = scripts
        self._port = port
        self._subprotocols = [Subprotocol(name) for name in CODECS] if subprotocols else None
        self._server: Server | None = None
        self._came = asyncio.Condition()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None, "it is open"
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}"

    async def __aenter__(self) -> Self:
        """Listen, on a free port where none was given."""
        self._server = await serve(
            self._play, "127.0.0.1", self._port, subprotocols=self._subprotocols, compression=None
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop; a script that failed fails the test."""
        assert self._server is not None, "it is open"
        self._server.close()
        await self._server.wait_closed()
        if self.failures and kind is None:
            raise self.failures[0]

    async def connections(self, count: int) -> None:
        """Wait until so many connections have come."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.peers) >= count)

    async def _play(self, socket: ServerConnection) -> None:
        peer = Peer(socket, CODECS.get(str(socket.subprotocol), MSGPACK))
        script = self._scripts[min(len(self.peers), len(self._scripts) - 1)]
        self.peers.append(peer)
        async with self._came:
            self._came.notify_all()
        try:
            with suppress(ConnectionClosed):
                await script(peer)
                await peer.rest()
        except Exception as error:
            self.failures.append(error)
            raise


# --- scripts and steps that many tests share ---


async def greet(peer: Peer) -> None:
    """Welcome the client."""
    await peer.welcome()


async def sit(peer: Peer) -> None:
    """Welcome the client and seat it."""
    await peer.welcome()
    await peer.seat(BETTING, seat(), wallet=500)


async def rejoin(peer: Peer) -> None:
    """Welcome the client back to its seat."""
    await peer.welcome()
    await peer.resume(await peer.take("join"), seat())


async def rewatch(peer: Peer) -> None:
    """Welcome the client back as a spectator."""
    await peer.welcome()
    await peer.resume(await peer.take("watch"))


@asynccontextmanager
async def client_of(house: ScriptedHouse, **changes: Any) -> AsyncIterator[Client]:
    """A quick client of this house."""
    known: dict[str, Any] = {"name": "alice", "settings": QUICK}
    async with connect(house.url, **(known | changes)) as client:
        yield client


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what no event tells."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.002)


async def read(table: Table, count: int) -> list[AnyEvent]:
    """Read so many events."""
    async with asyncio.timeout(5):
        return [await anext(table) for _ in range(count)]


def types_of(peer: Peer) -> list[str]:
    """The types of what a connection has asked so far."""
    return [request["type"] for request in peer.requests]
