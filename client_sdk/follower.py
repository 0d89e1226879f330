"""One table as one connection after another follows it: the mirror, its readers, and what to ask for after a break.

No I/O: replies and events come in, and what it holds tells the session what to send. It keeps the one promise that
readers build on: every numbered event once and in order, or a snapshot where that is not possible. Read next:
`session`, which sends, and `inbox`, which waits.
"""

import asyncio
import logging
from typing import Final, get_args

import msgspec
from msgspec.structs import replace

from client_sdk.auditor import Auditor
from client_sdk.clock import TableClock
from client_sdk.exceptions import ProtocolMismatch, PuntoError, ShoeDisputed
from client_sdk.game.proofs import ProofFailed
from client_sdk.inbox import Inbox
from client_sdk.mirror import Applied, TableMirror
from client_sdk.protocol.codec import decode_event
from client_sdk.protocol.messages import (
    AnyEvent,
    AnyUnnumbered,
    Join,
    Message,
    OwnSeat,
    Results,
    SeatFreed,
    SeatTakenOver,
    Snapshot,
    TableView,
    Watch,
    Watching,
)
from client_sdk.shoe_audit import OwnCut

log = logging.getLogger(__name__)

_EVENT_TYPES: Final = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))


class Follower:
    """A followed table.

    `wants_seat` tells whether a new connection has to take the seat again, or only watch. `is_attached` tells whether
    the present connection follows the table. `is_behind`: events are missing, and a resume must ask for them. `turned`
    is set at each resume and at the end, for whoever waits for either. The mirror shows the own seat only while this
    client holds it: nobody tells what becomes of it elsewhere.
    """

    def __init__(self, view: TableView, *, events_max: int, verifies: bool = True) -> None:
        self.mirror = TableMirror(view)
        self.auditor = Auditor(view) if verifies else None
        self.clock = TableClock()
        self.wants_seat = view.you is not None
        self.is_attached = True
        self.is_behind = False
        self.is_ended = False
        self.turned = asyncio.Event()
        self._events_max = events_max
        self._inboxes: list[Inbox] = []
        self.error: PuntoError | None = None
        self.gaps = 0
        self._gap_seq: int | None = None
        self._needs_snapshot = False

    def __repr__(self) -> str:
        return f"<Follower {self.mirror!r} attached={self.is_attached} behind={self.is_behind}>"

    @property
    def table(self) -> str:
        """The table's id."""
        return self.mirror.table

    def shoe_to_cut(self) -> int | None:
        """Return the number of the open shoe where it takes cuts, as far as we know, and none of ours is in it."""
        view, shoe = self.mirror.view, self.mirror.shoe
        if shoe is None or not shoe.commitment or view.you is None or view.you.cut is not None:
            return None
        return shoe.number if view.phase == "betting" and view.round == shoe.first_round else None

    def cut_accepted(self, incarnation: str, shoe: int, own: OwnCut) -> None:
        """A cut of ours, sent in that incarnation of the table, is in the shoe.

        Where the table got another one before the answer came, the store may have forgotten the cut that it accepted,
        and a shoe of that number may come again: nothing follows from it.
        """
        if incarnation != self.mirror.incarnation:
            return
        self.mirror.apply_cut(shoe, own.cut[1].hex())
        if self.auditor is not None:
            self.auditor.accepted(shoe, own)

    # --- readers ---

    def subscribe(self) -> Inbox:
        """Open a reader for the events from now on."""
        inbox = Inbox(self._events_max, lambda: self._snapshot("behind", self.mirror.view))
        if self.is_ended:
            inbox.end(self.error)
        else:
            self._inboxes.append(inbox)
        return inbox

    def unsubscribe(self, inbox: Inbox) -> None:
        """End one reader; the others go on."""
        self._inboxes = [other for other in self._inboxes if other is not inbox]
        inbox.end()

    def end(self, error: PuntoError | None = None) -> None:
        """End every reader, present and later ones: with the error, or quietly."""
        if not self.is_ended:
            self.is_ended, self.error = True, error
            self.turned.set()
            self.is_attached = self.wants_seat = False
            for inbox in self._inboxes:
                inbox.end(error)

    # --- after a break ---

    def resume_request(self, request_id: str) -> Join | Watch:
        """Ask for what was missed, or for a snapshot where the numbers led nowhere.

        A seat is only taken back: where it was freed meanwhile its chips are in the wallet, and a new seat has none.
        """
        mirror = self.mirror
        incarnation, seq = (None, None) if self._needs_snapshot else (mirror.incarnation, mirror.seq)
        if self.wants_seat:
            return Join(request_id=request_id, table=self.table, take_back=True, incarnation=incarnation, seq=seq)
        return Watch(request_id=request_id, table=self.table, incarnation=incarnation, seq=seq)

    def detach(self) -> None:
        """The connection is gone. A seat that is not wanted is lost with it."""
        self.is_attached = False
        if not self.wants_seat:
            self.mirror.renew_seat(None)

    def accept_seat(self, reply: Watching) -> None:
        """Take the answer to a join: the missed events follow it, or it holds the state."""
        seat = _seat_of(reply)
        self.wants_seat = seat is not None
        self._accept(reply, seat)

    def accept_watch(self, reply: Watching) -> None:
        """Take the answer to a watch, which leaves the seat where it is: here or elsewhere."""
        self._accept(reply, None if self.mirror.you is None else _seat_of(reply))

    def _accept(self, reply: Watching, seat: OwnSeat | None) -> None:
        self.is_attached, self.is_behind = True, False
        if reply.snapshot is not None:
            self._gap_seq, self._needs_snapshot = None, False
            self._show(self._snapshot("resumed", replace(reply.snapshot, you=seat)))
        self.mirror.renew_seat(seat)  # it is as new as the reply, which a passed-over snapshot is not
        self.turned.set()
        self._show_owed_results()

    def lose_seat(self, reason: str) -> None:
        """The seat could not be taken again: tell the readers, and only watch from now on."""
        self._show(SeatFreed(table=self.table, reason=reason, wallet=None))

    # --- events ---

    def feed(self, message: Message) -> AnyEvent | None:
        """Take an event as it came off the wire; returned where it told something new."""
        try:
            event = decode_event(message)
        except msgspec.ValidationError as error:
            self._pass_over(message, error)
            return None
        return self.take(event)

    def take(self, event: AnyEvent) -> AnyEvent | None:
        """Take an event; returned where it told something new."""
        if self.is_behind and isinstance(event, Results):
            return None  # its round is not in view yet; the seat in the answer to the resume tells it
        if isinstance(event, Snapshot) and self.mirror.you is None:
            event = replace(event, snapshot=replace(event.snapshot, you=None))
        if not self._show(event):
            return None
        self._show_owed_results()
        return event

    def _show(self, event: AnyEvent) -> bool:
        """Apply an event, and pass it on where it changed something."""
        applied = self.mirror.apply(event)
        if applied is Applied.GAP:
            self._fall_behind()
        if applied is not Applied.APPLIED:
            return False
        if isinstance(event, Snapshot):
            self.is_behind = False
            self.wants_seat = self.wants_seat and event.snapshot.you is not None
        elif isinstance(event, SeatTakenOver | SeatFreed):
            self.wants_seat = False
        if not self._holds(event):
            return False
        self._put(event)
        return True

    def _holds(self, event: AnyEvent) -> bool:
        """Hold the event against what was told of the shoe before; the first difference ends the table."""
        if self.auditor is None or (isinstance(event, AnyUnnumbered) and not isinstance(event, Snapshot)):
            return True
        try:
            if isinstance(event, Snapshot):
                self.auditor.looks(event.snapshot)
            else:
                self.auditor.takes(event)
        except ProofFailed as proof:
            self.end(ShoeDisputed(self.table, proof))
            return False
        return True

    def _show_owed_results(self) -> None:
        results = self.mirror.owed_results()
        if results is not None:
            self._put(results)

    def _put(self, event: AnyEvent) -> None:
        for inbox in self._inboxes:
            inbox.put(event)

    def _fall_behind(self) -> None:
        if self.is_behind:
            return
        self._needs_snapshot = self._gap_seq == self.mirror.seq  # the last resume from here did not help
        self._gap_seq = self.mirror.seq
        self.is_behind = True
        self.gaps += 1

    def _pass_over(self, message: Message, error: msgspec.ValidationError) -> None:
        """Count an event of a newer protocol, whose meaning can't matter to us; distrust one that we should know."""
        kind, seq = message.get("type"), message.get("seq")
        if kind in _EVENT_TYPES:
            log.warning("event_unreadable", extra={"table": self.table, "seq": seq, "reason": str(error)})
            self.is_behind = self._needs_snapshot = True
        elif isinstance(seq, int) and self.mirror.skip(seq) is Applied.GAP:
            self._fall_behind()

    def _snapshot(self, reason: str, view: TableView) -> Snapshot:
        return Snapshot(table=self.table, reason=reason, snapshot=view)


def seated_view(reply: Watching) -> TableView:
    """Return what the answer to a first join shows. Raises ProtocolMismatch where it holds no snapshot."""
    return replace(watched_view(reply), you=_seat_of(reply))


def watched_view(reply: Watching) -> TableView:
    """Return what the answer to a first watch shows. Raises ProtocolMismatch where it holds no snapshot."""
    if reply.snapshot is None:
        raise ProtocolMismatch("a snapshot", "a resume that nobody asked for")
    return replace(reply.snapshot, you=None)


def _seat_of(reply: Watching) -> OwnSeat | None:
    """Return the own seat, which a reply may tell beside the snapshot or in it."""
    if reply.you is None and reply.snapshot is not None:
        return reply.snapshot.you
    return reply.you
