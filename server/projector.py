"""Copies what is sealed of a table's ledger into the ledgers of its patrons, and trims what nobody needs any more.

One at each table that this node deals, beside the dealer and never in its way. The table keeps the number up to which
all patrons have their copies; it moves on only after every append behind it was answered, so whoever owns the table
next begins there, and what comes twice is dropped in the wallet's slot (`project.lua`).
"""

import asyncio
import logging
from itertools import islice
from time import monotonic
from typing import Final

from server.jitter import spread_s
from server.ledger.copies import Copy, copies_of
from server.ledger.entries import BadEntry, Entry, unpack_entry
from server.store.errors import Fenced, StoreError
from server.store.ledgers import Ledgers, Marks
from server.store.sender import go_first
from server.store.tables import Lease

log = logging.getLogger(__name__)

BATCH_COPIES_MAX: Final = 20_000
"""Copies that are made together (some megabytes), so that a patron with several acts in a round costs one call."""
PATRONS_AT_ONCE: Final = 24
"""Calls that go to the store together: it and this node are busy with them for some milliseconds, which others can
wait."""
COPIES_AT_ONCE: Final = 40
"""Copies made in a row, a millisecond or two."""
RETRY_MS: Final = (200, 600)
LEDGER_LARGE: Final = 1_000_000
"""So many entries at one table (some hundred megabytes of the store's memory) are worth a warning, and again each time
that they have doubled: nobody consumes the ledger, or a consumer has stopped."""


class Projector:
    """The projector of one table for the length of a lease; `sealed` is set when there is something to do."""

    def __init__(self, table: str, lease: Lease, ledgers: Ledgers, sealed: asyncio.Event) -> None:
        self._table = table
        self._lease = lease
        self._ledgers = ledgers
        self._sealed = sealed
        self._warn_at = LEDGER_LARGE

    def __repr__(self) -> str:
        return f"<Projector {self._table} epoch={self._lease.epoch}>"

    async def run(self) -> None:
        """Work whenever there is a new seal, and after a failure again, until the lease is lost."""
        go_first(False)
        while True:
            self._sealed.clear()
            try:
                await self.project()
                await self._trim()
            except Fenced:
                return
            except StoreError as error:
                log.warning(
                    "projector_waits", extra={"table": self._table, "reason": f"{type(error).__name__} {error}"}
                )
            except Exception:
                log.exception("projector_failed", extra={"table": self._table})
            else:
                await self._sealed.wait()
                continue
            await asyncio.sleep(spread_s(*RETRY_MS))

    async def project(self) -> None:
        """Copy everything that is sealed by now. Raises `StoreError`."""
        marks = await self._ledgers.marks(self._table)
        batch, rest = _Batch(), _Rest()
        async for number, packed in self._ledgers.entries_after(self._table, marks.projected_to, marks.seal.sealed_to):
            entry = self._read(number, packed)
            batch.number = number
            if entry is not None:
                batch.at_ms = entry.at_ms
                await self._add(batch, number, entry, rest)
            if batch.count >= BATCH_COPIES_MAX:
                await self._send(batch, marks, rest)
                batch = _Batch()
        if batch.number:
            await self._send(batch, marks, rest)

    async def _add(self, batch: "_Batch", number: int, entry: Entry, rest: "_Rest") -> None:
        for patron, copy in copies_of(self._table, number, entry):
            batch.copies.setdefault(patron, []).append(copy)
            batch.count += 1
            if batch.count % COPIES_AT_ONCE == 0:
                await rest.take()

    async def _send(self, batch: "_Batch", marks: Marks, rest: "_Rest") -> None:
        """Append the copies; the table's mark moves when all were answered."""
        waiting, lost = iter(batch.copies.items()), 0
        while some := list(islice(waiting, PATRONS_AT_ONCE)):
            lost += await self._ledgers.project(self._table, marks, some)
            await rest.take()
        if lost:
            log.warning("patrons_without_wallet", extra={"table": self._table, "patrons": lost})
        await self._ledgers.move_projected(self._table, self._lease, batch.number, batch.at_ms)

    def _read(self, number: int, packed: bytes) -> Entry | None:
        """Read an entry; one that somebody has damaged holds nobody else's up."""
        try:
            return unpack_entry(packed)
        except BadEntry:
            log.error("ledger_entry_unreadable", extra={"table": self._table, "number": number})
            return None

    async def _trim(self) -> None:
        entries = await self._ledgers.trim(self._table, self._lease)
        if entries >= self._warn_at:
            log.warning("ledger_large", extra={"table": self._table, "entries": entries})
            while self._warn_at <= entries:
                self._warn_at *= 2


class _Batch:
    """Copies by patron, and the last entry they come from."""

    def __init__(self) -> None:
        self.copies: dict[str, list[Copy]] = {}
        self.count = 0
        self.number = 0
        self.at_ms = 0


class _Rest:
    """As long as was worked before it: nobody waits for a copy, but other tables for their deadlines."""

    def __init__(self) -> None:
        self._since_s = monotonic()

    async def take(self) -> None:
        """Sleep, after some work."""
        await asyncio.sleep(monotonic() - self._since_s)
        self._since_s = monotonic()
