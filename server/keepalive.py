"""Does a peer still live? Every connection is pinged, and one from which nothing comes any more is ended.

The library's own keepalive is a task, a timer and a future for each connection; with a thousand seats it took more of
the node's time than their events. Here one task pings those whose turn it is, in the order in which they were pinged
before, with the same bytes for everybody; whatever comes from a peer counts as a sign of life.
"""

import asyncio
from time import monotonic
from typing import Final, Protocol

from websockets.frames import Frame, Opcode

LOOKS_A_PING: Final = 10
"""So often between two pings of a connection it is looked whose turn it is: pings are spread as they came."""
LINES_A_TURN: Final = 100
"""Pinged in a row, in a few milliseconds; then the node's other work has its turn."""
PING: Final = Frame(Opcode.PING, b"punto").serialize(mask=False, extensions=[])


class Line(Protocol):
    """What a keepalive needs of a connection. `has_spoken` is set whenever something comes from the peer."""

    has_spoken: bool

    def probe(self, frame: bytes) -> None:
        """Write a ping."""
        ...

    def end_silent(self) -> None:
        """End it."""
        ...


class Keepalive:
    """The connections of a node, by when they were pinged last. One that has spoken is pinged `interval_s` later, one
    that has not is ended `timeout_s` later."""

    def __init__(self, interval_s: float, timeout_s: float) -> None:
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._pinged: dict[Line, float] = {}
        self._unheard: dict[Line, float] = {}
        """Those whose turn it was, and from whom nothing had come."""

    def __repr__(self) -> str:
        return f"<Keepalive lines={len(self._pinged)} unheard={len(self._unheard)}>"

    def enter(self, line: Line, now_s: float | None = None) -> None:
        """Look after a line, which has just shown that it lives."""
        self._pinged[line] = monotonic() if now_s is None else now_s

    def leave(self, line: Line) -> None:
        """Look after it no more."""
        self._pinged.pop(line, None)
        self._unheard.pop(line, None)

    async def run(self) -> None:
        """Ping and end until cancelled."""
        while True:
            are_more = self.look(monotonic())
            await asyncio.sleep(0 if are_more else self._interval_s / LOOKS_A_PING)

    def look(self, now_s: float) -> bool:
        """Ping and end some of those whose turn it is; whether there are more."""
        for line, pinged_s in list(self._unheard.items()):
            if line.has_spoken:
                del self._unheard[line]
                self._ping(line, now_s)
            elif now_s - pinged_s >= self._timeout_s:
                line.end_silent()
        due: list[Line] = []
        for line, pinged_s in self._pinged.items():
            if now_s - pinged_s < self._interval_s or len(due) == LINES_A_TURN:
                break
            due.append(line)
        for line in due:
            pinged_s = self._pinged.pop(line)
            if line.has_spoken:
                self._ping(line, now_s)
            else:
                self._unheard[line] = pinged_s
        return len(due) == LINES_A_TURN

    def _ping(self, line: Line, now_s: float) -> None:
        line.has_spoken = False
        self._pinged[line] = now_s
        line.probe(PING)
