"""`python -m tests.bench.settle`: does a table with 5,000 patrons make another table's deadlines late when it settles?

One node on the bundled store (`appendfsync always`) deals them all. At one table sit 5,000 patrons without sockets, who
bet through the store; at each of four quick ones one patron. From the outcome of the big round until its entries are
sealed and copied, every step of the quick tables is held against its deadline; the same between those windows is the
floor. Prints JSON, milliseconds throughout.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from server.cashier import Cashier
from server.settling import SETTLE_CHUNK
from server.store.driver import Driver, Script
from server.store.ledgers import Ledgers
from server.store.tables import ActLine, Tables
from server.store.wallets import Wallets
from tests.chaos.measures import quantile, steps
from tests.chaos.tape import Word
from tests.support.node_process import own_node
from tests.support.raw_client import RawClient
from tests.support.table_rules import rules_of

BIG: Final = "punto-banco-1"
OTHERS: Final = tuple(f"quick-{number}" for number in range(1, 5))
CARD_MS: Final = 40
FLAGS: Final = {"betting_ms": 15_000, "card_ms": 500, "result_ms": 2_000, "grace_ms": 600_000, "table_maximum": 0}
BATCH: Final = 200
AT_ONCE: Final = 50
SPOTS: Final = ("player", "banker", "tie")
STAKE: Final = 100
ROUND_S: Final = 60.0
COMMANDS_MAX: Final = 200_000
"""The store keeps so many commands in its own log, of whatever length: more than it gets here."""
_SETTLE: Final = Script("settle", "_table").sha.encode()


class Window(NamedTuple):
    """One settling of the big table: the outcome was told, the round was settled, all entries are with their patrons.
    Wall clock, ms."""

    decided_ms: float
    settled_ms: float
    copied_ms: float


async def bench(patrons: int, rounds: int, bets_each: int) -> dict[str, Any]:
    """Play so many rounds of the big table and measure."""
    with tempfile.TemporaryDirectory(prefix="punto-bench-") as directory:
        async with own_node(Path(directory), seats_max=max(patrons, 10), **FLAGS) as node:
            url = f"unix://{node.data / 'valkey.sock'}"
            async with Driver(url) as driver, Redis.from_url(url) as raw:
                ids = [f"b{number}" for number in range(patrons)]
                await _seat(driver, ids)
                quick = rules_of(betting_ms=250, card_ms=CARD_MS, result_ms=100)
                for table in OTHERS:
                    await Tables(driver).create(table, quick, f"bench {table}", "bench")
                watchers = await asyncio.gather(*(_sit_at(node.url, table) for table in OTHERS))
                async with await RawClient.arrive(node.url, "Watcher") as watcher:
                    await watcher.call("watch", table=BIG)
                    await _note_commands(raw)
                    windows = [await _play_round(driver, watcher, ids, bets_each) for _ in range(rounds)]
                    noted = await raw.execute_command("SLOWLOG GET", COMMANDS_MAX)
                    used = await raw.info("commandstats")
                await asyncio.gather(*(each.close() for each in watchers))
    late = [one for each in watchers for one in _lateness(each)]
    return _figures(patrons, bets_each, windows, late, noted, used)


async def _seat(driver: Driver, ids: Sequence[str]) -> None:
    tables, wallets = Tables(driver), Wallets(driver)
    cashier, places = Cashier(tables, wallets), asyncio.Semaphore(AT_ONCE)

    async def one(patron: str) -> None:
        async with places:
            await wallets.create(patron, patron, True, "", 10_000_000)
            await wallets.give_buy_in(patron, BIG, "r", 1_000_000)
            await cashier.carry_in(BIG, patron)

    await asyncio.gather(*map(one, ids))


async def _sit_at(url: str, table: str) -> RawClient:
    client = await RawClient.arrive(url, "Other")
    await client.join(table, 10_000)
    return client


async def _note_commands(raw: Redis) -> None:
    await raw.config_set("slowlog-log-slower-than", 0)
    await raw.config_set("slowlog-max-len", COMMANDS_MAX)
    await raw.execute_command("SLOWLOG RESET")
    await raw.config_resetstat()


async def _play_round(driver: Driver, watcher: RawClient, ids: Sequence[str], bets_each: int) -> Window:
    tables, ledgers = Tables(driver), Ledgers(driver)
    watcher.skip()
    number = (await watcher.next("betting_opened", ROUND_S, table=BIG))["round"]
    acts = [
        ActLine(patron, "", f"{number}.{spot}", number, "place", spot, STAKE)
        for spot in SPOTS[:bets_each]
        for patron in ids
    ]
    for start in range(0, len(acts), BATCH):
        answers = await tables.acts(BIG, acts[start : start + BATCH])
        assert {answer.code for answer in answers} == {"ok"}, "betting was too short for all the bets"
    decided_ms = await _heard_ms(watcher, "round_decided", number)
    settled_ms = await _heard_ms(watcher, "round_settled", number)
    async with asyncio.timeout(ROUND_S):
        while (marks := await ledgers.marks(BIG)).projected_to < marks.seal.sealed_to:
            await asyncio.sleep(0.02)
    return Window(decided_ms, settled_ms, time.time() * 1000)


async def _heard_ms(watcher: RawClient, kind: str, number: int) -> float:
    event = await watcher.next(kind, ROUND_S, table=BIG, round=number)
    return _wall_ms(watcher.heard_at_s[watcher.events.index(event)])


def _wall_ms(monotonic_s: float) -> float:
    return (time.time() - time.monotonic() + monotonic_s) * 1000


def _lateness(client: RawClient) -> list[tuple[float, float]]:
    """Every step of a table: when it came, and how late."""
    heard = zip(client.events, client.heard_at_s, strict=True)
    words = [Word(_wall_ms(at_s), event) for event, at_s in heard if "seq" in event]
    return [(step.at_ms, step.late_ms) for step in steps(words, CARD_MS)]


def _figures(
    patrons: int,
    bets_each: int,
    windows: Sequence[Window],
    late: Sequence[tuple[float, float]],
    noted: Sequence[dict[str, Any]],
    used: dict[str, Any],
) -> dict[str, Any]:
    def within(at_ms: float) -> bool:
        return any(window.decided_ms <= at_ms <= window.copied_ms + 100 for window in windows)

    scripts = used.get("cmdstat_evalsha", {})
    settles = [(each["start_time"], each["duration"] / 1000) for each in noted if _SETTLE in each["command"]]
    of_windows = [
        [used_ms for at_s, used_ms in settles if window.decided_ms // 1000 <= at_s <= window.settled_ms / 1000]
        for window in windows
    ]
    calls = -(-patrons // SETTLE_CHUNK)
    assert all(len(each) >= calls for each in of_windows), f"{calls} calls each, found {list(map(len, of_windows))}"
    return {
        "patrons": patrons,
        "bets_each": bets_each,
        "rounds": len(windows),
        "settle": _spread(window.settled_ms - window.decided_ms for window in windows),
        "copy": _spread(window.copied_ms - window.settled_ms for window in windows),
        "store_scripts_ms": round(scripts.get("usec", 0) / 1000),
        "store_settle_ms": [sum(each) for each in of_windows],
        "store_settle_max_ms": [max(each) for each in of_windows],
        "store_largest_ms": max((round(entry["duration"] / 1000, 1) for entry in noted), default=0.0),
        "other_tables_late": _spread(late_ms for at_ms, late_ms in late if within(at_ms)),
        "floor_late": _spread(late_ms for at_ms, late_ms in late if not within(at_ms)),
    }


def _spread(values: Iterable[float]) -> dict[str, float | int]:
    known = list(values)
    shares = {"p50": quantile(known, 0.5), "p99": quantile(known, 0.99), "max": max(known, default=None)}
    return {"steps": len(known)} | {name: round(value, 1) for name, value in shares.items() if value is not None}


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.settle", description=__doc__)
    parser.add_argument("--patrons", type=int, default=5_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--bets", type=int, default=2, choices=(1, 2, 3), help="acts of each patron in a round")
    args = parser.parse_args(argv)
    print(json.dumps(asyncio.run(bench(args.patrons, args.rounds, args.bets)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
