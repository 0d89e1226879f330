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
from client_sdk.bots.bot import SETTINGS, Bot
from client_sdk.bots.orders import Orders
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.sightings import Sighting
from client_sdk.bots.strategies import STRATEGIES
from client_sdk.bots.witness import Witness
from client_sdk.client import CodecName
from client_sdk.exceptions import PuntoError
from client_sdk.known import KnownEvents
from client_sdk.protocol.messages import TableRules, TableSummary
from client_sdk.settings import DEFAULTS

CONNECTS_MAX: Final = 50
"""Bots that are on their way to a seat at the same time; the next ones wait."""
LATE_MS_MAX: Final = 30_000
"""Late joiners come within this time after the others were to be there."""
MANY: Final = 500
"""From so many bots of one process on, each asks less often whether its line still lives."""
PING_INTERVAL_MS_OF_MANY: Final = 20_000
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

    def __init__(self, orders: Orders, began_s: float | None = None) -> None:
        self.orders = orders
        self._began_s = time.monotonic() if began_s is None else began_s
        self.tally = Tally(patrons=len(orders.numbers), began_s=self._began_s)
        self.kills = self.tally.kills
        self.sightings: list[Sighting] = []
        self._known = KnownEvents()
        is_many = self.tally.patrons >= MANY
        self._settings = replace(SETTINGS, ping_interval_ms=PING_INTERVAL_MS_OF_MANY) if is_many else SETTINGS
        self._habits = orders.habits
        self._bots = [self._bot(number) for number in orders.numbers]
        self._witnesses: dict[str, Witness] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Play until all bots are done, `stop` is set or time is up. Raises PuntoError and NoRoom before the start."""
        tables = await self.look_around()
        self._witnesses = {summary.table: Witness(summary.table) for summary in tables}
        self.tally.tables = len(tables)
        timeout_ms = self.orders.timeout_ms or _timeout_ms([summary.rules for summary in tables], self.orders)
        ramp = asyncio.Semaphore(CONNECTS_MAX)
        tasks = {
            asyncio.create_task(self._run(bot, _from(tables, number - 1), ramp)): bot
            for number, bot in zip(self.orders.numbers, self._bots, strict=True)
        }
        stopped = asyncio.create_task(stop.wait())
        try:
            await _wait_for_all(set(tasks), stopped, timeout_ms)
            self._tell_unfinished(tasks, timeout_ms, is_stopped=stop.is_set())
        finally:
            await _end({*tasks, stopped})
            for witness in self._witnesses.values():
                witness.finish()
            self.refresh()

    def refresh(self) -> None:
        """Bring the counts up to date that the tables keep."""
        self.tally.table_rounds = {table: witness.rounds_checked for table, witness in self._witnesses.items()}
        self.tally.rounds = sum(self.tally.table_rounds.values())
        self.tally.reconnects = sum(bot.reconnects for bot in self._bots)
        self.tally.seconds = time.monotonic() - self._began_s
        for witness in self._witnesses.values():
            seen, witness.sightings = witness.sightings, []
            if self.orders.processes > 1:
                self.sightings += seen  # to be held against those of the other processes
            for one in seen:
                self.tally.measure(one)

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
            comes_ms=self._comes_ms(number),
            drops=number in self._habits.droppers,
            reads_slowly=number in self._habits.slow_readers,
            bets_last_second=orders.last_second,
        )
        return Bot(plan, self.tally, Random(f"{orders.seed} {number}"), self._settings, self._known)

    def _comes_ms(self, number: int) -> float:
        orders = self.orders
        if number in self._habits.late:
            return orders.ramp_ms + Random(f"{orders.seed} late {number}").uniform(LATE_MS_MAX / 10, LATE_MS_MAX)
        return orders.ramp_ms * (number - 1) / orders.patrons

    async def look_around(self) -> list[TableSummary]:
        """Return the tables to play at, after a first connection that shows whether the house can be reached.

        Raises PuntoError, and NoRoom where this share's patrons do not find a seat each.
        """
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
        if seats < self.tally.patrons:
            raise NoRoom(f"{self.tally.patrons} patrons, but {seats} free seats at {len(chosen)} tables")
        return chosen

    async def _run(self, bot: Bot, tables: Sequence[TableSummary], ramp: asyncio.Semaphore) -> None:
        try:
            await bot.run(tables, self._witnesses, ramp)
        except (PuntoError, ExceptionGroup) as error:
            leaf = _first_leaf(error)
            if not isinstance(leaf, PuntoError):
                raise  # a fault of ours: the whole run ends by it
            self.tally.failures.append(f"{bot.progress}: {leaf}")

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
    late_ms = LATE_MS_MAX if orders.late_joiners else 0
    return START_MS_MAX + orders.ramp_ms + late_ms + SLACK * (orders.rounds + 1) * (round_ms + 1_000)


def _from(tables: Sequence[TableSummary], first: int) -> list[TableSummary]:
    """Return the tables in their order, beginning somewhere."""
    at = first % len(tables)
    return [*tables[at:], *tables[:at]]


def _first_leaf(error: Exception) -> BaseException:
    leaf: BaseException = error
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf
