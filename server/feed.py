"""One table as this node's sockets follow it: the newest numbered events, and who listens.

Gapless by construction: an event is passed on only if it is the next, and to a listener only if it is next for it.
Never waits and never asks the store; `hub.py` does. A listener whose outlet is full is skipped and named, so that the
hub can send it a snapshot once it has drained. How public messages get to thousands is `audience.py`'s.
"""

import asyncio
from collections import deque
from collections.abc import Collection
from typing import Any, Final

import msgspec

from server.audience import Audience, Frames, Listener

EVENTS_KEPT: Final = 512
PrivateMessage = msgspec.Struct | dict[str, Any]


class Feed:
    """The followers of one table on this node."""

    def __init__(self, table: str, incarnation: str, seq: int) -> None:
        self.table = table
        self.incarnation = incarnation
        self.seq = seq
        self.newest_seq = seq
        """The highest seq that was passed on in this incarnation: a store that is behind it has forgotten something."""
        self.was_doubted = False
        """Whether somebody said to have seen more than the store holds, and it was told in the log."""
        self.heard_at_s = 0.0
        self.repairing = asyncio.Lock()
        self.seats: dict[str, Listener] = {}
        self.results_told: dict[str, int] = {}
        """The newest round of which a seat here was told its results, or found them in a view of the table."""
        self.behind: dict[Listener, str] = {}
        self._ahead: dict[Listener, int] = {}
        self._held: dict[Listener, list[PrivateMessage]] = {}
        self._kept: deque[tuple[int, Frames]] = deque(maxlen=EVENTS_KEPT)
        self._audience = Audience(lambda listener: self.set_behind(listener, "behind"))

    def __repr__(self) -> str:
        return f"<Feed {self.table} seq={self.seq} listeners={len(self.listeners)} behind={len(self.behind)}>"

    def reset(self, incarnation: str, seq: int) -> None:
        """Begin again at a position that the kept events do not lead to: everybody needs a snapshot before anything
        else."""
        self.newest_seq = max(seq, self.newest_seq) if incarnation == self.incarnation else seq
        self.incarnation, self.seq = incarnation, seq
        self._kept.clear()
        self._ahead.clear()
        self.results_told.clear()
        for listener in self.listeners:
            self.set_behind(listener, "recovered")

    @property
    def listeners(self) -> Collection[Listener]:
        """All that follow, those behind too."""
        return self._audience.followers

    def set_behind(self, listener: Listener, reason: str) -> None:
        """Write nothing more to a follower until it is added anew, after a snapshot that tells this reason."""
        if self._audience.pass_over(listener):
            self.behind[listener] = reason

    @property
    def is_empty(self) -> bool:
        """Whether nobody follows, and nobody is about to."""
        return not self.listeners and not self._held

    def hold(self, listener: Listener) -> None:
        """Keep what is for this listener alone until `add` or `unhold`, while a view of the table is being read for
        it."""
        self._held.setdefault(listener, [])

    def is_held(self, listener: Listener) -> bool:
        """Whether a view of the table is being read for this listener."""
        return listener in self._held

    def unhold(self, listener: Listener) -> None:
        """Forget what was kept: the view could not be read."""
        self._held.pop(listener, None)

    def add(self, listener: Listener, seq: int) -> None:
        """Let a listener that knows everything up to `seq` follow; what it misses is written now.

        The caller has made sure by `has_after` that the events after `seq` are kept.
        """
        self._audience.let_in(listener)
        self.behind.pop(listener, None)
        for kept_seq, frames in self._kept:
            if kept_seq > seq:
                listener.outlet.write(frames.of(listener.outlet.codec))
        if seq > self.seq:
            self._ahead[listener] = seq
        else:
            self._ahead.pop(listener, None)
        for message in self._held.pop(listener, ()):
            listener.outlet.send(message)

    def is_level(self, incarnation: str, seq: int) -> bool:
        """Whether everything up to a position of the table was passed on."""
        return incarnation == self.incarnation and seq <= self.seq

    def has_after(self, seq: int) -> bool:
        """Whether every event after `seq` that this feed has passed on is still kept."""
        return seq >= self.seq or (bool(self._kept) and self._kept[0][0] <= seq + 1)

    def remember(self, missed: list[tuple[int, bytes]]) -> None:
        """Put older events, read back from the stream, in front of those kept; only where they lead up to them
        gapless."""
        oldest = self._kept[0][0] if self._kept else self.seq + 1
        older = [(seq, Frames(packed)) for seq, packed in missed if seq < oldest]
        if older and older[-1][0] == oldest - 1 and older[-1][0] - older[0][0] == len(older) - 1:
            self._kept = deque([*older, *self._kept], maxlen=max(EVENTS_KEPT, len(older) + len(self._kept)))

    def remove(self, listener: Listener) -> None:
        """Let a listener go; its seat, if it still holds one, is the caller's to mark as away."""
        self._audience.let_go(listener)
        self.behind.pop(listener, None)
        self._ahead.pop(listener, None)
        self._held.pop(listener, None)
        self.free_seat(listener)

    def free_seat(self, listener: Listener) -> None:
        """Send what is for this patron's seat to this listener no longer, if it was sent there."""
        if self.seats.get(listener.patron) is listener:
            del self.seats[listener.patron]
            self.results_told.pop(listener.patron, None)

    def advance(self, seq: int, packed: bytes) -> bool:
        """Pass the next event on. False, and nothing done, where it is not the next (an old one, or a gap before
        it)."""
        if seq != self.seq + 1:
            return False
        frames = self._audience.framed(packed)
        self.seq = seq
        self.newest_seq = max(seq, self.newest_seq)
        self._kept.append((seq, frames))
        self._audience.tell(frames, known_to=self._those_ahead(seq) if self._ahead else ())
        return True

    def tell_seat(self, patron: str, message: PrivateMessage) -> None:
        """Pass a private message to the connection that holds the patron's seat, if it is one of this node's.

        One that is behind does not get it: the snapshot that it will get tells the same.
        """
        listener = self.seats.get(patron)
        if listener is None:
            return
        if listener in self._held or listener not in self.behind:
            self.tell_one(listener, message)
        if isinstance(message, dict) and message["type"] == "seat_freed":
            self.free_seat(listener)

    def tell_one(self, listener: Listener, message: PrivateMessage) -> None:
        """Pass a private message to one follower, in its place among what that one is told."""
        if listener in self._held:
            self._held[listener].append(message)
        else:
            self._audience.bring_level(listener)
            listener.outlet.send(message)

    def follower(self, connection: str) -> Listener | None:
        """Find a follower, or one that is about to be one, by its connection's id."""
        return next((listener for listener in (*self.listeners, *self._held) if listener.id == connection), None)

    def tell(self, packed: bytes) -> None:
        """Pass an unnumbered public message on."""
        self._audience.tell(self._audience.framed(packed))

    def _those_ahead(self, seq: int) -> list[Listener]:
        """Name those whose snapshot was read after this event; drop the note once they are level."""
        waiting = [listener for listener, known in self._ahead.items() if known >= seq]
        self._ahead = {listener: known for listener, known in self._ahead.items() if known > seq}
        return waiting
