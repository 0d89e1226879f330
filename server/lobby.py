"""The lobby: the pages of all tables as everybody sees them, each read once for all who ask within a moment."""

import asyncio
from time import monotonic
from typing import Final, NamedTuple

from client_sdk.protocol.messages import TableSummary
from server.replies import summary
from server.store.tables import TABLES_PAGE_MAX, Tables

FRESH_MS: Final = 100
"""So long a page is told again as it was read."""
KNOWN_MAX: Final = 16
"""Pages that are kept: who asks for others has them read."""


class LobbyPage(NamedTuple):
    """Some tables in the order of their ids. `more`: further ones follow."""

    tables: list[TableSummary]
    more: bool


class Lobby:
    """The newest pages."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: dict[str | None, tuple[float, LobbyPage]] = {}

    async def page(self, after: str | None) -> LobbyPage:
        """Read a page, unless somebody has a moment ago. Raises `StoreError`."""
        began_s, known = monotonic(), self._known.get(after)
        if known is not None and began_s - known[0] < FRESH_MS / 1000:
            return known[1]
        ids = await self._tables.page(after, TABLES_PAGE_MAX + 1)
        rows = await asyncio.gather(*(self._tables.view(table, None, 0) for table in ids[:TABLES_PAGE_MAX]))
        page = LobbyPage([summary(row.view) for row in rows], len(ids) > TABLES_PAGE_MAX)
        self._known.pop(after, None)
        while len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[after] = began_s, page
        return page
