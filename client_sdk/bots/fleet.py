"""Many bots over some tables in one process, until each of them has been through its rounds.

It seats them (a bounded number at a time), waits for them (never longer than the timeout) and adds up what they found.
Each bot is a task that this module owns. It must never judge a round itself. Read next: `bot`, then `witness`.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

import client_sdk
from client_sdk.bots.bot import Bot
from client_sdk.bots.orders import Orders
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.strategies import STRATEGIES
from client_sdk.bots.witness import Witness
from client_sdk.client import CodecName
from client_sdk.exceptions import PuntoError
from client_sdk.protocol.messages import TableRules, TableSummary
from client_sdk.settings import DEFAULTS

CONNECTS_MAX: Final = 50
"""Bots that are on their way to a seat at the same time; the next ones wait."""
LOOK_MS: Final = 25
"""Between two looks at who is connected; shorter than the SDK's shortest pause before it comes back."""
FIRST_CONNECT_MS: Final = 3_000
"""How long a server may take to come up before it counts as out of reach."""
STOP_MS_MAX: Final = 10_000
"""How long bots that are told to stop may take to say goodbye."""
SLACK: Final = 3
"""Rounds may take this many times longer than their timers say before a run counts as hanging."""
START_MS_MAX: Final = 60_000


class NoRoom(Exception):
    """The house does not have the tables or the seats that were asked for."""


class Fleet:
    """The bots of one run. `tally` is right at any moment after `refresh`."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.tally = Tally(patrons=orders.patrons)
        self._bots = [self._bot(number) for number in range(1, orders.patrons + 1)]
        self._witnesses: dict[str, Witness] = {}
        self._began = time.monotonic()

    async def run(self, stop: asyncio.Event) -> None:
        """Play until all bots are done, `stop` is set or time is up. Raises PuntoError and NoRoom before the start."""
        tables = await self._look_around()
        self._witnesses = {summary.table: Witness(summary.table) for summary in tables}
        self.tally.tables = len(tables)
        timeout_ms = self.orders.timeout_ms or _timeout_ms([summary.rules for summary in tables], self.orders)
        ramp = asyncio.Semaphore(CONNECTS_MAX)
        tasks = {
            asyncio.create_task(self._run(bot, [*tables[at % len(tables) :], *tables[: at % len(tables)]], ramp)): bot
            for at, bot in enumerate(self._bots)
        }
        watch = asyncio.create_task(self._count_reconnects())
        stopped = asyncio.create_task(stop.wait())
        try:
            await _wait_for_all(set(tasks), stopped, timeout_ms)
            self._tell_unfinished(tasks, timeout_ms, is_stopped=stop.is_set())
        finally:
            await _end({*tasks, watch, stopped})
            for witness in self._witnesses.values():
                witness.finish()
                self.tally.skew_ms.add_all(witness.skew_ms)
            self.refresh()

    def refresh(self) -> None:
        """Bring the counts up to date that the tables keep."""
        self.tally.rounds = sum(witness.rounds_checked for witness in self._witnesses.values())
        self.tally.seconds = time.monotonic() - self._began

    # --- inside -------------------------------------------------------------------------------------------------------

    def _bot(self, number: int) -> Bot:
        orders = self.orders
        codec: CodecName = ("msgpack", "json")[number % 2] if orders.codec == "mixed" else orders.codec
        plan = Plan(
            name=f"bot-{number:04d}",
            url=orders.url,
            codec=codec,
            strategy=STRATEGIES[orders.strategy],
            rounds=orders.rounds,
            buy_in=orders.buy_in,
            presses_ready=orders.presses_ready,
            acts_late=orders.strategy == "busy",
        )
        return Bot(plan, self.tally, Random(f"{orders.seed} {number}"))

    async def _look_around(self) -> list[TableSummary]:
        """Return the tables to play at, after a first connection that shows whether the house can be reached."""
        wanted = self.orders.tables
        settings = replace(DEFAULTS, connect_ms=FIRST_CONNECT_MS)
        async with client_sdk.connect(self.orders.url, name="bot-0000", bot=True, settings=settings) as client:
            tables = await client.list_tables()
        known = {summary.table: summary for summary in tables}
        unknown = [table for table in wanted if table not in known]
        if unknown:
            raise NoRoom(f"no such table: {', '.join(unknown)}")
        chosen = [known[table] for table in dict.fromkeys(wanted)] if wanted else tables
        seats = sum(max(0, summary.rules.seats_max - summary.seated) for summary in chosen)
        if seats < self.orders.patrons:
            raise NoRoom(f"{self.orders.patrons} patrons, but {seats} free seats at {len(chosen)} tables")
        return chosen

    async def _run(self, bot: Bot, tables: Sequence[TableSummary], ramp: asyncio.Semaphore) -> None:
        try:
            await bot.run(tables, self._witnesses, ramp)
        except (PuntoError, ExceptionGroup) as error:
            leaf = _first_leaf(error)
            if not isinstance(leaf, PuntoError):
                raise  # a fault of ours: the whole run ends by it
            self.tally.failures.append(f"{bot.progress}: {leaf}")

    async def _count_reconnects(self) -> None:
        """Count the bots that were away and are back."""
        away: set[int] = set()
        while True:
            await asyncio.sleep(LOOK_MS / 1000)
            for number, bot in enumerate(self._bots):
                if bot.client is None or bot.client.error is not None:
                    continue
                if not bot.client.is_connected:
                    away.add(number)
                elif number in away:
                    away.discard(number)
                    self.tally.reconnects += 1

    def _tell_unfinished(self, tasks: dict[asyncio.Task[None], Bot], timeout_ms: int, is_stopped: bool) -> None:
        hanging = [bot for task, bot in tasks.items() if not task.done()]
        if hanging and not is_stopped:
            self.tally.failures += [f"{bot.progress}: not done within {timeout_ms / 1000:.0f} s" for bot in hanging]


async def _wait_for_all(tasks: set[asyncio.Task[None]], stopped: asyncio.Task[bool], timeout_ms: int) -> None:
    """Wait until every task is done, `stopped` is, one failed by a fault of ours, or the time is up."""
    deadline = time.monotonic() + timeout_ms / 1000
    waiting: set[asyncio.Task[None]] = set(tasks)
    while waiting and not stopped.done() and (left := deadline - time.monotonic()) > 0:
        done, _ = await asyncio.wait({*waiting, stopped}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for task in done & waiting:
            task.result()
        waiting -= done


async def _end(tasks: set[asyncio.Task[None] | asyncio.Task[bool]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=STOP_MS_MAX / 1000)


def _timeout_ms(tables: Sequence[TableRules], orders: Orders) -> int:
    """Return how long a run may take at all; a bot may have to watch the rest of a round before its first."""
    round_ms = max(rules.betting_ms + 8 * rules.card_ms + rules.result_ms for rules in tables)
    return START_MS_MAX + SLACK * (orders.rounds + 1) * (round_ms + 1_000)


def _first_leaf(error: Exception) -> BaseException:
    leaf: BaseException = error
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf
