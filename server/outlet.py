"""The one door through which everything is written to a socket.

A frame is built once and the same bytes go to every socket of a codec. Nothing here waits: what a slow reader does not
take stays in its own transport, and past its budget the outlet says so and the hub stops feeding it.
"""

import asyncio
import os
import struct
from typing import Any, Final

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.frames import Close, Opcode
from websockets.frames import Frame as WireFrame
from websockets.protocol import State

from client_sdk.protocol.codec import Codec

CUT_AFTER_MS: Final = 2_000
CUT_DEAF_AFTER_MS: Final = 500
_write: Final = os.write
_SHORT_HEAD: Final = struct.Struct("!BB").pack
_HEAD: Final = struct.Struct("!BBH").pack
_LONG_HEAD: Final = struct.Struct("!BBQ").pack


def framed(codec: Codec, message: msgspec.Struct | dict[str, Any]) -> bytes:
    """Turn a message into the bytes of one whole WebSocket frame (server to client, no compression)."""
    return framed_payload(codec, codec.encode(message))


def framed_payload(codec: Codec, payload: bytes | str) -> bytes:
    """Put a frame around an encoded message: RFC 6455, 5.2, final and unmasked. The library's own serializer, which
    knows masks and extensions, takes as long as the encoding."""
    data = payload.encode() if isinstance(payload, str) else payload
    first, size = 0x80 | (Opcode.TEXT if codec.is_text else Opcode.BINARY), len(data)
    if size < 126:
        return _SHORT_HEAD(first, size) + data
    if size < 65_536:
        return _HEAD(first, 126, size) + data
    return _LONG_HEAD(first, 127, size) + data


class Outlet:
    """One socket's way out."""

    __slots__ = ("_bytes_max", "_direct", "_fd", "_is_closing", "_protocol", "_taken", "_transport", "codec")

    def __init__(self, websocket: ServerConnection, codec: Codec, bytes_max: int) -> None:
        self._protocol = websocket.protocol
        self._transport = websocket.transport
        self._bytes_max = bytes_max
        self._is_closing = False
        self._taken: asyncio.Event | None = None
        """Set once nothing waits any more; only while somebody waits for that."""
        self._fd = _plain_socket(self._transport)
        self.codec = codec
        self.look()

    def look(self) -> None:
        """See anew whether bytes may go straight to the system, past the transport: that is half of a write's cost.

        The socket calls this whenever the transport begins or ends to hold bytes back, and whenever the library has
        written something, which may have been a close frame.
        """
        self._direct = self._fd if self.is_open and not self.waiting_bytes else -1
        if self._taken is not None and not (self.is_open and self.waiting_bytes):
            self._taken.set()

    def shut(self) -> None:
        """Write nothing more: the system gives the socket's number to another one."""
        self._is_closing, self._direct = True, -1
        if self._taken is not None:
            self._taken.set()

    def send(self, message: msgspec.Struct | dict[str, Any]) -> None:
        """Write one message to this socket alone."""
        self.write(framed(self.codec, message))

    def write(self, frame: bytes) -> None:
        """Write the bytes of whole frames; on a socket that is closing they are dropped."""
        if self._direct >= 0:
            self.offer(frame)
        elif self.is_open:
            self._transport.write(frame)

    def offer(self, frame: bytes) -> bool:
        """Do the same, unless the peer is behind by more than it may be: then False, and nothing is written."""
        if self._direct >= 0:
            try:
                taken = _write(self._direct, frame)
            except OSError:  # full or broken: the transport meets the same, and knows what to do
                taken = 0
            if taken < len(frame):
                self._transport.write(frame[taken:])
            return True
        if self.is_full:
            return False
        if self.is_open:
            self._transport.write(frame)
        return True

    def close_soon(self, code: int, text: str, *, listens: bool = True) -> None:
        """Put a close frame behind all that the peer has not taken, and cut the line if it does not take it in time.
        Who is not listened to any more is cut a little later whatever it says: reading a flood costs as much as
        answering it."""
        self.write(WireFrame(Opcode.CLOSE, Close(code, text).serialize()).serialize(mask=False, extensions=[]))
        self.shut()  # nothing may follow a close frame
        if not listens:
            self._transport.pause_reading()
        cut_after_ms = CUT_AFTER_MS if listens else CUT_DEAF_AFTER_MS
        asyncio.get_running_loop().call_later(cut_after_ms / 1000, self._transport.abort)

    async def until_taken(self) -> None:
        """Where the peer is too far behind, wait until it has taken everything or the socket ends."""
        if self.is_full:
            self._taken = asyncio.Event()
            await self._taken.wait()
            self._taken = None

    @property
    def is_closing(self) -> bool:
        """Whether the socket was told to close, and is cut soon if it does not."""
        return self._is_closing

    @property
    def waiting_bytes(self) -> int:
        """How much the peer has not taken yet."""
        return self._transport.get_write_buffer_size()

    @property
    def is_full(self) -> bool:
        """Whether the peer is behind by more than it may be; a socket that is closing is not."""
        return self.is_open and self.waiting_bytes > self._bytes_max

    @property
    def is_open(self) -> bool:
        """Whether anything that is written may still arrive."""
        return not self._is_closing and self._protocol.state is State.OPEN


def _plain_socket(transport: asyncio.Transport) -> int:
    """Give the number of a socket on which bytes go out as they are; -1 where something (TLS) lies between."""
    sock = transport.get_extra_info("socket")
    return -1 if sock is None or transport.get_extra_info("sslcontext") is not None else int(sock.fileno())
