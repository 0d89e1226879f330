"""One socket: messages in, messages out, until it ends.

One door through which every write goes: `post` never waits and writes whole messages in the order they were posted, so
no caller's cancellation can cut one. What is read is delivered where it is read, without a queue and a task's turn in
between. It must never decide whether to come back; `session` does. Nothing here logs frames: the first one holds a
token.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, InvalidURI, NegotiationError, WebSocketException
from websockets.frames import Frame as SocketFrame
from websockets.frames import Opcode
from websockets.protocol import Event, State
from websockets.typing import Subprotocol

from client_sdk.exceptions import Disconnected, ProtocolMismatch
from client_sdk.protocol.codec import BadMessage, Codec, Frame
from client_sdk.settings import Settings

log = logging.getLogger(__name__)

# At level DEBUG the library would log the frames themselves, the one with the token first.
_socket_log: Final = logging.getLogger("client_sdk.line.socket")
_socket_log.setLevel(logging.WARNING)

_NOT_NOW_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})
_DATA: Final = frozenset({Opcode.TEXT, Opcode.BINARY, Opcode.CONT})


class CouldNotOpen(Exception):
    """An attempt failed in a way that the next one may not."""


@dataclass(frozen=True, slots=True)
class LineEnd:
    """How a line ended. `close_code` is None where it just dropped."""

    close_code: int | None
    reason: str


class _Socket(ClientConnection):
    """A connection that hands each message on as it is read; what comes before somebody listens is kept for them."""

    on_frame: Callable[[Frame], None] | None = None
    failure: BaseException | None = None
    """What `on_frame` raised; nothing is handed on after it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._early: deque[Frame] = deque()
        self._parts: list[bytes] = []
        self._is_text = False
        super().connection_made(transport)

    def listen(self, on_frame: Callable[[Frame], None]) -> None:
        """Hand on what came already, and from now on each message as it comes."""
        self.on_frame = on_frame
        while self._early:
            self._hand_on(self._early.popleft())

    def process_event(self, event: Event) -> None:
        """Take a frame. The library has checked the order of a message's parts and their sum."""
        if not isinstance(event, SocketFrame) or event.opcode not in _DATA:
            super().process_event(event)
            return
        if event.opcode is not Opcode.CONT:
            self._is_text = event.opcode is Opcode.TEXT
        self._parts.append(bytes(event.data))
        if event.fin:
            whole = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self._take(whole)

    def _take(self, whole: bytes) -> None:
        try:
            frame = whole.decode() if self._is_text else whole
        except UnicodeDecodeError as error:
            self._fail(error)
            return
        if self.on_frame is None:
            self._early.append(frame)
        else:
            self._hand_on(frame)

    def _hand_on(self, frame: Frame) -> None:
        assert self.on_frame is not None, "somebody listens"
        if self.failure is not None:
            return
        try:
            self.on_frame(frame)
        except Exception as error:  # told by whoever runs the line
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.transport.abort()


class Line:
    """An open connection that speaks one subprotocol."""

    def __init__(self, socket: _Socket, codec: Codec, close_ms: int) -> None:
        self._socket = socket
        self._codec = codec
        self._close_ms = close_ms

    def __repr__(self) -> str:
        return f"<Line {self._codec.subprotocol} {self._socket.state.name}>"

    def post(self, frame: Frame) -> None:
        """Send a frame after those posted before it. Where the line has ended it is not sent, and nobody is told.

        What the peer does not take waits in the transport, bounded by the calls that may wait.
        """
        protocol = self._socket.protocol
        if protocol.state is not State.OPEN:
            return
        if isinstance(frame, str):
            protocol.send_text(frame.encode())
        else:
            protocol.send_binary(frame)
        self._socket.send_data()

    async def run(self, deliver: Callable[[Frame], None]) -> LineEnd:
        """Deliver what is read, in order, until the line ends."""
        socket = self._socket
        try:
            socket.listen(deliver)
            await socket.wait_closed()
        finally:
            self.abort()
        match socket.failure:
            case None:
                received = socket.protocol.close_rcvd
                return LineEnd(None, "dropped") if received is None else LineEnd(received.code, received.reason)
            case BadMessage() | UnicodeDecodeError() as unreadable:
                log.warning("message_unreadable", extra={"reason": str(unreadable)})
                return LineEnd(None, "a message could not be read")
            case failure:
                raise failure

    def pause_reading(self) -> None:
        """Read nothing more until `resume_reading`: the peer's words wait in the system, then at the peer."""
        self._socket.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        if not self._socket.transport.is_closing():
            self._socket.transport.resume_reading()

    def abort(self) -> None:
        """Drop the connection at once; `run` ends."""
        self._socket.transport.abort()

    async def close(self) -> None:
        """Say goodbye, within `close_ms` even where the peer takes nothing more; `run` ends."""
        try:
            async with asyncio.timeout(self._close_ms / 1000):
                await self._socket.close()
        except TimeoutError:
            self.abort()


async def open_line(url: str, codec: Codec, settings: Settings) -> Line:
    """Connect and shake hands.

    Raises CouldNotOpen where another attempt may succeed; ProtocolMismatch or Disconnected where it will not.
    """
    try:
        socket = await connect(
            url,
            subprotocols=[Subprotocol(codec.subprotocol)],
            compression=None,
            open_timeout=settings.dial_ms / 1000,
            close_timeout=settings.close_ms / 1000,
            ping_interval=settings.ping_interval_ms / 1000,
            ping_timeout=settings.ping_timeout_ms / 1000,
            max_size=settings.message_bytes_max,
            logger=_socket_log,
            create_connection=_Socket,
        )
    except InvalidURI as error:
        raise Disconnected(f"{server_of(url)} is no WebSocket address: {error.msg}") from None
    except NegotiationError as error:
        raise ProtocolMismatch(codec.subprotocol, str(error)) from None
    except InvalidStatus as error:
        status = error.response.status_code
        if status in _NOT_NOW_STATUSES:
            raise CouldNotOpen(f"HTTP status {status}") from error
        raise Disconnected(f"the server refused the handshake with HTTP status {status}") from None
    except (OSError, EOFError, WebSocketException) as error:  # a timeout is an OSError too
        raise CouldNotOpen(str(error) or type(error).__name__) from error
    if socket.subprotocol != codec.subprotocol:
        await socket.close()
        raise ProtocolMismatch(codec.subprotocol, socket.subprotocol or "no subprotocol")
    assert isinstance(socket, _Socket), "it was asked for"
    return Line(socket, codec, settings.close_ms)


def server_of(url: str) -> str:
    """Return scheme, host and port: what may be shown of an address, whose other parts may hold a secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"
