"""One socket: messages in, messages out, until it ends.

One door through which every write goes: `post` never waits, one task writes, so whole messages leave in the order they
were posted and no caller's cancellation can cut one. It must never decide whether to come back; `session` does. Nothing
here logs frames: the first one holds a token.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, NegotiationError, WebSocketException
from websockets.typing import Subprotocol

from client_sdk.exceptions import Disconnected, ProtocolMismatch
from client_sdk.protocol.codec import BadMessage, Codec, Frame
from client_sdk.protocol.messages import Message
from client_sdk.settings import Settings

log = logging.getLogger(__name__)

# At level DEBUG the library would log the frames themselves, the one with the token first.
_socket_log: Final = logging.getLogger("client_sdk.line.socket")
_socket_log.setLevel(logging.WARNING)

_NOT_NOW_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})


class CouldNotOpen(Exception):
    """An attempt failed in a way that the next one may not."""


@dataclass(frozen=True, slots=True)
class LineEnd:
    """How a line ended. `close_code` is None where it just dropped."""

    close_code: int | None
    reason: str


class Line:
    """An open connection that speaks one subprotocol."""

    def __init__(self, socket: ClientConnection, codec: Codec, close_ms: int) -> None:
        self._socket = socket
        self._codec = codec
        self._close_ms = close_ms
        self._outbox: asyncio.Queue[Frame] = asyncio.Queue()  # bounded by the calls that may wait

    def __repr__(self) -> str:
        return f"<Line {self._codec.subprotocol} {self._socket.state.name} outbox={self._outbox.qsize()}>"

    def post(self, frame: Frame) -> None:
        """Send a frame after those posted before it. Where the line has ended it is not sent, and nobody is told."""
        self._outbox.put_nowait(frame)

    async def run(self, deliver: Callable[[Message], None]) -> LineEnd:
        """Write what is posted and deliver what is read, in order, until the line ends."""
        writer = asyncio.create_task(self._write(), name="punto-line-writer")
        try:
            while True:
                deliver(self._codec.decode(await self._socket.recv()))
        except ConnectionClosed as closed:
            received = closed.rcvd
            return LineEnd(None, "dropped") if received is None else LineEnd(received.code, received.reason)
        except BadMessage as unreadable:
            log.warning("message_unreadable", extra={"reason": str(unreadable)})
            return LineEnd(None, "a message could not be read")
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self.abort()

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

    async def _write(self) -> None:
        try:
            while True:
                await self._socket.send(await self._outbox.get())
        except ConnectionClosed:
            pass  # the reader sees it too, and tells how
        except Exception:
            log.exception("line_not_written")
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
    return Line(socket, codec, settings.close_ms)


def server_of(url: str) -> str:
    """Return scheme, host and port: what may be shown of an address, whose other parts may hold a secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"
