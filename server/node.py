"""One node: built, started, drained and stopped here; the wiring of the whole process is in `Node.run`.

    store -> clock, register of nodes -> tables -> hub -> dealers -> gateway

It ends on SIGINT or SIGTERM in the reverse order: no new sockets, every table handed back, every socket told to come
back, then the store.
"""

import asyncio
import contextlib
import logging
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager

from server.auth import Guests
from server.batcher import Batcher
from server.cashier import Cashier
from server.clock import StoreClock
from server.dealer import Dealer
from server.embedded import EmbeddedValkey
from server.gateway import Gateway
from server.hub import Hub
from server.settings import Settings
from server.store.driver import Driver
from server.store.errors import StoreError
from server.store.nodes import Nodes
from server.store.tables import Tables
from server.store.wallets import Wallets

log = logging.getLogger(__name__)

HEARTBEAT_MS = 1_000
DRAIN_TIMEOUT_S = 10
CHILD_STOP_TIMEOUT_S = 5


class Node:
    """One server process. Also the `House` that its connections see."""

    def __init__(self, settings: Settings, driver: Driver) -> None:
        self._is_alive = False
        self.node_id = f"n{secrets.token_hex(6)}"  # new at each start: a node that wakes up is not its own successor
        self.settings = settings
        self.currency = settings.currency
        self.exponent = settings.exponent
        self.clock = StoreClock()
        self.tables = Tables(driver)
        self.nodes = Nodes(driver)
        wallets = Wallets(driver)
        self.cashier = Cashier(self.tables, wallets)
        self.guests = Guests(wallets, settings.play_money)
        self.gateway = Gateway(self, lambda: self._is_alive)
        self.hub = Hub(driver, self.tables, self.gateway.close_slow)
        self._driver = driver
        self._batchers: dict[str, Batcher] = {}

    def __repr__(self) -> str:
        return f"<Node {self.node_id} {self.gateway!r} {self.hub!r}>"

    def batcher(self, table: str) -> Batcher:
        """Give the queue of acts of a table (asked for only by connections that follow it)."""
        if table not in self._batchers:
            self._batchers[table] = Batcher(table, self.tables)
        return self._batchers[table]

    async def run(self, stop: asyncio.Event, opened: Callable[[int], Awaitable[None]]) -> None:
        """Serve until `stop` is set. `opened` is told the port. Raises `StoreError` or OSError where the start
        fails."""
        await self._beat()
        run_id = await self.nodes.run_id()
        wanted = self.settings.tables()
        for table, rules in wanted.items():
            await self.tables.create(table, rules, secrets.token_hex(8), run_id)
        dealers = [
            Dealer(
                table,
                rules,
                node=self.node_id,
                driver=self._driver,
                tables=self.tables,
                nodes=self.nodes,
                cashier=self.cashier,
                hub=self.hub,
                shoes=self.settings.shoes,
            )
            for table, rules in wanted.items()
        ]
        async with _running(self._beat_for_ever(), self.hub.run()), _running(*(dealer.run() for dealer in dealers)):
            port = await self.gateway.open(self.settings.host, self.settings.port)
            try:
                await opened(port)
                await stop.wait()
                log.info("draining", extra={"node": self.node_id})
            finally:
                await self.gateway.close()
        with contextlib.suppress(StoreError):
            await self.nodes.forget(self.node_id)

    async def _beat(self) -> list[str]:
        now_ms, live = await self.nodes.heartbeat(self.node_id)
        self.clock.hear(now_ms)
        return live

    async def _beat_for_ever(self) -> None:
        while True:
            try:
                await self._beat()
                self._is_alive = True
            except StoreError as error:
                self._is_alive = False
                log.warning("heartbeat_failed", extra={"reason": str(error)})
            await asyncio.sleep(HEARTBEAT_MS / 1000)


@asynccontextmanager
async def _running(*coroutines: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run tasks beside the block, and cancel them after it; one that fails ends the block with its error."""
    ending = False
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
            yield
            ending = True
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup:
        if not ending:
            raise


async def serve(settings: Settings, opened: Callable[[str], None]) -> None:
    """Run a node until SIGINT or SIGTERM, with its store and its demo bots. `opened` is told the address."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        url = settings.store
        if url == "embedded":
            url = await stack.enter_async_context(EmbeddedValkey(settings.data))
        driver = await stack.enter_async_context(Driver(url))
        children: list[asyncio.subprocess.Process] = []

        async def tell(port: int) -> None:
            address = f"ws://{settings.host}:{port}"
            opened(address)
            if settings.demo_bots:
                children.append(await _demo_bots(settings, address))

        try:
            await Node(settings, driver).run(stop, tell)
        finally:
            await asyncio.gather(*(_end(child) for child in children))


async def _demo_bots(settings: Settings, address: str) -> asyncio.subprocess.Process:
    """Start the process whose bots keep an open house company."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "client_sdk.bots.demo"),
        *("--url", address),
        *("--per-table", str(settings.demo_bots)),
        *("--tokens", str(settings.data / "demo-bots.json")),
    )


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
    try:
        async with asyncio.timeout(CHILD_STOP_TIMEOUT_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
