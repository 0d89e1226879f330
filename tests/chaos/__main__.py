"""`python -m tests.chaos`: break a house on purpose and measure how it comes out of it; exit 1 where it did not.

The seed is printed; `--seed` repeats the schedule of faults: the owner of which table, how long after its round began.
Which node that is follows from names that nodes draw at their start.
"""

import argparse
import asyncio
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.chaos.report import heading, row, troubles, write_json
from tests.chaos.runner import Report, play_all
from tests.chaos.scenario import Scenario
from tests.chaos.scenarios import SCENARIOS
from tests.support.stores import KINDS

INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), metavar="NAME", help="only this one")
    parser.add_argument("--seed", default=secrets.token_hex(4), metavar="TEXT", help="repeat a schedule of faults")
    parser.add_argument("--store", default="", choices=sorted(KINDS), help="play on this kind what takes any")
    parser.add_argument("--patrons", type=int, metavar="N", help="so many of them (default: what a small machine can)")
    parser.add_argument("--short", action="store_true", help="one fault of each kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--verbose", action="store_true", help="tell each fault")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    args = parser.parse_args(argv)
    if args.list:
        for scenario in SCENARIOS.values():
            print(f"{scenario.name:26}{(scenario.play.__doc__ or '').splitlines()[0]}")
        return 0
    chosen = [SCENARIOS[name].on(args.store) for name in args.scenario or SCENARIOS]
    if not args.short:
        chosen = [scenario.at_length() for scenario in chosen]
    if args.patrons:
        chosen = [replace(scenario, patrons=(args.patrons, args.patrons)) for scenario in chosen]
    print(f"seed {args.seed}\n{heading()}", flush=True)
    try:
        reports = asyncio.run(_play(chosen, args))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return INTERRUPTED
    if args.json is not None:
        write_json(args.json, args.seed, reports)
    return 0 if all(report.is_clean for report in reports) else 1


async def _play(chosen: Sequence[Scenario], args: argparse.Namespace) -> list[Report]:
    playing = asyncio.current_task()
    assert playing is not None, "a coroutine runs in a task"
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)  # nodes and stores are ended then too
    reports = []
    async for report in play_all(chosen, args.seed, is_short=args.short, is_noisy=args.verbose):
        reports.append(report)
        notes = [f"    {name}: {value}" for name, value in report.notes.items()] if args.verbose else []
        print("\n".join([row(report), *notes, *troubles(report)]), flush=True)
    return reports


if __name__ == "__main__":
    sys.exit(main())
