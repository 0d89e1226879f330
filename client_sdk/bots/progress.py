"""Tells on standard error how a run goes: one line that renews itself on a terminal, else a plain line now and then.

It must never change what it tells about. Read next: `report` for what is told at the end.
"""

import asyncio
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final, TextIO

from client_sdk.bots.fleet import Fleet
from client_sdk.bots.processes import Processes
from client_sdk.bots.report import Tally

TERMINAL_SECONDS: Final = 0.5
PLAIN_SECONDS: Final = 5.0
FIRST_PLAIN_SECONDS: Final = 1.0
"""The first plain line comes soon: it shows that the bots found their seats."""

_BACK_AND_ERASE: Final = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Mark:
    """The counts at one moment, from which the next line tells rates."""

    at_seconds: float = 0.0
    acts: int = 0
    events: int = 0


def line_of(tally: Tally, since: Mark) -> str:
    """Return the line for people: counts so far, rates since the mark."""
    seconds = max(tally.seconds - since.at_seconds, 0.001)
    acts, events = (tally.acts - since.acts) / seconds, (tally.events - since.events) / seconds
    ack_ms = tally.ack_ms
    return (
        f"{tally.seconds:5.0f} s  seats {tally.seats}/{tally.patrons}  done {tally.finished}  rounds {tally.rounds}"
        f"  acts/s {acts:.0f}  events/s {events:.0f}"
        f"  ack ms p50 {ack_ms.percentile_ms(50):.1f} p95 {ack_ms.percentile_ms(95):.1f}"
        f" p99 {ack_ms.percentile_ms(99):.1f}"
        f"  refusals {tally.refusals.total()}  mismatches {tally.mismatches}"
    )


async def show_progress(fleet: Fleet | Processes, stream: TextIO) -> None:
    """Write lines until cancelled; the terminal's line is erased at the end, so that the report stands alone."""
    is_terminal = stream.isatty()
    pauses = repeat(TERMINAL_SECONDS) if is_terminal else chain((FIRST_PLAIN_SECONDS,), repeat(PLAIN_SECONDS))
    mark = Mark()
    try:
        for seconds in pauses:
            await asyncio.sleep(seconds)
            fleet.refresh()
            line = line_of(fleet.tally, mark)
            mark = Mark(fleet.tally.seconds, fleet.tally.acts, fleet.tally.events)
            stream.write(f"{_BACK_AND_ERASE}{line}" if is_terminal else f"{line}\n")
            stream.flush()
    finally:
        if is_terminal:
            stream.write(_BACK_AND_ERASE)
            stream.flush()
