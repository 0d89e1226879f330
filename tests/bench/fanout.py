"""What one event costs the node for each seat that it reaches, beside a bare `send()` loop and the library's broadcast.

Seats sit at one table and take every event of real rounds; all of the node's processor time while rounds are played
counts. The floors send as many events of the same mean size to as many connections, in turns with the rounds and in
their rhythm: an event behind a betting time costs several times as much as one right behind another, whoever sends it,
for the system's ways to the sockets have gone cold.
"""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.house import BUY_IN, SEATS_MAX, TABLE, BenchHouse, house
from tests.bench.process import REST_MS, CrowdProcess, crowd, floor, send_loop, sockets

PACE: Final = {500: 20, 1_000: 20, 5_000: 60, 10_000: 120}
"""From one card to the next, ms, for so many seats: the node is busy for about a third of the time."""


THREE_AT_ONCE_MS: Final = 4
"""From one card to the next so that about three events wait while 5,000 seats are written to."""


class Round(NamedTuple):
    """One turn of each: microseconds of processor time for each event and connection; and how many events reached a
    seat in one read."""

    punto: float
    send: float
    broadcast: float
    at_once: float


class Played(NamedTuple):
    """Rounds at the table: microseconds for each event and seat, the mean size of an event in bytes, how many came in
    one read, and from each event to the next, microseconds."""

    event_us: float
    size: int
    at_once: float
    pauses_us: list[int]


async def measure(seats: int, turns: int, rounds: int, pace_ms: int) -> list[Round]:
    """Seat so many and measure so many turns of so many rounds, at so many ms from card to card."""
    with tempfile.TemporaryDirectory(prefix="punto-bench-") as directory:
        async with (
            crowd(rest_ms=REST_MS) as lines,
            crowd(rest_ms=REST_MS) as bare_lines,  # one process may not hold all the files
            crowd(rest_ms=REST_MS) as library_lines,
            house(card_ms=pace_ms, betting_ms=max(300, 3 * pace_ms), result_ms=pace_ms) as table,
        ):
            with floor(*send_loop(Path(directory), seats)) as bare, floor(*sockets()) as library:
                await table.pause()  # rounds in which nobody bets would free the seats in the end
                await _come(lines, table.node.port, seats)
                await bare_lines.call("open", group="bare", kind="plain", port=bare.port, count=seats)
                await library_lines.call("open", group="library", kind="socket", port=library.port, count=seats)
                await table.until_at_rest()
                found = []
                for turn in range(turns):
                    punto, size, at_once, pauses_us = await play(table, lines, seats, rounds)
                    send = await bare.send(size, pauses_us) / seats
                    broadcast = await library.send(size - 4, pauses_us) / seats
                    found.append(Round(punto, send, broadcast, at_once))
                    print(
                        f"    fan-out to {seats}, turn {turn + 1}: {punto:.2f} us an event (send() {send:.2f}, "
                        f"broadcast {broadcast:.2f}; {len(pauses_us)} events of {size} bytes, {at_once:.1f} in a read)",
                        file=sys.stderr,
                        flush=True,
                    )
                return found


async def _come(lines: CrowdProcess, port: int, count: int) -> None:
    """Fill the table; who finds no seat any more looks on, and gets the same events."""
    seats = min(count, SEATS_MAX)
    await lines.call("open", group="punto", kind="seat", port=port, count=seats, tables=(TABLE,), buy_in=BUY_IN)
    if count > seats:
        await lines.call("open", group="punto", kind="watch", port=port, count=count - seats, tables=(TABLE,))


async def play(table: BenchHouse, lines: CrowdProcess, seats: int, rounds: int) -> Played:
    """Play rounds with the seats that are there."""
    await table.resume()
    await lines.call("until_phase", group="punto", table=TABLE, kind="betting_opened")
    await lines.call("count", group="punto")
    before_us = table.cpu_us()
    await lines.call("until_phase", group="punto", table=TABLE, kind="round_settled", times=rounds, timeout_s=280)
    used_us, told = table.cpu_us() - before_us, await lines.call("count", group="punto")
    await table.pause()
    assert told["lost"] == 0, f"{told['lost']} seats were dropped: {told['closed']}"
    frames, size = told["frames"], round(told["bytes"] / told["frames"])
    pauses_us = [round((after - before) * 1e6) for before, after in pairwise(told["came_s"])]
    return Played(used_us / frames, size, frames / told["reads"], [*pauses_us, 0])
