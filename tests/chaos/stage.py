"""Where a scenario plays: a house on a store, patrons at its tables, a tape that runs, and chance from a seed.

A scenario strikes; the stage waits for the right moment before and for calm after it, and keeps what did not happen as
it should (`problems`). Worlds outlive scenarios: starting a cluster takes longer than most of them.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import msgpack
from redis.exceptions import RedisError

from client_sdk.bots.fleet import Fleet
from client_sdk.bots.orders import Orders
from server.store import keys
from tests.chaos.measures import Fault
from tests.chaos.tape import Tape, now_ms
from tests.support.cluster_store import ClusterStore
from tests.support.house import House, HouseNode, newest
from tests.support.stores import SentinelStore, SingleStore, Store, new_store
from tests.support.valkey_server import run

TABLES: Final = ("four-deck-1", "punto-banco-1", "red-lounge-1", "royal-1", "stand-off-1")
BETTING_MS: Final = 500
CARD_MS: Final = 30
RESULT_MS: Final = 150
GRACE_MS: Final = 20_000
"""Patrons of a busy machine are away for seconds; a seat that is freed meanwhile is no fault, but hides others."""
ROUND_MS: Final = BETTING_MS + 7 * CARD_MS + RESULT_MS
CALM_S: Final = 25.0
"""A table that has played no whole round for this long after a fault stands still."""
SLACK_SHORT: Final = 5
ENDLESS: Final = 1_000_000
LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Plot:
    """Which world a scenario needs. `store`: single, sentinel or cluster; `workers` of one supervisor instead of
    separate nodes; `is_proxied`: behind a real proxy, where there is one."""

    store: str = "single"
    nodes: int = 3
    workers: int = 0
    confirm_replicas: int = 0
    is_proxied: bool = False
    betting_ms: int = BETTING_MS


class World:
    """A store with a house on it."""

    def __init__(self, plot: Plot, directory: Path) -> None:
        self.plot = plot
        self.store: Store = new_store(plot.store, directory)
        flags: dict[str, int | str] = {
            "betting_ms": plot.betting_ms,
            "card_ms": CARD_MS,
            "result_ms": RESULT_MS,
            "grace_ms": GRACE_MS,
            "confirm_replicas": plot.confirm_replicas,
        }
        if plot.workers:
            flags["workers"] = plot.workers
        count = 1 if plot.workers else plot.nodes
        self.house = House(directory, self.store.url, count, **flags)
        if plot.is_proxied:
            self.house.put_behind_proxy(directory)

    @property
    def single(self) -> SingleStore:
        """The store of a world that has one server."""
        assert isinstance(self.store, SingleStore)
        return self.store

    @property
    def sentinel(self) -> SentinelStore:
        """The store of a world with Sentinels."""
        assert isinstance(self.store, SentinelStore)
        return self.store

    @property
    def cluster(self) -> ClusterStore:
        """The store of a world on a cluster."""
        assert isinstance(self.store, ClusterStore)
        return self.store

    async def all_up(self) -> None:
        """Start whatever is down."""
        for node in self.house.nodes:
            if not node.is_running:
                await node.begin()


@asynccontextmanager
async def open_world(plot: Plot) -> AsyncIterator[World]:
    """A world for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="punto-chaos-") as directory:
        world = World(plot, Path(directory))
        try:
            await world.store.start()
            async with world.house:
                yield world
        finally:
            world.store.stop()


class Patrons:
    """Bots that check all that they see, and play on until they are told to come to an end."""

    def __init__(self, url: str, count: int, seed: str, buy_in: int | None = None) -> None:
        orders = Orders(
            url=url,
            patrons=count,
            rounds=ENDLESS,
            seed=seed,
            strategy="busy",
            codec="mixed",
            tables=TABLES,
            buy_in=buy_in,
            presses_ready=False,
            timeout_ms=3_600_000,
        )
        self.fleet = Fleet(orders)
        self._count = count
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def sit_down(self) -> None:
        """Come, and wait until all have a seat."""
        self._task = asyncio.create_task(self.fleet.run(self._stop))
        async with asyncio.timeout(20 + self._count / 4):
            while self.fleet.tally.seats < self._count:
                if self._task.done():
                    self._task.result()
                    raise AssertionError(f"the patrons are gone: {self.fleet.tally.failures}")
                await asyncio.sleep(LOOK_S)

    async def wind_up(self, rounds: int, timeout_s: float = 30.0) -> list[str]:
        """Let each play so many more rounds and get up; returns who did not."""
        assert self._task is not None, "they came"
        for bot in self.fleet._bots:
            bot.plan = replace(bot.plan, rounds=bot.rounds_done + rounds)
        await asyncio.wait([self._task], timeout=timeout_s)
        hanging = [] if self._task.done() else [bot.progress for bot in self.fleet._bots if not _is_away(bot)]
        await self.go()
        return hanging

    async def go(self) -> None:
        """Leave at once."""
        self._stop.set()
        if self._task is not None:
            await self._task

    @property
    def are_connected(self) -> bool:
        """Whether every one of them has a connection at this moment, and follows its table on it."""
        return all(
            bot.client is not None
            and bot.client.is_connected
            and all(t.is_followed for t in bot.client.tables.values())
            for bot in self.fleet._bots
        )


def _is_away(bot: Any) -> bool:
    return bot.client is not None and bot.client.error is not None


@dataclass(slots=True)
class Stage:
    """One scenario under way."""

    world: World
    tape: Tape
    chance: Random
    repeats: int
    is_short: bool
    patrons: Patrons | None = None
    faults: list[Fault] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    is_noisy: bool = False
    """Whether each step is told on stdout as it is taken."""

    @property
    def house(self) -> House:
        """The nodes."""
        return self.world.house

    def tell(self, text: str) -> None:
        """Say what happens, where somebody listens."""
        if self.is_noisy:
            print(f"    {text}", flush=True)

    def struck(self, name: str, tables: Sequence[str] = TABLES, *, at_ms: float, over_ms: float | None = None) -> Fault:
        """Note a fault."""
        fault = Fault(name, at_ms, frozenset(tables), over_ms)
        self.faults.append(fault)
        self.tell(name)
        return fault

    def expect(self, holds: object, text: str) -> None:
        """Keep what should hold and does not."""
        if not holds:
            self.problems.append(text)

    def expect_within(self, took_ms: float, limit_ms: float, what: str) -> None:
        """The same for a time. In the short form other tests run on the same cores, and only what hangs is told."""
        self.expect(took_ms <= limit_ms * (SLACK_SHORT if self.is_short else 1), f"{what}: {took_ms:.0f} ms")

    async def some_moment(self) -> None:
        """Wait until every table is in play, then for a random part of a round, so that faults fall everywhere."""
        since_ms = max((fault.over_ms or fault.at_ms for fault in self.faults), default=0.0)

        async def all_in_play() -> bool:
            return {event["table"] for event in self.heard("betting_opened", since_ms)} == set(TABLES)

        await self.until(all_in_play, "every table is in play")
        await asyncio.sleep(self.chance.uniform(0.1, 1.0) * ROUND_MS / 1000)

    async def while_betting(self, left_ms: int) -> None:
        """Wait until some table takes bets for so much longer."""

        async def is_betting() -> bool:
            newest = [words[-1].message for words in self.tape.firsts.values()]
            return any(event.get("closes_at_ms", 0) > now_ms() + left_ms + 50 for event in newest)

        await self.until(is_betting, "a table takes bets")

    # --- who has what -------------------------------------------------------------------------------------------------

    def owned_by(self, name: str) -> list[str]:
        """The tables of a node, or of a worker, by the newest claims."""
        return [table for table, claim in newest(self.house.claims()).items() if claim.by == name]

    def some_owner(self) -> tuple[HouseNode, list[str]]:
        """A node that owns tables, and which."""
        claims = newest(self.house.claims())
        name = claims[self.chance.choice(sorted(claims))].by
        return next(node for node in self.house.nodes if node.name == name), self.owned_by(name)

    async def table_fields(self, table: str, *names: str) -> list[str]:
        """Read fields of a table's hash."""
        key = keys.table_key(table)
        server = await self.world.store.primary_of(key)
        async with server.admin() as admin:
            return [value.decode() if value else "" for value in await run(admin, "HMGET", key, *names)]

    # --- waiting ------------------------------------------------------------------------------------------------------

    async def until(self, holds: Callable[[], Awaitable[object]], what: str, timeout_s: float = CALM_S) -> bool:
        """Wait for something; what does not come is a problem."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    with suppress(RedisError, OSError):
                        if await holds():
                            return True
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            self.problems.append(f"{what}: not within {timeout_s:.0f} s")
            return False

    async def calm(self, since_ms: float | None = None, tables: Sequence[str] = TABLES) -> bool:
        """Wait until every table has played a whole round since then (now), and every patron is back."""
        from_ms = now_ms() if since_ms is None else since_ms

        async def all_played() -> bool:
            return all(self.has_played(table, from_ms) for table in tables)

        async def all_back() -> bool:
            return self.patrons is None or self.patrons.are_connected

        return await self.until(all_played, "every table plays on") and await self.until(
            all_back, "every patron is back"
        )

    def has_played(self, table: str, from_ms: float) -> bool:
        """Whether a round was opened and settled since then."""
        settled: set[int] = set()
        for event in self.tape.newest(table, from_ms):
            if event["type"] == "round_settled":
                settled.add(event["round"])
            elif event["type"] == "betting_opened" and event["round"] in settled:
                return True
        return False

    def heard(self, kind: str, since_ms: float = 0.0) -> list[dict[str, Any]]:
        """The numbered events of a kind that anybody got since then, the newest of a table first."""
        return [
            event for table in self.tape.firsts for event in self.tape.newest(table, since_ms) if event["type"] == kind
        ]

    async def empty(self) -> bool:
        """Wait until nobody has a seat and every table is idle."""

        async def all_idle() -> bool:
            for table in TABLES:
                key = keys.table_key(table)
                server = await self.world.store.primary_of(key)
                async with server.admin() as admin:
                    seats, phase = await run(admin, "HLEN", f"{key}:seats"), await run(admin, "HGET", key, "phase")
                if seats or phase != b"idle":
                    return False
            return True

        return await self.until(all_idle, "every table is idle", GRACE_MS / 1000 + 10)

    async def stream(self, table: str) -> list[dict[str, Any]]:
        """The numbered events of a table as the store holds them."""
        key = keys.events_key(table)
        server = await self.world.store.primary_of(key)
        async with server.admin() as admin:
            entries = await run(admin, "XRANGE", key, "-", "+")
            return [msgpack.unpackb(fields[b"event"]) for _, fields in entries]

    async def connected_seats(self) -> int:
        """How many seats count as connected, over all tables."""
        return sum([int((await self.table_fields(table, "connected"))[0]) for table in TABLES])
