"""What a patron is told of the own money and rounds: pages of the patron's ledger, and up to where it is complete.

The marks are read before the page: whatever a mark promises was in the ledger by then. Reads only.
"""

import asyncio
from typing import Final

from client_sdk.protocol.messages import LedgerMark, PlayedRound, StatementLine
from server.ledger.copies import played_round, statement_line
from server.store.errors import Refused
from server.store.ledgers import Ledgers

MARKS_AT_ONCE: Final = 32


class Statements:
    """Pages of patrons' ledgers."""

    def __init__(self, ledgers: Ledgers) -> None:
        self._ledgers = ledgers

    async def page(
        self, patron: str, before: str | None, limit: int
    ) -> tuple[list[StatementLine], bool, dict[str, LedgerMark]]:
        """Read lines from the newest on, or those before an id; say whether more follow, and how complete it is."""
        marks = await self._marks(patron)
        found = await self._ledgers.lines_before(patron, _number(before), limit + 1)
        return [statement_line(*line) for line in found[:limit]], len(found) > limit, marks

    async def history(self, patron: str, before: str | None, limit: int) -> tuple[list[PlayedRound], bool]:
        """Read rounds from the newest on, or those before an id; say whether more follow."""
        found = await self._ledgers.played_before(patron, _number(before), limit + 1)
        return [played_round(*played) for played in found[:limit]], len(found) > limit

    async def _marks(self, patron: str) -> dict[str, LedgerMark]:
        tables = sorted(await self._ledgers.tables_of(patron))
        marks: dict[str, LedgerMark] = {}
        for start in range(0, len(tables), MARKS_AT_ONCE):
            page = tables[start : start + MARKS_AT_ONCE]
            marks |= zip(page, await asyncio.gather(*map(self._mark, page)), strict=True)
        return marks

    async def _mark(self, table: str) -> LedgerMark:
        try:
            marks = await self._ledgers.marks(table)
        except Refused:  # a table that is gone: nothing more is promised of it
            return LedgerMark(number=0, at_ms=0)
        return LedgerMark(number=marks.projected_to, at_ms=marks.projected_at_ms)


def _number(before: str | None) -> int | None:
    return None if before is None else int(before)
