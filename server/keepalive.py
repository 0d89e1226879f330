"""Does a peer still live? Every connection is pinged, and one from which nothing comes any more is ended.

The library's own keepalive is a task, a timer and a future for each connection; with a thousand seats it took more of
the node's time than their events. Here one task looks at all, the ping is the same bytes for everybody, and whatever
comes from a peer counts as a sign of life.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final, Protocol

from websockets.frames import Frame, Opcode

LOOKS_A_PING: Final = 10
"""Connections are looked at so often between two pings, so that their pings are spread as they came."""
LINES_A_TURN: Final = 500
"""Looked at in a row, in a millisecond or two; then the node's other work has its turn."""
PING: Final = Frame(Opcode.PING, b"punto").serialize(mask=False, extensions=[])


class Line(Protocol):
    """What a keepalive needs of a connection. `has_spoken` is set whenever something comes from the peer."""

    has_spoken: bool
    pinged_at_s: float

    def probe(self, frame: bytes) -> None:
        """Write a ping."""
        ...

    def end_silent(self) -> None:
        """End it."""
        ...


async def keep_alive(lines: Callable[[], Sequence[Line]], interval_s: float, timeout_s: float) -> None:
    """Look at all lines until cancelled."""
    while True:
        await asyncio.sleep(interval_s / LOOKS_A_PING)
        those_now = lines()
        for start in range(0, len(those_now), LINES_A_TURN):
            look(those_now[start : start + LINES_A_TURN], monotonic(), interval_s, timeout_s)
            await asyncio.sleep(0)


def look(lines: Iterable[Line], now_s: float, interval_s: float, timeout_s: float) -> None:
    """Ping who has spoken since its last ping, an interval after that; end who has said nothing for the time-out."""
    for line in lines:
        silent_s = now_s - line.pinged_at_s
        if line.has_spoken and silent_s >= interval_s:
            line.has_spoken, line.pinged_at_s = False, now_s
            line.probe(PING)
        elif not line.has_spoken and silent_s >= timeout_s:
            line.end_silent()
