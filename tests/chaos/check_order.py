"""Every seat got the same events in the same order, without a gap or a repeat, and as the store holds them. Pure."""

from collections.abc import Iterator

from client_sdk.protocol.messages import Message
from tests.chaos.evidence import Evidence, StoredTable, View, plain
from tests.chaos.verdict import Broken, Kind


def check_order(evidence: Evidence) -> Iterator[Broken]:
    for view in evidence.views:
        yield from _check_view(view)
    told: dict[tuple[str, str, int], Message] = {}
    for view in evidence.views:
        for sight in view.sights:
            if sight.kind == "event":
                first = told.setdefault((view.table, sight.incarnation, sight.seq), sight.body)
                if first != sight.body:
                    where = f"{view.table} {sight.incarnation} seq {sight.seq}"
                    yield Broken(Kind.DIFFERS, where, f"{plain(sight.body)}, another seat got {plain(first)}")
    for (table, incarnation, seq), event in told.items():
        stored = evidence.tables.get(table)
        if stored is None or stored.incarnation != incarnation:
            continue
        kept = stored.stream.get(seq)
        if seq > stored.seq or (kept is not None and kept != event):
            yield Broken(Kind.DIFFERS, f"{table} seq {seq}", f"seats got {plain(event)}, the store has {plain(kept)}")
    for table, stored in evidence.tables.items():
        yield from _check_stream(table, stored)


def _check_view(view: View) -> Iterator[Broken]:
    """Follow one connection: its numbers go up by one from wherever a reply or a snapshot put it."""
    at: int | None = None
    where = f"{view.table} connection {view.line} of {view.patron}"
    for sight in view.sights:
        if sight.kind == "base":
            at = sight.seq
        elif sight.kind != "event":
            continue
        elif at is None:
            yield Broken(Kind.UNASKED, where, f"seq {sight.seq} before any answer")
        elif sight.seq != at + 1:
            kind = Kind.GAP if sight.seq > at else Kind.REPEAT
            yield Broken(kind, where, f"seq {sight.seq} after {at}")
            at = max(at, sight.seq)
        else:
            at = sight.seq


def _check_stream(table: str, stored: StoredTable) -> Iterator[Broken]:
    seqs = sorted(stored.stream)
    if seqs and (seqs[-1] != stored.seq or len(seqs) != seqs[-1] - seqs[0] + 1):
        yield Broken(Kind.GAP, f"{table} stream", f"{len(seqs)} entries from {seqs[0]} to {seqs[-1]}, at {stored.seq}")
