"""What the processes of one run saw of a table's events, held against each other.

Each process checks an event once for all of its seats; here the processes must have seen the same ones. From the first
and the last arrival of all comes the skew: their clock is one, as they run on one machine. Pure.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import msgspec

from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.protocol.messages import AnyNumbered, CardDealt

EVENTS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Sighting:
    """One event as the seats of one process got it; `digest` stands for all that it said."""

    table: str
    incarnation: str
    seq: int
    round: int
    is_card: bool
    digest: bytes
    first_at_ms: float
    last_at_ms: float
    seats: int

    @property
    def skew_ms(self) -> float:
        """From its first arrival to its last."""
        return self.last_at_ms - self.first_at_ms

    def plus(self, other: "Sighting") -> "Sighting":
        """Return what both saw."""
        return Sighting(
            self.table,
            self.incarnation,
            self.seq,
            self.round,
            self.is_card,
            self.digest,
            min(self.first_at_ms, other.first_at_ms),
            max(self.last_at_ms, other.last_at_ms),
            self.seats + other.seats,
        )


def sighting_of(incarnation: str, event: AnyNumbered, first_at_ms: float, last_at_ms: float, seats: int) -> Sighting:
    """Note an event."""
    digest = blake2b(msgspec.msgpack.encode(event), digest_size=16).digest()
    round, is_card = getattr(event, "round", 0), isinstance(event, CardDealt)
    return Sighting(event.table, incarnation, event.seq, round, is_card, digest, first_at_ms, last_at_ms, seats)


class Sightings:
    """The events of a run, each once. The oldest are measured and forgotten where there are too many."""

    def __init__(self, measure: Callable[[Sighting], None]) -> None:
        self._measure = measure
        self._events: OrderedDict[tuple[str, str, int], Sighting] = OrderedDict()

    def take(self, sightings: Iterable[Sighting]) -> list[Mismatch]:
        """Take in what one process saw; returns where another one saw something else."""
        found: list[Mismatch] = []
        for one in sightings:
            key = (one.table, one.incarnation, one.seq)
            known = self._events.get(key)
            if known is None:
                self._events[key] = one
            elif known.digest != one.digest:
                detail = "the seats of one process got another event than those of another"
                found.append(Mismatch(Kind.DIFFERS, one.table, one.round, detail, one.seq))
            else:
                self._events[key] = known.plus(one)
            if len(self._events) > EVENTS_MAX:
                self._measure(self._events.popitem(last=False)[1])
        return found

    def finish(self) -> None:
        """Measure what is left."""
        while self._events:
            self._measure(self._events.popitem(last=False)[1])
