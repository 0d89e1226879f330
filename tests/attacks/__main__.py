"""`python -m tests.attacks`: attack a node in every way that is listed, and measure what honest seats at another table
feel of it; exit 1 where their p99 is above twice its quiet value and above 50 ms, or anything else went wrong.

Attackers, honest seats and the node share this machine; the attackers let the others have the processor first
(docs/testing.md says how, and why that is fair).
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.attacks.attackers import ATTACKS
from tests.attacks.runner import P99_MS_MIN, RESIDENT_BYTES_MAX, Row, attack_all


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--attack", action="append", choices=sorted(ATTACKS), metavar="NAME", help="only this one")
    parser.add_argument("--seconds", type=float, default=20.0, help="each is measured (%(default)s)")
    parser.add_argument("--seats", type=int, default=20, help="honest ones (%(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="of the attackers (%(default)s)")
    parser.add_argument("--list", action="store_true", help="name the attacks and stop")
    args = parser.parse_args(argv)
    if args.list:
        for name, (attack, size) in ATTACKS.items():
            print(f"{name:20}{size:6}  {(attack.__doc__ or '').splitlines()[0]}")
        return 0
    with tempfile.TemporaryDirectory(prefix="punto-attacks-") as directory:
        return asyncio.run(_run(Path(directory), args))


async def _run(directory: Path, args: argparse.Namespace) -> int:
    print("of the time, so much each process ran on a core, and so much it could have run but waited for one")
    head = f"{'attack':20}{'receipts':>9}{'p50 ms':>9}{'p99 ms':>9}{'bound':>8}{'new ms':>8}{'MiB':>6}"
    print(f"{head}{'node':>10}{'store':>10}{'honest':>10}{'attackers':>10}  attackers saw")
    bound_ms, is_clean = float("inf"), True
    names = args.attack or list(ATTACKS)
    async for row in attack_all(directory, names, seats=args.seats, seconds=args.seconds, share=args.share, extra={}):
        if row.name == "quiet":
            bound_ms = max(P99_MS_MIN, 2 * row.latency.percentile_ms(99))
        troubles = problems(row, bound_ms)
        is_clean = is_clean and not troubles
        print("\n".join([_line(row, bound_ms), *(f"    {trouble}" for trouble in troubles)]), flush=True)
    return 0 if is_clean else 1


def problems(row: Row, bound_ms: float) -> list[str]:
    """Say what is wrong with a row; nothing where all is well."""
    found = list(row.troubles)
    if row.name != "books" and not row.latency.total:
        found.append("no honest act was answered")
    if row.latency.total and row.latency.percentile_ms(99) > bound_ms:
        found.append(f"the honest are slowed down: p99 {row.latency.percentile_ms(99):.1f} ms, not {bound_ms:.0f}")
    if row.resident_bytes > RESIDENT_BYTES_MAX:
        found.append(f"{row.resident_bytes / 1024**2:.0f} MiB in memory")
    return found


def _line(row: Row, bound_ms: float) -> str:
    memory, seen = f"{row.resident_bytes / 1024**2:.0f}", ", ".join(f"{n} {what}" for what, n in row.seen.items())
    if row.name == "books":
        return f"{row.name:20}{'':43}{memory:>6}  balanced" if not row.troubles else row.name
    times = (row.latency.percentile_ms(50), row.latency.percentile_ms(99))
    return (
        f"{row.name:20}{row.latency.total:9}{times[0]:9.1f}{times[1]:9.1f}{bound_ms:8.0f}{row.newcomer_ms:8.0f}"
        f"{memory:>6}{''.join(f'{share!s:>10}' for share in row.shares.values())}  {seen}"
    )


if __name__ == "__main__":
    sys.exit(main())
