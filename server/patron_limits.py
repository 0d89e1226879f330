"""Limits that patrons ask for: what one may stake and lose in a day, how long one may play, and not at all.

A limit is the patron's over all tables, a bet is decided in one table's slot: so the wallet's slot *grants* each table
how far it may let the patron go. What all tables were granted together is never more than the limit, so no race of two
tables passes it. A table that needs more says so instead of deciding (`Need`); the grant is fetched here and the act is
sent again. Grants are absolute sums, so a message may come twice or late. To take one back, the table is asked first:
it stops at what it has used and begins a new *turn*; a grant of an earlier turn is refused there, and only then is the
difference free for other tables. Where a step is lost the table has less than it might: never more.

Limits are set in the wallet's slot first and then at every table that the patron's money ever went to; `join` does the
same at its table, after the chips. So an answered `set` holds everywhere.
"""

import asyncio
import logging
from typing import Final

from server.store.errors import Refused
from server.store.ledgers import Ledgers
from server.store.limits import LimitBook, Limits, Side, Wanted
from server.store.operator_acts import UNSIGNED, Signed
from server.store.tables import Need

log = logging.getLogger(__name__)

AT_ONCE: Final = 16


class PatronLimits:
    """Keeps wallets and tables in step."""

    def __init__(self, book: LimitBook, ledgers: Ledgers, *, loosen_ms: int, break_ms: int) -> None:
        self._book = book
        self._ledgers = ledgers
        self._loosen_ms = loosen_ms
        self._break_ms = break_ms

    async def read(self, patron: str) -> Limits:
        """Read a patron's limits, and what is used of them by now. Raises `Refused` UNKNOWN_PATRON, `StoreError`."""
        limits = await self._book.read(patron)
        if limits.version == 0:
            return limits
        await self._impose_everywhere(patron, limits)
        return await self._book.read(patron)

    async def peek(self, patron: str) -> Limits:
        """Read what the wallet knows, and ask no table. Raises as `read` does."""
        return await self._book.read(patron)

    async def set(self, patron: str, side: Side, wanted: Wanted, signed: Signed = UNSIGNED) -> Limits:
        """Change a patron's limits; they hold at every table when this returns. Raises as `read` does."""
        limits = await self._book.set(patron, side, wanted, self._loosen_ms, signed)
        await self._impose_everywhere(patron, limits)
        return await self._book.read(patron)

    async def impose(self, patron: str, table: str) -> Limits:
        """Have a table look after what holds now, if there is anything; before the patron can bet there."""
        limits = await self._book.read(patron)
        if limits.version:
            await self._recall(patron, table, limits)
        return limits

    async def obtain(self, patron: str, table: str, need: Need) -> None:
        """Get what a bet needs beyond what the table was granted. Raises `Refused` EXCLUDED, SESSION_OVER,
        STAKE_LIMIT, LOSS_LIMIT, BUSY; `StoreError`."""
        try:
            await self._grant(patron, table, need)
        except Refused as refused:
            if refused.code not in ("STAKE_LIMIT", "LOSS_LIMIT"):
                raise
            limits = await self._book.read(patron)  # other tables may have been granted more than they used
            await self._impose_everywhere(patron, limits, but=table)
            await self._grant(patron, table, need)

    async def _grant(self, patron: str, table: str, need: Need) -> None:
        try:
            granted = await self._book.grant(patron, table, need, self._break_ms)
            await self._book.raise_to(table, patron, need, granted)
        except Refused as refused:
            if refused.code != "STALE":
                raise
            limits = await self._book.read(patron)
            if limits.version != need.version:  # else another call was faster; the act says anew what it needs
                await self._recall(patron, table, limits)

    async def _impose_everywhere(self, patron: str, limits: Limits, but: str = "") -> None:
        places = asyncio.Semaphore(AT_ONCE)

        async def recall(table: str) -> None:
            async with places:
                try:
                    await self._recall(patron, table, limits)
                except Refused as refused:
                    if refused.code != "UNKNOWN_TABLE":
                        raise

        await asyncio.gather(*(recall(table) for table in await self._ledgers.tables_of(patron) if table != but))

    async def _recall(self, patron: str, table: str, limits: Limits) -> None:
        """Take back what a table was granted and has not used; newer limits that are there already may stay."""
        try:
            used = await self._book.limit(table, patron, limits.version, limits.excluded_until_ms)
        except Refused as refused:
            if refused.code != "STALE":
                raise
            return
        await self._book.settle(patron, table, used)
