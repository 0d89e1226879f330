"""Runs a fleet in the foreground: progress while it plays, the report at the end, Ctrl-C at any time.

It must never decide what is right; it turns what the fleet found into text and an exit code. Read next: `fleet`,
`processes`.
"""

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client_sdk.bots.chaos import Chaos
from client_sdk.bots.fleet import Fleet, NoRoom
from client_sdk.bots.killing import keep_killing
from client_sdk.bots.orders import Orders
from client_sdk.bots.processes import Processes
from client_sdk.bots.progress import show_progress
from client_sdk.bots.report import Tally, as_json, as_text
from client_sdk.bots.report_page import as_page
from client_sdk.exceptions import PuntoError

CLEAN: Final = 0
NOT_CLEAN: Final = 1
INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Reports:
    """Where the report is written besides standard output."""

    json_path: Path | None = None
    page_path: Path | None = None

    def write(self, tally: Tally, orders: Orders) -> None:
        """Write what was asked for."""
        if self.json_path is not None:
            self.json_path.write_text(as_json(tally) + "\n", encoding="utf-8")
        if self.page_path is not None:
            self.page_path.write_text(as_page(tally, orders), encoding="utf-8")


def play(orders: Orders, reports: Reports, chaos: Chaos | None = None) -> int:
    """Run the fleet, print its report, write it where asked, and return the exit code."""
    fleet = Fleet(orders) if orders.processes == 1 else Processes(orders)
    try:
        is_interrupted = asyncio.run(_play(fleet, chaos))
    except (PuntoError, NoRoom) as error:
        print("punto:", " ".join(str(error).split()), file=sys.stderr)
        return NOT_CLEAN
    print("\n".join(as_text(fleet.tally)), flush=True)
    reports.write(fleet.tally, orders)
    if is_interrupted:
        return NOT_CLEAN if fleet.tally.has_findings else INTERRUPTED
    if not fleet.tally.is_clean:
        print(f"punto: not clean; the bets were those of --seed {orders.seed}", file=sys.stderr)
        return NOT_CLEAN
    return CLEAN


async def _play(fleet: Fleet | Processes, chaos: Chaos | None) -> bool:
    """Run the fleet with its progress shown, and return whether a signal ended it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    beside = [asyncio.create_task(show_progress(fleet, sys.stderr), name="punto-progress")]
    if chaos is not None:
        killing = keep_killing(chaos, fleet.orders.seed, fleet.kills, sys.stderr)
        beside.append(asyncio.create_task(killing, name="punto-chaos"))
    try:
        await fleet.run(stop)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    return stop.is_set()
