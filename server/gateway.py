"""The front door: the WebSocket handshake, and plain HTTP answers beside it.

A socket gets in with one of our subprotocols; which one says how its messages are coded. What happens then is
`connection.py`'s. The files of the page for browsers are `page.py`'s.
"""

import asyncio
import logging
import os
import socket
import ssl
import weakref
from collections.abc import Callable, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Any, Final

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import NegotiationError
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.typing import Subprotocol

from client_sdk.protocol.codec import CODECS
from client_sdk.protocol.errors import CloseCode, ErrorCode
from client_sdk.protocol.messages import REQUEST_BYTES_MAX
from server import metrics
from server.addresses import is_allowed_origin
from server.audience import Listener
from server.connection import Connection, House
from server.garbage import count_socket
from server.hub import DRAIN_MS_MAX
from server.jitter import jittered_s
from server.keepalive import Keepalive
from server.open_files import places_to_wait
from server.page import Page
from server.slow_lane import SlowLane
from server.sockets import RECEIVE_BYTES, Socket, TurnedAway
from server.waiting_room import WaitingRoom

log = logging.getLogger(__name__)

PING_INTERVAL_S: Final = 10
PING_TIMEOUT_S: Final = 20
CLOSE_TIMEOUT_S: Final = 5
GOODBYE_TIMEOUT_S: Final = 2
"""A node that stops waits this long for its sockets' closing handshakes; then it cuts those that are left."""
REQUESTS_WAITING_MAX: Final = 32
ACCEPTS_AT_ONCE: Final = 4
"""The loop takes so many new sockets in a row (a millisecond or two), then everybody else has a turn. The library
calls this a backlog and tells the kernel the same; the kernel is told another number afterwards."""
KERNEL_BACKLOG: Final = 1_024
TEND_MS: Final = 500
"""So often the outboxes are looked at."""
RETRY_AFTER_S: Final = 5


async def check_address(host: str, port: int) -> None:
    """Find out whether one can listen there. Raises OSError where nobody can, or somebody does."""
    addresses = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    for family, kind, protocol, _, address in addresses:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(address)


class Gateway:
    """All sockets of this node."""

    def __init__(self, house: House, is_ready: Callable[[], bool], is_busy: Callable[[], bool]) -> None:
        """While it `is_busy`, nobody new is let in: whoever comes would only wait inside."""
        self._house = house
        self._is_ready = is_ready
        self._page = Page()
        self._connections: dict[str, Connection] = {}
        self._count = 0
        self.sockets_made = 0
        """All that ever came in, with or without a handshake."""
        self._server: Server | None = None
        self._waiting_room = WaitingRoom(
            lambda: not is_busy() and house.doors.has_room(), places_to_wait(house.doors.limits)
        )
        self._sockets: weakref.WeakSet[Socket] = weakref.WeakSet()
        self._held_back: set[Socket] = set()
        """Those whose peers have not taken everything yet."""
        self._full_since_s: dict[str, float] = {}
        self._keepalive = Keepalive(PING_INTERVAL_S, PING_TIMEOUT_S)
        self._lane = SlowLane()

    def __repr__(self) -> str:
        return f"<Gateway connections={len(self._connections)}>"

    async def open(self, host: str, port: int, *, shared: bool, tls: ssl.SSLContext | None = None) -> int:
        """Listen, on a port that workers may share; returns it (useful where 0 was asked for). Raises OSError where it
        is taken."""
        limits = self._house.doors.limits
        timeouts: dict[str, Any] = {
            "ssl_handshake_timeout": limits.handshake_ms / 1000,
            "ssl_shutdown_timeout": CLOSE_TIMEOUT_S,
        }
        self._server = await serve(
            self._serve_socket,
            host,
            port,
            subprotocols=[Subprotocol(name) for name in CODECS],
            select_subprotocol=_select_subprotocol,
            process_request=self._answer_http,
            compression=None,
            max_size=REQUEST_BYTES_MAX,
            max_queue=REQUESTS_WAITING_MAX,
            write_limit=0,  # of the library; our own is `outlet.py`'s, which is told of every byte that is held back
            open_timeout=limits.handshake_ms / 1000,
            ping_interval=None,  # `keepalive.py` does that
            close_timeout=CLOSE_TIMEOUT_S,
            server_header="punto",
            backlog=ACCEPTS_AT_ONCE,
            create_connection=self._new_socket,  # type: ignore[arg-type]
            reuse_port=shared or None,
            ssl=tls,
            **(timeouts if tls is not None else {}),
        )
        for listening in self._server.sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # accepted ones inherit it
            with socket.socket(fileno=os.dup(listening.fileno())) as same:
                same.listen(KERNEL_BACKLOG)
        return int(self._server.sockets[0].getsockname()[1])

    def stop_accepting(self) -> None:
        """Take no new sockets; those that are open stay."""
        if self._server is not None:
            self._server.server.close()

    async def close(self) -> None:
        """Tell every socket to come back elsewhere, and end."""
        if self._server is None:
            return
        self._waiting_room.clear()
        for connection in self._connections.values():
            connection.end()
        self._server.close(close_connections=True, code=CloseCode.GOING_AWAY, reason=CloseCode.GOING_AWAY.text)
        for websocket in list(self._sockets):
            if websocket.state is State.CONNECTING:  # its handshake would be waited for, and it was promised nothing
                websocket.abort()
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                await self._server.wait_closed()
        except TimeoutError:
            log.info("sockets_cut", extra={"connections": len(self._connections)})
            for websocket in list(self._sockets):
                websocket.abort()
            await self._server.wait_closed()

    def connections(self) -> list[Connection]:
        """List the connections that are open."""
        return list(self._connections.values())

    def close_slow(self, listener: Listener) -> None:
        """Cut a socket that does not read: a close frame would wait behind all that it has not taken."""
        connection = self._connections.get(listener.id)
        if connection is not None:
            self._house.doors.count(CloseCode.SLOW_READER.name)
            metrics.SLOW_READERS.inc()
            log.info("slow_reader_closed", extra={"patron": listener.patron, "connection": listener.id})
            connection.cut()

    async def admit(self) -> None:
        """Let in, until cancelled, who waits at the door."""
        await self._waiting_room.run()

    async def keep_alive(self) -> None:
        """Ping every connection, and end those that are silent, until cancelled."""
        await self._keepalive.run()

    async def tend(self) -> None:
        """Cut, until cancelled, who does not take what waits for it: for too long, or while all together have too
        much."""
        while True:
            await asyncio.sleep(jittered_s(TEND_MS))
            waiting = {
                c: c.outlet.waiting_bytes
                for socket in self._held_back
                if (c := socket.connection) is not None and not c.outlet.is_closing
            }
            full = {c for c in waiting if c.outlet.is_full}
            now_s = monotonic()
            self._full_since_s = {c.id: self._full_since_s.get(c.id, now_s) for c in full}
            for connection in full:
                if now_s - self._full_since_s[connection.id] > DRAIN_MS_MAX / 1000:
                    self.close_slow(connection)
            excess = sum(waiting.values()) - self._house.doors.limits.outboxes_bytes_max
            for connection in sorted(waiting, key=lambda c: waiting[c], reverse=True):
                if excess <= 0:
                    break
                excess -= waiting[connection]
                self.close_slow(connection)

    async def _serve_socket(self, websocket: ServerConnection) -> None:
        assert isinstance(websocket, Socket), "made below"
        doors = self._house.doors
        doors.settle(websocket)
        doors.enter(websocket.address)
        self._count += 1
        connection_id = f"{self._house.node_id}:{self._count}"
        codec = CODECS[str(websocket.subprotocol)]
        connection = self._connections[connection_id] = Connection(
            websocket, codec, self._house, connection_id, websocket.address
        )
        websocket.connection, websocket.outlet = connection, connection.outlet
        self._keepalive.enter(websocket)
        try:
            await connection.run()
        finally:
            self._keepalive.leave(websocket)
            websocket.connection = None
            del self._connections[connection_id]
            connection.count_no_more()
            doors.leave(websocket.address)

    def _new_socket(self, *args: Any, **how: Any) -> Socket | TurnedAway:
        if self._waiting_room.is_full:
            self._house.doors.count("FLOOD")
            return TurnedAway()
        self.sockets_made += 1
        count_socket(self.sockets_made)
        websocket = Socket(*args, **how)
        websocket.doors, websocket.room, websocket.lane = self._house.doors, self._waiting_room, self._lane
        websocket.held_back = self._held_back
        self._sockets.add(websocket)
        return websocket

    def _refusal(self, websocket: ServerConnection, request: Request) -> ErrorCode | None:
        """Say why a handshake may not go on; None where it may."""
        assert isinstance(websocket, Socket), "made above"
        doors, headers = self._house.doors, request.headers
        host = headers.get("Host", "") if len(headers.get_all("Host")) == 1 else ""
        if not is_allowed_origin(headers.get_all("Origin"), host, doors.limits.allowed_origins):
            return ErrorCode.ORIGIN_REFUSED
        peer = websocket.remote_address
        websocket.address = doors.address_of(peer[0] if peer else None, headers.get_all("X-Forwarded-For"))
        return doors.refusal(websocket.address)

    def _answer_http(self, websocket: ServerConnection, request: Request) -> Response | None:
        """Answer what is no WebSocket handshake."""
        if (answer := self._page.answer(request)) is not None:
            return answer
        match request.path.partition("?")[0]:
            case "/healthz":
                return _text(HTTPStatus.OK, "ok\n")
            case "/readyz":
                is_ready = self._is_ready()
                status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
                return _text(status, "ready\n" if is_ready else "not ready\n")
            case "/" if "Upgrade" in request.headers:
                refused = self._refusal(websocket, request)
                if refused is not None:
                    self._house.doors.count(refused)
                return None if refused is None else _refused(refused)
            case _:
                return _text(HTTPStatus.NOT_FOUND, "not found\n")


def _select_subprotocol(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol:
    """Take the first of ours that was offered; without one there is nothing to speak, and the handshake ends with
    400."""
    for name in CODECS:
        if name in offered:
            return Subprotocol(name)
    raise NegotiationError(f"offer one of the subprotocols {', '.join(CODECS)}")


def _refused(code: ErrorCode) -> Response:
    """Answer a handshake that is not let in: a program goes by the status, a person reads the code."""
    status = HTTPStatus.FORBIDDEN if code is ErrorCode.ORIGIN_REFUSED else HTTPStatus.TOO_MANY_REQUESTS
    response = _text(status, f"{int(code)} {code.name}: {code.text}\n")
    if code.is_retryable:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def _text(status: HTTPStatus, body: str) -> Response:
    headers = Headers()
    headers["Content-Type"] = "text/plain; charset=utf-8"
    headers["Content-Length"] = str(len(body.encode()))
    headers["Connection"] = "close"
    return Response(status, status.phrase, headers, body.encode())
