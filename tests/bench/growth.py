"""How the cost grows: of an event with the seats that it reaches, 100 to 10,000 at one table; of a node with the tables
that it deals, 1 to 1,000 of them with as many seats in all.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import Final

from tests.bench import fanout
from tests.bench.chart import Panel, Series, chart
from tests.bench.crowded import PACE
from tests.bench.figures import Figure, figure
from tests.bench.house import BUY_IN, house
from tests.bench.process import REST_MS, crowd

SEATS: Final = (100, 300, 1_000, 3_000, 10_000)
TABLES: Final = (1, 10, 100, 1_000)
SEATS_IN_ALL: Final = 1_000
ROUND_S: Final = 30.0
PACE_MS_MIN: Final = 20
PACE_US_A_SEAT: Final = 12
"""From card to card: a node is busy for about a third of the time."""


async def measure(scale: float, turns: int) -> dict[str, Figure]:
    """Grow the seats, then the tables."""
    found: dict[str, Figure] = {}
    for seats in SEATS:
        pace_ms = max(PACE_MS_MIN, int(seats * PACE_US_A_SEAT / 1000))
        each = await fanout.measure(max(10, int(seats * scale)), turns, 2, pace_ms)
        found[f"event_us_{seats}_seats"] = figure(turn.punto for turn in each)
        found[f"send_us_{seats}_seats"] = figure(turn.send for turn in each)
    for tables in TABLES:
        count = max(1, int(tables * scale))
        busy = await _deal(count, int(SEATS_IN_ALL * scale), turns, ROUND_S * min(1.0, 3 * scale))
        found[f"busy_percent_{tables}_tables"] = figure(busy)
    return found


async def _deal(tables: int, seats: int, turns: int, seconds: float) -> list[float]:
    """Play at so many tables; returns for each stretch of so many seconds what share of a core the node had, in
    percent."""
    async with crowd(rest_ms=REST_MS) as lines, house("server.cli", **PACE) as at:
        names = await at.open_tables(tables)
        for name in names:
            await at.pause(name)
        await lines.call("open", group="all", kind="seat", port=at.node.port, count=seats, tables=names, buy_in=BUY_IN)
        for name in names:
            await at.resume(name)
            await asyncio.sleep(min(1.0, seconds / 2 / tables))
        found = []
        for turn in range(turns):
            await lines.call("count", group="all")
            before_us, began_s = at.cpu_us(), time.monotonic()
            await asyncio.sleep(seconds)
            percent = (at.cpu_us() - before_us) / (time.monotonic() - began_s) / 10_000
            told = await lines.call("count", group="all")
            assert told["lost"] == 0, f"{told['lost']} seats were dropped: {told['closed']}"
            found.append(percent)
            print(
                f"    {tables} tables with {seats} seats, turn {turn + 1}: {percent:.1f} % of a core, "
                f"{sum(told['phases'].values()) / seconds:.1f} events a second",
                file=sys.stderr,
                flush=True,
            )
        return found


def drawn(found: Mapping[str, Figure]) -> str:
    """Draw what `measure` found, as SVG."""
    punto = Series("Punto", [(seats, found[f"event_us_{seats}_seats"]) for seats in SEATS])
    send = Series("send() loop in C", [(seats, found[f"send_us_{seats}_seats"]) for seats in SEATS])
    busy = Series("Punto", [(tables, found[f"busy_percent_{tables}_tables"]) for tables in TABLES])
    return chart(
        [
            Panel("One event at one table: processor time for each seat", "seats", "us", [punto, send]),
            Panel(f"A node with {SEATS_IN_ALL:,} seats, rounds of 30 s", "tables", "% of a core", [busy]),
        ]
    )
