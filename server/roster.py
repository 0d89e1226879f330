"""Which tables this node deals: it gives signs of life, and keeps a dealer at each table that is this node's share.

The share follows from the set of live nodes (`placement.py`); the lease of a table decides where two nodes disagree.
When the set changes, a dealer whose table belongs elsewhere now hands it over between two rounds. The rounds are
`dealer.py`'s.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from client_sdk.protocol.messages import TableRules
from server.dealer import Dealer
from server.jitter import jittered_s
from server.placement import tables_of
from server.store.errors import StoreError
from server.store.nodes import SILENT_MS, Beat, Nodes
from server.store.sender import go_first
from server.store.tables import Tables

log = logging.getLogger(__name__)

BEAT_MS: Final = 200
"""So often a node says that it lives, and looks who else does. One that leaves tells the others; where they do not hear
it they notice within this time."""
INDEX_MS: Final = 2_000
"""So often the index of tables is read again."""


class Roster:
    """The dealers of this node."""

    def __init__(
        self,
        node: str,
        nodes: Nodes,
        tables: Tables,
        house: Mapping[str, TableRules],
        new_incarnation: Callable[[], str],
        make_dealer: Callable[[str, TableRules | None], Dealer],
        heard: Callable[[int], None],
        came_back: Callable[[], Awaitable[None]],
    ) -> None:
        self._node = node
        self._nodes = nodes
        self._tables = tables
        self._house = house
        self._new_incarnation = new_incarnation
        self._make_dealer = make_dealer
        self._heard = heard
        self._came_back = came_back
        self._index: frozenset[str] = frozenset()
        self._dealers: dict[str, tuple[Dealer, asyncio.Task[None]]] = {}
        self._is_leaving = False
        self._beat_at_ms: int | None = None
        self._trusted_until_ms = 0
        self._seats_wanted_back = asyncio.Event()
        self._beating = asyncio.Lock()
        self._asked_to_look = asyncio.Event()
        self.live: tuple[str, ...] = ()
        self._alive_until_s = 0.0
        self._is_unheard = False

    def __repr__(self) -> str:
        return f"<Roster {self._node} live={len(self.live)} dealers={len(self._dealers)}>"

    async def begin(self) -> None:
        """Join the register and open the house's tables. Raises `StoreError`."""
        await self._beat()
        await self._look_into_index()

    async def run(self) -> None:
        """Keep beating and dealing until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._beat_for_ever(), name="roster beats")
            group.create_task(self._read_index_for_ever(), name="roster reads the index")
            group.create_task(self._take_seats_back_for_ever(), name="roster takes seats back")

    @property
    def is_alive(self) -> bool:
        """Whether this node counts as alive: the store has taken a sign of life of it lately."""
        return monotonic() < self._alive_until_s

    @property
    def leases(self) -> int:
        """How many tables are owned here now."""
        return sum(dealer.is_owner for dealer, _ in self._dealers.values())

    def look(self) -> None:
        """Look into the register now instead of at the next beat: a node left."""
        self._asked_to_look.set()

    async def leave(self) -> None:
        """Hand every table over: out of the register first, so that others take their places, then each lease at
        once."""
        self._is_leaving = True
        try:
            async with self._beating:  # a beat under way would enter the node again
                await self._nodes.forget(self._node)
        except StoreError as error:
            log.warning("leave_not_announced", extra={"reason": str(error)})
        tasks = [task for _, task in self._dealers.values()]
        for dealer, _ in self._dealers.values():
            dealer.hand_over(now=True)
        if tasks:
            await asyncio.wait(tasks)

    # --- beats --------------------------------------------------------------------------------------------------------

    async def _beat_for_ever(self) -> None:
        go_first()
        while not self._is_leaving:
            with suppress(TimeoutError):
                async with asyncio.timeout(jittered_s(BEAT_MS)):
                    await self._asked_to_look.wait()
            self._asked_to_look.clear()
            async with self._beating:
                if not self._is_leaving:
                    await self._beat_once()

    async def _beat_once(self) -> None:
        try:
            await self._beat()
        except StoreError as error:
            if not self._is_unheard:
                log.warning("heartbeat_failed", extra={"reason": str(error)})
            self._is_unheard = True
        else:
            self._is_unheard = False
            if not self._is_leaving:
                self._take_places()

    async def _beat(self) -> None:
        beat = await self._nodes.heartbeat(self._node)
        self._heard(beat.now_ms)
        if beat.was_unknown and self.live:  # this node was taken for dead, and its seats for empty
            log.warning("node_came_back", extra={"node": self._node})
            self._seats_wanted_back.set()
        live = self._believed(beat)
        if live != self.live:
            log.info("live_nodes", extra={"node": self._node, "nodes": ",".join(live)})
        self.live, self._alive_until_s = live, monotonic() + SILENT_MS / 1000

    def _believed(self, beat: Beat) -> tuple[str, ...]:
        """Name the live nodes. After a time in which no beat of ours was counted the register may have forgotten nodes
        whose beats were not counted either (the store was away): they keep their places until they could beat again."""
        if self._beat_at_ms is not None and beat.now_ms - self._beat_at_ms > SILENT_MS:
            self._trusted_until_ms = beat.now_ms + SILENT_MS
        self._beat_at_ms = beat.now_ms
        return tuple(sorted({*beat.live, *(self.live if beat.now_ms < self._trusted_until_ms else ())}))

    async def _take_seats_back_for_ever(self) -> None:
        """Have the seats of this node's sockets count as connected, beside the beats: there may be thousands."""
        while True:
            await self._seats_wanted_back.wait()
            self._seats_wanted_back.clear()
            try:
                await self._came_back()
            except StoreError as error:
                log.warning("seats_not_taken_back", extra={"reason": str(error)})
                self._seats_wanted_back.set()
                await asyncio.sleep(BEAT_MS / 1000)

    def _take_places(self) -> None:
        """Start dealers where this node should deal, and ask those to hand over whose table belongs elsewhere now."""
        for table in [table for table, (_, task) in self._dealers.items() if task.done()]:
            _, task = self._dealers.pop(table)
            if (error := task.exception()) is not None:
                log.error("dealer_failed", exc_info=error, extra={"table": table})
        mine = tables_of(self._node, self._index, self.live)
        for table in mine - self._dealers.keys():
            dealer = self._make_dealer(table, self._house.get(table))
            self._dealers[table] = (dealer, asyncio.create_task(dealer.run(), name=f"dealer {table}"))
        for table, (dealer, _) in self._dealers.items():
            if table in mine:
                dealer.stay()
            else:
                dealer.hand_over()

    # --- the index ----------------------------------------------------------------------------------------------------

    async def _read_index_for_ever(self) -> None:
        while True:
            await asyncio.sleep(jittered_s(INDEX_MS))
            try:
                await self._look_into_index()
            except StoreError as error:
                log.warning("index_not_read", extra={"reason": str(error)})

    async def _look_into_index(self) -> None:
        """Read the index, and open the tables of the house that are not there."""
        index = await self._tables.every()
        for table in self._house.keys() - set(index):
            run_id = await self._nodes.run_id_of(table)
            if await self._tables.create(table, self._house[table], self._new_incarnation(), run_id):
                log.log(
                    logging.ERROR if table in self._index else logging.INFO,
                    "table_lost_and_opened_anew" if table in self._index else "table_opened",
                    extra={"table": table},
                )
            index.append(table)
        self._index = frozenset(index)
