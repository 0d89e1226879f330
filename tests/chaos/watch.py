"""Looks at the owner of every table every few milliseconds, straight in the store: how long was a table without one?"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Final

from redis.exceptions import RedisError

from server.store import keys
from tests.support.stores import Store
from tests.support.valkey_server import ValkeyServer, run

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
    """Watch for the length of the block; every table stays on its server meanwhile."""
    watch, is_over = OwnerWatch(), asyncio.Event()  # no cancelling: the library may lose it

    async def look(table: str, server: ValkeyServer) -> None:
        async with server.admin() as admin:
            while not is_over.is_set():
                with suppress(RedisError, OSError):
                    watch.see(table, bool(await run(admin, "HGET", keys.table_key(table), "owner")), monotonic())
                await asyncio.sleep(LOOK_S)

    servers = {table: await store.primary_of(keys.table_key(table)) for table in tables}
    tasks = [asyncio.create_task(look(table, server)) for table, server in servers.items()]
    try:
        yield watch
    finally:
        is_over.set()
        await asyncio.gather(*tasks)
