"""A full house: thousands of seats at many tables of one node, whose rounds begin at different times.

From the store's publication of each event to its arrival at every seat; when each seat turns each card, by its own
estimate of the table's clock; the memory that a seat costs the node.
"""

import asyncio
import sys
from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

from client_sdk.timekeeper import QUICK_PINGS
from tests.bench.figures import percentile
from tests.bench.house import BUY_IN, house
from tests.bench.process import crowd, resident_kib

PACE: Final[dict[str, int | str]] = {"betting_ms": 15_000, "card_ms": 700, "result_ms": 8_000}
"""A round in about 30 seconds, as people play."""
START_STEP_S: Final = 1.0


class Crowding(NamedTuple):
    """What was seen."""

    kib_per_seat: float
    events_p99_ms: float
    skew_p99_ms: float


async def measure(seats: int, tables: int, seconds: float) -> Crowding:
    """Fill the house and watch it for so long."""
    async with crowd() as lines, house("server.cli", **PACE) as at:
        names = await at.open_tables(tables)
        for name in names:
            await at.pause(name)
        before_kib = resident_kib(at.node.pid)
        took_s = await lines.call(
            "open", group="all", kind="seat", port=at.node.port, count=seats, tables=names, buy_in=BUY_IN
        )
        kib = (resident_kib(at.node.pid) - before_kib) / seats
        print(f"    {seats} seats at {tables} tables after {took_s:.1f} s, {kib:.1f} KiB each", file=sys.stderr)
        for _ in range(QUICK_PINGS):  # as the SDK does when it has joined
            await lines.call("ping", group="all")
        for name in names:
            await at.resume(name)
            await asyncio.sleep(START_STEP_S)
        await lines.call("count", group="all")
        await lines.call("track", group="all")
        published: dict[bytes, float] = {}
        try:
            async with asyncio.timeout(seconds):
                await at.note_published(names, published)
        except TimeoutError:
            pass
        arrivals, turned_ms = await lines.call("tracked", group="all")
        told = await lines.call("count", group="all")
        assert told["lost"] == 0, f"{told['lost']} seats were dropped: {told['closed']}"
        late_ms = lateness_ms(arrivals, published)
        skews_ms = sorted(last - first for first, last in turned_ms.values())
        return Crowding(kib, percentile(late_ms, 0.99), percentile(skews_ms, 0.99))


def lateness_ms(arrivals: Mapping[bytes, bytes], published: Mapping[bytes, float]) -> list[float]:
    """How long each event was on its way to each seat, sorted."""
    return sorted(
        (at_s - published[body]) * 1000
        for body, packed in arrivals.items()
        if body in published
        for at_s in array("d", packed)
    )
