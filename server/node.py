"""One node: built, started, drained and stopped here; the wiring of the whole process is in `Node.__init__` and
`Node.run`.

    store -> cashier -> hub -> roster (its dealers) -> gateway

It ends on SIGINT or SIGTERM in the reverse order: no new sockets, every table handed over, every socket told to come
back. The processes around it (the embedded store, workers, demo bots) are `process.py`'s.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

from client_sdk.protocol.messages import TableRules
from server.admin import State
from server.auth import Admission, Guests
from server.batcher import Batcher
from server.cashier import Cashier
from server.clock import StoreClock
from server.connection import REQUEST_WAIT_MS_MAX, REQUESTS_AT_ONCE
from server.dealer import Dealer, Workplace
from server.doors import Doors
from server.garbage import keep_what_is_here, look_now_and_then
from server.gateway import Gateway
from server.gauges import Gauges
from server.hub import Hub
from server.keyring import Keyring
from server.members import TokenHolders
from server.open_files import fitted
from server.pages import Pages
from server.patron_limits import PatronLimits
from server.places import Places
from server.reminders import Reminders
from server.roster import Roster
from server.running import running
from server.settings import Settings
from server.shoes import Shoes
from server.statements import Statements
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.limits import LimitBook
from server.store.nodes import SILENT_MS, Nodes, SettingsDiffer
from server.store.operating import Operating
from server.store.revocations import Revocations
from server.store.rights import check_rights
from server.store.tables import Tables
from server.store.wallets import Wallets
from server.table_clocks import TableClocks
from server.tls import server_context
from server.token_keys import KeyRing
from server.tokens import TokenCheck

log = logging.getLogger(__name__)

JOIN_PATIENCE_MS: Final = 2 * SILENT_MS
JOIN_RETRY_MS: Final = 200


class Node:
    """One server process. Also the `House` that its connections see."""

    def __init__(self, settings: Settings, driver: Driver, keyring: Keyring) -> None:
        self.node_id = f"n{secrets.token_hex(6)}"  # new at each start: a node that wakes up is not its own successor
        self.settings = settings
        self.currency = settings.currency
        self.exponent = settings.exponent
        self.clock = StoreClock()
        self._driver = driver
        self.tables = Tables(driver)
        self.clocks = TableClocks(self.tables)
        wallets = Wallets(driver)
        self.cashier = Cashier(self.tables, wallets)
        self.token_leeway_ms = settings.tokens.leeway_ms
        self._holders: TokenHolders | None = None
        if settings.token_keys is not None:
            check = TokenCheck(KeyRing(settings.token_keys), settings.tokens)
            self._holders = TokenHolders(wallets, Revocations(driver), check, self.clock)
        self.admission: Admission = self._holders or Guests(wallets, settings.play_money)
        self._nodes = nodes = Nodes(driver)
        ledgers = Ledgers(driver)
        self.pages = Pages(self.tables, Statements(ledgers))
        pause = settings.play_breaks
        self.limits = PatronLimits(
            LimitBook(driver), ledgers, loosen_ms=pause.limit_loosen_ms, break_ms=pause.session_break_ms
        )
        self.reminders = Reminders(self.limits)
        self.doors = Doors(fitted(settings.doors))
        self.counter = Places(REQUESTS_AT_ONCE, REQUEST_WAIT_MS_MAX)
        self.roster: Roster  # made last, since its dealers need all the rest
        self.gateway = Gateway(self, lambda: self.state().is_ready, lambda: driver.is_busy or self.counter.is_crowded)
        self.hub = Hub(driver, self.tables, self.gateway.close_slow, look_at_nodes=lambda: self.roster.look())
        at = Workplace(
            node=self.node_id,
            driver=driver,
            tables=self.tables,
            ledgers=ledgers,
            nodes=nodes,
            operating=Operating(driver),
            cashier=self.cashier,
            hub=self.hub,
            shoes=Shoes(keyring, settings.stacked_rounds),
            live=lambda: self.roster.live,
            new_incarnation=_new_incarnation,
            lease_ms=settings.times.lease_ms,
            renew_ms=settings.times.renew_ms,
        )

        def make_dealer(table: str, rules: TableRules | None) -> Dealer:
            return Dealer(table, rules, at)

        self.roster = Roster(
            self.node_id,
            nodes,
            self.tables,
            settings.tables(),
            new_incarnation=_new_incarnation,
            make_dealer=make_dealer,
            heard=self.clock.hear,
            came_back=lambda: self.hub.take_seats_back(self.node_id),
        )
        self._gauges = Gauges(self.gateway, self.hub, self.roster, driver, self.doors)
        self._batchers: dict[str, Batcher] = {}
        self._is_draining = False

    def __repr__(self) -> str:
        return f"<Node {self.node_id} {self.gateway!r} {self.hub!r} {self.roster!r}>"

    def state(self) -> State:
        """Say how this node is. One whose store is away is well, but no good to patrons for now."""
        if self._is_draining:
            return State(is_healthy=True, is_ready=False, words="draining")
        words = "" if self.roster.is_alive else "the store takes no sign of life"
        return State(is_healthy=True, is_ready=self.roster.is_alive, words=words)

    def batcher(self, table: str) -> Batcher:
        """Give the queue of acts of a table (asked for only by connections that follow it)."""
        if table not in self._batchers:
            self._batchers[table] = Batcher(table, self.tables, self.limits.obtain)
        return self._batchers[table]

    async def run(self, stop: asyncio.Event, opened: Callable[[int], Awaitable[None]]) -> None:
        """Serve until `stop` is set. `opened` is told the port. Raises `StoreError` or OSError where the start
        fails."""
        await check_rights(self._driver)
        await self._join()
        await self.roster.begin()
        beside = [self._holders.watch(self.gateway.connections)] if self._holders else []
        settings = self.settings
        tls = server_context(settings.tls_cert, settings.tls_key) if settings.tls_cert and settings.tls_key else None
        beside += [
            self.gateway.admit(),
            self.gateway.tend(),
            self.gateway.keep_alive(),
            look_now_and_then(lambda: self.gateway.sockets_made),
            self.reminders.run(),
            self._gauges.run(),
        ]
        async with running(self.hub.run(), self.roster.run(), *beside):
            keep_what_is_here()
            port = await self.gateway.open(settings.host, settings.port, shared=settings.worker > 0, tls=tls)
            try:
                await opened(port)
                await stop.wait()
                self._is_draining = True
                log.info("draining", extra={"node": self.node_id})
            finally:
                self.gateway.stop_accepting()
                await self.roster.leave()
                for batcher in self._batchers.values():  # acts that are decided are answered before the socket ends
                    await batcher.close()
                await self.gateway.close()
                await self.clocks.close()
                for batcher in self._batchers.values():
                    await batcher.close()

    async def _join(self) -> None:
        """Enter the register. A node that died just now is in it for a moment longer, with the settings that it had."""
        told, patience_until_s = self.settings.told, monotonic() + JOIN_PATIENCE_MS / 1000
        while True:
            try:
                await self._nodes.join(
                    self.node_id, told.of_store, told.of_nodes, accepts_others=self.settings.accept_other_settings
                )
                return
            except SettingsDiffer as differ:
                if not differ.is_of_nodes or monotonic() > patience_until_s:
                    raise
                await asyncio.sleep(JOIN_RETRY_MS / 1000)


def _new_incarnation() -> str:
    return secrets.token_hex(8)
