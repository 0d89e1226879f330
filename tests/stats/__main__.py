"""`python -m tests.stats`: a million shuffles and a million rounds of each deck count against the exact odds.

The seed is fixed, so a run that held holds again; `--seed` draws other shoes. Exit 1 where a figure is out of bounds.
Both the shuffles and the rounds are shared out to as many processes as there are cores.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TypeVar

from tests.stats import dealt, positions
from tests.stats.dealt import VARIANTS, Finding

PARTS = 20
T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.stats", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000_000, metavar="N", help="of each deck count, and shuffles")
    parser.add_argument("--seed", default="1", metavar="TEXT", help="which shoes")
    args = parser.parse_args(argv)
    started_s = time.monotonic()
    share = -(-args.rounds // PARTS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        places = [pool.submit(positions.count_places, share, f"{args.seed} places {part}") for part in range(PARTS)]
        rounds = {
            decks: [pool.submit(dealt.deal, decks, share, f"{args.seed} {decks} {part}") for part in range(PARTS)]
            for decks in VARIANTS
        }
        counts = positions.together(_results(places))
        holds = show(f"{share * PARTS:,} shuffles of one deck", [positions.finding(counts)])
        for decks, parts in rounds.items():
            tally = dealt.together(_results(parts))
            title = f"{tally.rounds:,} rounds of {decks} decks, {tally.shoes:,} shoes"
            holds &= show(title, dealt.findings(decks, tally))
    print(f"{'all within bounds' if holds else 'OUT OF BOUNDS'}, after {time.monotonic() - started_s:.0f} s")
    return 0 if holds else 1


def show(title: str, found: Iterable[Finding]) -> bool:
    """Print some figures; says whether all may be."""
    print(title, flush=True)
    holds = True
    for finding in found:
        holds &= finding.holds
        mark = "" if finding.holds else "   OUT OF BOUNDS"
        print(f"  {finding.name:<24}{finding.counted:>16,.5g}{finding.expected:>16,.5g}{finding.differs:>10.2f}{mark}")
    return holds


def _results(futures: Iterable[Future[T]]) -> list[T]:
    return [future.result() for future in futures]


if __name__ == "__main__":
    sys.exit(main())
