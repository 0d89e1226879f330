"""Follows the shoes of one table, one after another, and holds each to what was told of it.

Pure. `takes` raises ProofFailed for the first difference in an event. A shoe that has ended goes to `ended`, to be
judged by whoever can ask for its cuts. Read next: `shoe_audit`.
"""

from client_sdk.game.proofs import Part, ProofFailed
from client_sdk.protocol.messages import AnyNumbered, ShoeEnded, ShoeStarted, TableView
from client_sdk.shoe_audit import OwnCut, ShoeAudit


class Auditor:
    """The open shoe of a table, and those that wait for their verdict."""

    def __init__(self, view: TableView) -> None:
        self.ended: list[ShoeAudit] = []
        self._incarnation = view.incarnation
        self._shoe = ShoeAudit.seen(view)
        self._number = None if view.shoe is None else view.shoe.number

    def __repr__(self) -> str:
        return f"<Auditor shoe={self._number} ended={len(self.ended)}>"

    def looks(self, view: TableView) -> None:
        """Go on at a snapshot: events before it were missed. One of another incarnation begins anew: the store may have
        forgotten cuts and shoes that were told, and everybody can see that it has."""
        if view.incarnation != self._incarnation:
            self._incarnation, self._shoe = view.incarnation, ShoeAudit.seen(view)
            self.ended.clear()
        elif self._shoe is None or not self._shoe.looks_again(view):
            self._shoe = ShoeAudit.seen(view)
        self._number = None if view.shoe is None else view.shoe.number

    def takes(self, event: AnyNumbered) -> None:
        """Take in the next event."""
        if isinstance(event, ShoeStarted):
            self._start(event)
        elif self._shoe is not None:
            self._shoe.takes(event)
            if isinstance(event, ShoeEnded):
                self.ended.append(self._shoe)
                self._shoe = None

    def accepted(self, shoe: int, own: OwnCut) -> None:
        """A cut of ours was accepted: it must be in the list."""
        if self._shoe is not None and self._shoe.number == shoe and own not in self._shoe.own_cuts:
            self._shoe.own_cuts.append(own)

    def _start(self, event: ShoeStarted) -> None:
        if self._shoe is not None:
            told = f"the commitment {self._shoe.commitment}"
            raise ProofFailed(Part.COMMITMENT, f"shoe {self._shoe.number}", told, "another shoe, and no secret")
        if self._number is not None and event.shoe != self._number + 1:
            raise ProofFailed(Part.ENDING, f"the shoe after shoe {self._number}", f"shoe {event.shoe}", "a gap")
        self._shoe, self._number = ShoeAudit.started(event), event.shoe
