"""What a run of bots came to: counts while it runs, then a report for people and one for programs.

It must never decide whether a thing is wrong (the checkers do), only whether anything was. Read next: `fleet`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from client_sdk.bots.findings import Mismatch
from client_sdk.bots.histogram import Histogram
from client_sdk.bots.sightings import Sighting
from client_sdk.bots.timeline import Timeline

DETAILS_MAX: Final = 20
"""Mismatches that are told in full; all are counted."""
DETAILS_OF_A_KIND_MAX: Final = 8
"""So that many of one kind do not hide the first of another."""
_SUMS: Final = (
    "patrons",
    "seats",
    "bets",
    "acts",
    "acks",
    "lost_acks",
    "reconnects",
    "unanswered",
    "events",
    "finished",
    "mismatches",
    "drops",
    "pauses",
)


@dataclass(slots=True)
class Tally:
    """Counts of a run, shared by its bots. `refusals` are by code name, foreseen ones too."""

    patrons: int = 0
    tables: int = 0
    seats: int = 0
    rounds: int = 0
    bets: int = 0
    acts: int = 0
    acks: int = 0
    lost_acks: int = 0
    reconnects: int = 0
    unanswered: int = 0
    events: int = 0
    finished: int = 0
    mismatches: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    details: list[Mismatch] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Bots that did not get to the end, and why."""
    ack_ms: Histogram = field(default_factory=Histogram)
    skew_ms: Histogram = field(default_factory=Histogram)
    seconds: float = 0.0
    began_s: float = 0.0
    """On the monotonic clock of the machine, which its processes share."""
    drops: int = 0
    pauses: int = 0
    kills: list[str] = field(default_factory=list)
    """Servers that were killed meanwhile, as they were asked to be."""
    table_rounds: dict[str, int] = field(default_factory=dict)
    processes: int = 1
    ack_timeline: Timeline = field(default_factory=Timeline)
    skew_timeline: Timeline = field(default_factory=Timeline)

    def answered(self, sent_s: float, answered_s: float) -> None:
        """Count the time that an answer took."""
        duration_ms = (answered_s - sent_s) * 1000
        self.ack_ms.add(duration_ms)
        self.ack_timeline.add(answered_s - self.began_s, duration_ms)

    def measure(self, seen: Sighting) -> None:
        """Count how far apart the seats were that got a card."""
        if seen.is_card and seen.seats > 1:
            self.skew_ms.add(seen.skew_ms)
            self.skew_timeline.add(seen.last_at_ms / 1000 - self.began_s, seen.skew_ms)

    def take_in(self, other: "Tally") -> None:
        """Count what another process of the same run counted. The skew is not among it: that is one of all seats."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.tables = max(self.tables, other.tables)
        self.seconds = max(self.seconds, other.seconds)
        for table, rounds in other.table_rounds.items():
            self.table_rounds[table] = max(rounds, self.table_rounds.get(table, 0))
        self.rounds = sum(self.table_rounds.values())
        self.refusals.update(other.refusals)
        self.kinds.update(other.kinds)
        self.details += other.details[: max(0, DETAILS_MAX - len(self.details))]
        self.failures += other.failures
        self.ack_ms.add_all(other.ack_ms)
        self.ack_timeline.add_all(other.ack_timeline)

    def add(self, found: Iterable[Mismatch]) -> None:
        """Count mismatches and keep the first of them."""
        for mismatch in found:
            self.mismatches += 1
            self.kinds[mismatch.kind.value] += 1
            if len(self.details) < DETAILS_MAX and self.kinds[mismatch.kind.value] <= DETAILS_OF_A_KIND_MAX:
                self.details.append(mismatch)

    @property
    def has_findings(self) -> bool:
        """Whether something was wrong, with the house or with the run."""
        return bool(self.mismatches or self.lost_acks or self.failures)

    @property
    def is_clean(self) -> bool:
        """Whether every check held and every bot finished."""
        return not self.has_findings and self.finished == self.patrons


def as_json(tally: Tally) -> str:
    """Return the report as one JSON object; bots that did not finish are told among the details."""
    report: dict[str, Any] = {
        "patrons": tally.patrons,
        "tables": tally.tables,
        "rounds": tally.rounds,
        "bets": tally.bets,
        "acks": tally.acks,
        "refusals": dict(sorted(tally.refusals.items())),
        "mismatches": tally.mismatches,
        "lost_acks": tally.lost_acks,
        "reconnects": tally.reconnects,
        "ack_ms": tally.ack_ms.summary(),
        "skew_ms": tally.skew_ms.summary(),
        "mismatch_details": [str(mismatch) for mismatch in tally.details] + tally.failures[:DETAILS_MAX],
        "seconds": round(tally.seconds, 3),
        "processes": tally.processes,
        "events": tally.events,
        "acts": tally.acts,
        "unanswered": tally.unanswered,
        "drops": tally.drops,
        "kills": tally.kills,
    }
    return json.dumps(report, indent=2)


def as_text(tally: Tally) -> Iterator[str]:
    """Yield the lines that a person reads."""
    yield f"{tally.finished} of {tally.patrons} patrons finished at {tally.tables} tables in {tally.seconds:.1f} s"
    rows: list[tuple[str, object]] = [
        ("rounds checked", tally.rounds),
        ("bets settled", tally.bets),
        ("acts accepted", tally.acks),
        ("acts refused", tally.refusals.total()),
        ("events", tally.events),
        ("reconnects", tally.reconnects),
        ("lost acks", tally.lost_acks),
        ("mismatches", tally.mismatches),
    ]
    for name, count in rows:
        yield f"  {name:<16}{count:>10}"
    for name, count in tally.refusals.most_common():
        yield f"    {name:<20}{count:>8}"
    for name, histogram in (("act to answer", tally.ack_ms), ("seat to seat", tally.skew_ms)):
        told = "  ".join(f"{key} {value:.1f}" for key, value in histogram.summary().items())
        yield f"  {name:<16}ms  {told}"
    yield from (f"  KILLED {kill}" for kill in tally.kills)
    yield from (f"  MISMATCH {mismatch}" for mismatch in tally.details)
    if tally.mismatches > len(tally.details):
        yield f"  and {tally.mismatches - len(tally.details)} more: {dict(tally.kinds)}"
    yield from (f"  FAILED {failure}" for failure in tally.failures[:DETAILS_MAX])
    if len(tally.failures) > DETAILS_MAX:
        yield f"  and {len(tally.failures) - DETAILS_MAX} more"
    yield verdict_of(tally)


def verdict_of(tally: Tally) -> str:
    """Return the report's last line."""
    if tally.is_clean:
        return "every check held"
    if tally.has_findings:
        return "NOT CLEAN"
    return "stopped early; every check held so far"
