"""Pages: answers that read much from the store, a few of them at once on a node, so that acts never wait behind them.

`READERS` is the one table of what is a page. Who finds all places taken waits for a moment and is then told to come
again, also where the store stands still. A place rests after each page, so that floods of them leave most of the node's
time to the tables. What the lobby shows is read once for all who ask within a moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import (
    AnyRequest,
    CutsPage,
    Error,
    History,
    HistoryPage,
    ListCuts,
    ListTables,
    PatronCut,
    RecallShoe,
    Reply,
    Rounds,
    RoundsPage,
    ShoeRecalled,
    Statement,
    StatementPage,
    TablesPage,
)
from server.lobby import Lobby
from server.places import Places
from server.replies import error_reply
from server.statements import Statements
from server.store.tables import Tables

AT_ONCE: Final = 4
WAIT_MS_MAX: Final = 2_000
"""So long anybody waits for a place."""
REST: Final = 6
REST_MS_MIN: Final = 4
REST_MS_MAX: Final = 20
"""A place rests for a multiple of the time that its page took, but not for long: the store may have stood still."""


class Pages:
    """The pages of one node."""

    def __init__(self, tables: Tables, statements: Statements) -> None:
        self.tables = tables
        self.statements = statements
        self.lobby = Lobby(tables)
        self._places = Places(AT_ONCE, WAIT_MS_MAX)

    async def answer(self, request: AnyRequest, patron: str, is_wanted: Callable[[], bool]) -> Reply | Error | None:
        """Read a page for somebody; None where it is not wanted any more when its turn comes. Raises `Refused`,
        `StoreError`."""
        if not await self._places.take():
            return error_reply(request.request_id, ErrorCode.BUSY)
        if not is_wanted():
            self._places.leave()
            return None
        began_s = monotonic()
        try:
            return await READERS[type(request)](self, request, patron)
        finally:
            rest_ms = min(REST_MS_MAX, max(REST_MS_MIN, REST * 1000 * (monotonic() - began_s)))
            asyncio.get_running_loop().call_later(rest_ms / 1000, self._places.leave)


async def _list_tables(pages: Pages, request: ListTables, _: str) -> Reply:
    page = await pages.lobby.page(request.after)
    return TablesPage(request_id=request.request_id, tables=page.tables, more=page.more)


async def _list_cuts(pages: Pages, request: ListCuts, _: str) -> Reply:
    cuts, more = await pages.tables.list_cuts(request.table, request.shoe, request.after, request.limit)
    told = [PatronCut(patron=patron.decode(), cut=cut.hex()) for patron, cut in cuts]
    return CutsPage(request_id=request.request_id, table=request.table, shoe=request.shoe, cuts=told, more=more)


async def _recall_shoe(pages: Pages, request: RecallShoe, _: str) -> Reply | Error:
    await pages.tables.view(request.table, None, 0)  # refuses an unknown table
    ended = await pages.tables.ended_shoe(request.table, request.shoe)
    if ended is None:
        return error_reply(request.request_id, ErrorCode.UNKNOWN_SHOE)
    return ShoeRecalled(request_id=request.request_id, table=request.table, ended=ended)


async def _statement(pages: Pages, request: Statement, patron: str) -> Reply:
    lines, more, complete_to = await pages.statements.page(patron, request.before, request.limit)
    return StatementPage(request_id=request.request_id, lines=lines, more=more, complete_to=complete_to)


async def _history(pages: Pages, request: History, patron: str) -> Reply:
    rounds, more = await pages.statements.history(patron, request.before, request.limit)
    return HistoryPage(request_id=request.request_id, rounds=rounds, more=more)


async def _rounds(pages: Pages, request: Rounds, _: str) -> Reply:
    before = None if request.before is None else int(request.before)
    found = await pages.tables.rounds_before(request.table, before, request.limit + 1)
    rounds, more = found[: request.limit], len(found) > request.limit
    return RoundsPage(request_id=request.request_id, table=request.table, rounds=rounds, more=more)


READERS: Final[Mapping[type, Callable[[Pages, Any, str], Awaitable[Reply | Error]]]] = MappingProxyType(
    {
        ListTables: _list_tables,
        ListCuts: _list_cuts,
        RecallShoe: _recall_shoe,
        Statement: _statement,
        History: _history,
        Rounds: _rounds,
    }
)
"""Every request whose answer is a page, and what reads it for a patron."""
