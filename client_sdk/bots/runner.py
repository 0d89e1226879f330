"""Runs a fleet in the foreground: progress while it plays, the report at the end, Ctrl-C at any time.

It must never decide what is right; it turns what the fleet found into text and an exit code. Read next: `fleet`.
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

from client_sdk.bots.fleet import Fleet, NoRoom
from client_sdk.bots.orders import Orders
from client_sdk.bots.progress import show_progress
from client_sdk.bots.report import as_json, as_text
from client_sdk.exceptions import PuntoError

CLEAN: Final = 0
NOT_CLEAN: Final = 1
INTERRUPTED: Final = 130


def play(orders: Orders, json_path: Path | None) -> int:
    """Run the fleet, print its report, write it as JSON where asked, and return the exit code."""
    fleet = Fleet(orders)
    try:
        is_interrupted = asyncio.run(_play(fleet))
    except (PuntoError, NoRoom) as error:
        print("punto:", " ".join(str(error).split()), file=sys.stderr)
        return NOT_CLEAN
    print("\n".join(as_text(fleet.tally)), flush=True)
    if json_path is not None:
        json_path.write_text(as_json(fleet.tally) + "\n", encoding="utf-8")
    if is_interrupted:
        return INTERRUPTED
    if not fleet.tally.is_clean:
        print(f"punto: not clean; the bets were those of --seed {orders.seed}", file=sys.stderr)
        return NOT_CLEAN
    return CLEAN


async def _play(fleet: Fleet) -> bool:
    """Run the fleet with its progress shown, and return whether a signal ended it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    progress = asyncio.create_task(show_progress(fleet, sys.stderr), name="punto-progress")
    try:
        await fleet.run(stop)
    finally:
        progress.cancel()
        await asyncio.gather(progress, return_exceptions=True)
    return stop.is_set()
