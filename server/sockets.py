"""One socket before anybody speaks on it: it waits at the door, is counted once it is in, and is read in small pieces.

What a flood sends must not hold up everybody else: reading a quarter of a megabyte of empty fragments in one go takes
the library a third of a second. So whatever comes in more than a piece is read in the slow lane, and nothing else is
taken from that socket meanwhile.
"""

import asyncio
import logging
from time import thread_time
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode as StandardClose
from websockets.frames import Frame, Opcode
from websockets.protocol import Event, State

from server.connection import Connection
from server.doors import Doors
from server.inlet import is_between_messages, is_pong, whole_message
from server.outlet import Outlet
from server.slow_lane import SlowLane
from server.waiting_room import WaitingRoom

LIBRARYS_LOG: Final = logging.getLogger("websockets.server")

RECEIVE_BYTES: Final = 8 * 1024
"""Of one socket in the kernel, which doubles it: a window for small requests."""
PIECE_BYTES: Final = 512
"""Read at a stretch: behind what ends the connection the library reads nothing any more."""
FRAGMENTS_MAX: Final = 64
LONG_READ_S: Final = 0.003
"""Who sends what takes so much of the processor (pings without end) is read again after a multiple of it."""
LONG_PAUSE: Final = 100
LONG_PAUSE_S_MAX: Final = 2.0
_DATA: Final = frozenset({Opcode.TEXT, Opcode.BINARY, Opcode.CONT})


def _nothing() -> None:
    """Do nothing."""


class TurnedAway(asyncio.Protocol):
    """Stands for a socket that is cut at once: a flood of them must cost next to nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Cut it."""
        assert isinstance(transport, asyncio.WriteTransport), "a socket is written to"
        transport.abort()


class Socket(ServerConnection):
    """A socket that waits for its turn, and that the doors count from then on."""

    doors: Doors
    room: WaitingRoom
    lane: SlowLane
    held_back: "set[Socket]"
    """The sockets of the node whose peers have not taken everything."""
    address = ""
    connection: Connection | None = None
    outlet: Outlet | None = None
    has_spoken = True
    is_gone = False
    _is_waiting = True
    _is_turned_away = False
    _fragments = 0
    _is_in_lane = False
    _is_resting = False
    _bulk_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a socket, or have it wait at the door."""
        assert isinstance(transport, asyncio.Transport), "a socket is read and written"
        self._transport = transport
        if self.room.lets_in(self):
            self.enter()
        else:
            transport.pause_reading()

    def enter(self) -> None:
        """Let it in, or cut it before anything is spent on it."""
        self._is_waiting = False
        transport = self._transport
        peer = transport.get_extra_info("peername")
        if not self.doors.knock(self, peer[0] if peer else None):
            self._is_turned_away = True
            self.abort()
            return
        super().connection_made(transport)
        self._unread = bytearray()
        self.recv_messages.resume = self._read_on
        if not transport.is_reading():
            transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Read what came, and note that the peer lives, whatever it says."""
        self.has_spoken = True
        if len(data) <= PIECE_BYTES and not self._unread:
            if self.connection is not None:
                data = self._hear(data, self.connection)
            if data:
                super().data_received(data)
            return
        self._unread += data
        self.transport.pause_reading()
        self._read_on()

    def _hear(self, data: bytes, connection: Connection) -> bytes:
        """Give acts to the connection where they arrive, and return the rest, which is the library's: all of it where
        that has begun a frame or a message itself, or closes."""
        if is_pong(data) and is_between_messages(self.protocol):
            return b""
        start = 0
        while is_between_messages(self.protocol) and (found := whole_message(data, start)) is not None:
            message, end = found
            if not connection.hear(message):
                break
            start = end
        return data[start:]

    def read_piece(self) -> bool:
        """Read a piece of what came at once; false where there is no more, or nobody takes it now."""
        if self.recv_messages.closed:  # the line was lost meanwhile
            return False
        piece = bytes(self._unread[:PIECE_BYTES])
        del self._unread[:PIECE_BYTES]
        began_s = thread_time()
        super().data_received(piece)
        self._bulk_s += thread_time() - began_s
        if self._unread and not self.recv_messages.paused and not self.transport.is_closing():
            return True
        self._is_in_lane = False
        if not self._unread:
            self._rest()
        return False

    def _rest(self) -> None:
        """Read on, but not soon where reading took long."""
        took_s, self._bulk_s = self._bulk_s, 0.0
        if took_s > LONG_READ_S:
            self._is_resting = True
            pause_s = min(LONG_PAUSE_S_MAX, LONG_PAUSE * took_s)
            asyncio.get_running_loop().call_later(pause_s, self._end_rest)
        else:
            self._read_on()

    def _end_rest(self) -> None:
        self._is_resting = False
        self._read_on()

    def _read_on(self) -> None:
        """Go on with what came at once, else let more come; the library calls this too, when what was read is taken."""
        if self.transport.is_closing() or self.recv_messages.paused or self._is_resting or self._is_in_lane:
            return
        if self._unread:
            self._is_in_lane = True
            self.lane.enter(self)
        else:
            self.transport.resume_reading()

    def process_event(self, event: Event) -> None:
        """Take a frame, unless it is one more of a message in far too many."""
        if isinstance(event, Frame) and event.opcode in _DATA:
            if self.connection is not None:
                self.connection.wait_in_line()
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

    def send_data(self) -> None:
        """Write what the library has to say; behind a close frame of it nothing may follow."""
        super().send_data()
        if self.protocol.state is not State.OPEN:
            self._look()

    def pause_writing(self) -> None:
        """Note that the transport holds bytes back. The library is not told: a close frame would wait for a peer that
        does not read."""
        self._look()

    def resume_writing(self) -> None:
        """Note that the system has taken all bytes."""
        self._look()

    def _look(self) -> None:
        if self.outlet is not None:
            self.outlet.look()
            if self.outlet.waiting_bytes:
                self.held_back.add(self)
            else:
                self.held_back.discard(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self.is_gone = True
        vars(self._transport).pop("_read_ready_cb", None)  # a method of its own: asyncio's circle
        if self.outlet is not None:
            self.outlet.shut()
            self.outlet = None
            self.held_back.discard(self)
        if self.connection is not None:
            self.connection.count_no_more()
        self.doors.settle(self)
        if not self._is_turned_away and not self._is_waiting:
            super().connection_lost(exc)
            self._forget_itself()

    def _forget_itself(self) -> None:
        """Undo what makes the library's objects and this one refer to each other in a circle: they are gone at once
        then, and the collector has nothing to look for."""
        self.recv_messages.resume = _nothing
        self.logger = self.protocol.logger = LIBRARYS_LOG  # until now through an adapter that knows its socket
        vars(self.protocol).pop("select_subprotocol", None)
        self.protocol.parser.close()
        error: BaseException | None
        for error in (self.protocol.parser_exc, self.protocol.handshake_exc):
            while error is not None:
                error.__traceback__ = None
                error = error.__cause__ or error.__context__

    def abort(self) -> None:
        """Cut it."""
        self._transport.abort()
