"""What the clock of a table's store says, read once for all who ask while the reading before it is under way.

Every client that sits or watches asks each few seconds: with thousands of them a call of the store for each was a
quarter of a node's time. An answer is always read after it was asked for, as a client's estimate supposes
(`client_sdk/clock.py`).
"""

import asyncio

from server.store.tables import Tables


class TableClocks:
    """The clocks of all tables, for one node."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._under_way: dict[str, asyncio.Task[int]] = {}
        self._next: dict[str, asyncio.Task[int]] = {}
        """Readings that have not begun: who asks now shares them."""

    def __repr__(self) -> str:
        return f"<TableClocks under_way={len(self._under_way)} next={len(self._next)}>"

    async def at_ms(self, table: str) -> int:
        """Read a table's clock. Raises `Refused` UNKNOWN_TABLE, `StoreError`."""
        reading = self._next.get(table)
        if reading is None:
            reading = asyncio.create_task(self._read(table, self._under_way.get(table)), name=f"clock of {table}")
            self._next[table] = reading
        return await asyncio.shield(reading)  # others wait for it too

    async def close(self) -> None:
        """End what is under way; nobody waits for it any more."""
        readings = [*self._under_way.values(), *self._next.values()]
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)
        self._next.clear()

    async def _read(self, table: str, before: "asyncio.Task[int] | None") -> int:
        """Begin when the reading before has ended."""
        if before is not None:
            await asyncio.wait([before])
        self._under_way[table] = self._next.pop(table)
        try:
            return (await self._tables.view(table, None, 0)).view.at_ms
        finally:
            del self._under_way[table]
