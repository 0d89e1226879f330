"""The events of a table on their way to one reader: bounded, in order, and never lost in silence.

When a reader falls `events_max` behind, what follows is not kept; once it has drained the rest it gets one fresh
snapshot that holds all that was left out, and events go on from there. A waiting read may be cancelled at any time: an
event leaves the queue only as it is returned.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from client_sdk.exceptions import PuntoError
from client_sdk.protocol.messages import AnyEvent, Crowd, Snapshot


class Inbox:
    """One reader's queue, an asynchronous iterator. It ends when the table does; with the error that ended it, if any.

    `fresh` makes the snapshot of the present moment.
    """

    def __init__(self, events_max: int, fresh: Callable[[], Snapshot]) -> None:
        self._events: deque[AnyEvent] = deque()
        self._events_max = events_max
        self._fresh = fresh
        self._is_behind = False
        self._is_ended = False
        self._error: PuntoError | None = None
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        """How many events wait for the reader."""
        return len(self._events) + self._is_behind

    def __repr__(self) -> str:
        return f"<Inbox waiting={len(self)} behind={self._is_behind} ended={self._is_ended}>"

    def __aiter__(self) -> "Inbox":
        """Read from here on."""
        return self

    async def __anext__(self) -> AnyEvent:
        """Return the next event. Raises what ended the table, or StopAsyncIteration where that was wished."""
        while not len(self):
            if self._error is not None:
                raise self._error
            if self._is_ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        if self._events:
            return self._events.popleft()
        self._is_behind = False
        return self._fresh()

    def put(self, event: AnyEvent) -> None:
        """Append an event; of two crowds in a row only the newer is kept."""
        if self._is_ended or self._is_behind:
            return
        if isinstance(event, Crowd) and self._events and isinstance(self._events[-1], Crowd):
            self._events[-1] = event
        elif len(self._events) < self._events_max:
            self._events.append(event)
        else:
            self._is_behind = True
        self._wake.set()

    def end(self, error: PuntoError | None = None) -> None:
        """Let the reader finish what waits, then stop it. Only the first end counts."""
        if not self._is_ended:
            self._is_ended, self._error = True, error
            self._wake.set()
