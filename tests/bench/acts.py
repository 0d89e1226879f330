"""A burst of durable bets: how fast it is answered, and what each costs the node, beside two floors.

Every patron of one table lays a chip in the same moment. In turns with that, the same burst goes to a node that makes
one call for each act, and a message of the same size from as many connections goes to the library's own echo.
"""

import sys
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from tests.bench.house import BUY_IN, TABLE, BenchHouse, house
from tests.bench.process import REST_MS, CrowdProcess, cpu_us, crowd, floor, sockets

BETTING_MS: Final = 120_000
"""All bursts fall into one round."""
BET: Final = {"spot": "player", "chip": 100}
PAYLOAD: Final = bytes(110)
"""As long as a bet in MessagePack."""


class Burst(NamedTuple):
    """One turn: acts a second in batches and in single calls; microseconds of processor time for each act, of the node
    and of the store, and of the echo for each message."""

    rate: float
    single_rate: float
    act_us: float
    store_us: float
    echo_us: float


async def measure(patrons: int, turns: int) -> list[Burst]:
    """Seat patrons at both houses and measure so many turns."""
    async with AsyncExitStack() as stack:
        lines = await stack.enter_async_context(crowd(rest_ms=REST_MS))
        library = stack.enter_context(floor(*sockets()))
        batched = await stack.enter_async_context(house(betting_ms=BETTING_MS))
        single = await stack.enter_async_context(house("tests.bench.single_call_node", betting_ms=BETTING_MS))
        for name, each in (("batched", batched), ("single", single)):
            await each.pause()
            await lines.call(
                "open", group=name, kind="seat", port=each.node.port, count=patrons, tables=(TABLE,), buy_in=BUY_IN
            )
        await lines.call("open", group="echo", kind="socket", port=library.port, count=patrons)
        for name, each in (("batched", batched), ("single", single)):
            await each.resume()
            await lines.call("until_phase", group=name, table=TABLE, kind="betting_opened")
        found = []
        for turn in range(turns):
            rate, act_us, store_us = await _bet(lines, "batched", batched, f"t{turn}")
            single_rate, single_us, _ = await _bet(lines, "single", single, f"t{turn}")
            before_us = cpu_us(library.pid)
            await lines.call("burst", group="echo", verb="echo", fields={"payload": PAYLOAD}, tag="")
            echo_us = (cpu_us(library.pid) - before_us) / patrons
            found.append(Burst(rate, single_rate, act_us, store_us, echo_us))
            print(
                f"    {patrons} bets, turn {turn + 1}: {rate:.0f} a second ({single_rate:.0f} in single calls), "
                f"{act_us:.1f} us each and {store_us:.1f} us of the store (single calls {single_us:.1f}, "
                f"echo {echo_us:.1f})",
                file=sys.stderr,
                flush=True,
            )
        return found


async def _bet(lines: CrowdProcess, group: str, at: BenchHouse, tag: str) -> tuple[float, float, float]:
    before_us, store_before_us = at.cpu_us(), at.store_cpu_us()
    told = await lines.call("burst", group=group, verb="place", fields=BET, tag=tag, timeout_s=100.0)
    used_us, store_us = at.cpu_us() - before_us, at.store_cpu_us() - store_before_us
    acts = sum(told["answers"].values())
    assert set(told["answers"]) == {"ok"}, told["answers"]
    return acts / told["seconds"], used_us / acts, store_us / acts
