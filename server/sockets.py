"""One socket before anybody speaks on it: counted from the moment at which it is accepted, and read in small pieces.

What a flood sends must not hold up everybody else: reading a quarter of a megabyte of empty fragments in one go takes
the library a third of a second.
"""

import asyncio
from time import monotonic, thread_time
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode as StandardClose
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

from server.connection import Connection
from server.doors import Doors

RECEIVE_BYTES: Final = 8 * 1024
"""Of one socket in the kernel, which doubles it: a window for small requests."""
PIECE_BYTES: Final = 512
"""Read at a stretch: behind what ends the connection the library reads nothing any more."""
FRAGMENTS_MAX: Final = 256
LONG_READ_S: Final = 0.003
"""Who sends what takes so much of the processor (pings without end) is read again after a multiple of it."""
LONG_PAUSE: Final = 100
LONG_PAUSE_S_MAX: Final = 2.0
_DATA: Final = frozenset({Opcode.TEXT, Opcode.BINARY, Opcode.CONT})


class TurnedAway(asyncio.Protocol):
    """Stands for a socket that is cut at once: a flood of them must cost next to nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Cut it."""
        assert isinstance(transport, asyncio.WriteTransport), "a socket is written to"
        transport.abort()


class Socket(ServerConnection):
    """A socket that the doors count from the moment at which it is accepted."""

    doors: Doors
    address = ""
    connection: Connection | None = None
    has_spoken = True
    pinged_at_s = 0.0
    _is_turned_away = False
    _fragments = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a socket, or cut it before anything is spent on it."""
        peer = transport.get_extra_info("peername")
        self._transport = transport
        if not self.doors.knock(self, peer[0] if peer else None):
            self._is_turned_away = True
            self.abort()
            return
        self.pinged_at_s = monotonic()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Read what came, and note that the peer lives, whatever it says."""
        self.has_spoken = True
        if len(data) <= PIECE_BYTES:
            super().data_received(data)
            return
        began_s, whole = thread_time(), memoryview(data)
        for start in range(0, len(whole), PIECE_BYTES):
            super().data_received(bytes(whole[start : start + PIECE_BYTES]))
        took_s = thread_time() - began_s
        if took_s > LONG_READ_S and not self.transport.is_closing():
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(min(LONG_PAUSE_S_MAX, LONG_PAUSE * took_s), self._read_on)

    def _read_on(self) -> None:
        """Read again, unless what was read waits to be taken: then the library does it."""
        if not self.recv_messages.paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def process_event(self, event: Event) -> None:
        """Take a frame, unless it is one more of a message in far too many."""
        if isinstance(event, Frame) and event.opcode in _DATA:
            self._fragments = 0 if event.fin else self._fragments + 1
            if self._fragments > FRAGMENTS_MAX:
                self.protocol.fail(StandardClose.MESSAGE_TOO_BIG, f"more than {FRAGMENTS_MAX} fragments")
                self.send_data()
                return
        super().process_event(event)

    def probe(self, frame: bytes) -> None:
        """Ask the peer whether it lives."""
        if self.connection is not None:
            self.connection.outlet.write(frame)

    def end_silent(self) -> None:
        """End a line on which nothing comes any more."""
        if self.connection is not None:
            self.connection.end_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self.doors.settle(self)
        if not self._is_turned_away:
            super().connection_lost(exc)

    def abort(self) -> None:
        """Cut it."""
        assert isinstance(self._transport, asyncio.WriteTransport), "a socket is written to"
        self._transport.abort()
