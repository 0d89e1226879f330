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
    failure: Exception | None = None
    """What `on_frame` raised, or text that is none; nothing is handed on after it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._early: deque[Frame] = deque()
        self._parts = bytearray()  # the library bounds the sum of the parts, but not their number
        self._is_text = False
        self._last_moment: asyncio.TimerHandle | None = None
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._last_moment is not None:
            self._last_moment.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read. A peer that has said goodbye and does not go is left alone soon: else the next ping would notice."""
        super().data_received(data)
        if self.close_deadline is not None and self._last_moment is None:
            self._last_moment = self.loop.call_at(self.close_deadline, self.transport.abort)

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
        if event.fin and not self._parts:
            self._take(bytes(event.data))
            return
        self._parts += event.data
        if event.fin:
            whole, self._parts = bytes(self._parts), bytearray()
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
        self.failure = self.failure or error  # the first: one read of the network may bring many messages
        self.transport.abort()


class Line:
    """An open connection that speaks one subprotocol."""

    def __init__(self, socket: _Socket, codec: Codec, settings: Settings) -> None:
        self._socket = socket
        self._codec = codec
        self._settings = settings

    def __repr__(self) -> str:
        return f"<Line {self._codec.subprotocol} {self._socket.state.name}>"

    def post(self, frame: Frame) -> None:
        """Send a frame after those posted before it. Where the line has ended it is not sent, and nobody is told.

        What the peer does not take waits in the transport. Above `outbox_bytes_max` the line is dropped: a peer that
        takes nothing for so long is as good as gone, and whatever has no answer yet is sent again on the next one.
        """
        protocol, transport = self._socket.protocol, self._socket.transport
        if protocol.state is not State.OPEN or transport.is_closing():
            return
        if transport.get_write_buffer_size() + len(frame) > self._settings.outbox_bytes_max:
            log.warning("line_takes_nothing", extra={"bytes": transport.get_write_buffer_size()})
            transport.abort()
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
            async with asyncio.timeout(self._settings.close_ms / 1000):
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
            write_limit=2 * settings.outbox_bytes_max,  # below it a ping never waits for room, and so never for ever
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
    return Line(socket, codec, settings)


def server_of(url: str) -> str:
    """Return scheme, host and port: what may be shown of an address, whose other parts may hold a secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"
