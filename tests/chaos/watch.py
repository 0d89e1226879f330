"""Looks at the owner of every table every few milliseconds, straight in the store: how long was a table without one?"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Final

from redis.exceptions import RedisError

from server.store import keys
from tests.support.stores import Store

LOOK_S: Final = 0.005


class OwnerWatch:
    """What was seen. A hand-over that is quicker than a look counts as 0 ms."""

    def __init__(self) -> None:
        self._gone_s: dict[str, float] = {}
        self._longest_s: dict[str, float] = {}

    def ownerless_ms(self, table: str) -> float:
        """The longest time for which nobody owned the table."""
        return self._longest_s.get(table, 0.0) * 1000

    def see(self, table: str, has_owner: bool, at_s: float) -> None:
        """Take one look in."""
        if not has_owner:
            self._gone_s.setdefault(table, at_s)
        elif table in self._gone_s:
            gone_s = at_s - self._gone_s.pop(table)
            self._longest_s[table] = max(gone_s, self._longest_s.get(table, 0.0))


@asynccontextmanager
async def watching_owners(store: Store, tables: Sequence[str]) -> AsyncIterator[OwnerWatch]:
    """Watch for the length of the block; for a store of one server."""
    watch = OwnerWatch()
    (server,) = await store.primaries()

    async def look() -> None:
        async with server.admin() as admin:
            while True:
                for table in tables:
                    try:
                        owner = await admin.hget(keys.table_key(table), "owner")  # type: ignore[misc]
                    except (RedisError, OSError):
                        continue
                    watch.see(table, bool(owner), monotonic())
                await asyncio.sleep(LOOK_S)

    task = asyncio.create_task(look())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.wait([task])
