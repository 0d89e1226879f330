"""Who is alive, and what the store itself is like."""

from typing import Final, NamedTuple

from server.store import keys
from server.store.driver import Driver, Script
from server.store.errors import StoreRefused

SILENT_MS: Final = 1_000
"""A node that gave no sign for this long counts as dead."""
_HEARTBEAT: Final = Script("heartbeat", None)


class Beat(NamedTuple):
    """Answer to a sign of life. `was_unknown`: the register did not have this node, or had taken it for dead."""

    now_ms: int
    was_unknown: bool
    live: tuple[str, ...]


class Nodes:
    """The register of live nodes."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def heartbeat(self, node: str) -> Beat:
        """Give a sign of life, and learn who else lives."""
        _, now_ms, was_unknown, *nodes = await self._driver.run(_HEARTBEAT, (keys.NODES,), (node, SILENT_MS))
        return Beat(now_ms, bool(was_unknown), tuple(name.decode() for name in nodes))

    async def forget(self, node: str) -> None:
        """Take a node that stops out of the register."""
        await self._driver.call("ZREM", keys.NODES, node)

    async def run_id_of(self, table: str) -> str:
        """Read the run_id of the server that holds a table; it changes with every restart and every failover."""
        return str((await self._driver.info(keys.table_key(table), "server"))["run_id"])

    async def still_serves(self, run_id: str) -> bool:
        """Say whether the server of this run still holds keys: a table that lies elsewhere now was moved, not lost."""
        return any(server["run_id"] == run_id for server in await self._driver.infos("server"))

    async def keeps_every_write(self, table: str) -> bool:
        """Say whether the server of a table can't have lost a write that it answered: it is no promoted replica, and
        its append-only file is written before each answer. A store that does not tell counts as one that can."""
        key = keys.table_key(table)
        replication = await self._driver.info(key, "replication")
        if str(replication.get("master_replid2", "")).strip("0"):
            return False
        try:
            kept = await self._driver.call_unkeyed(key, "CONFIG", "GET", "append*")
        except StoreRefused:
            return False
        return bool(kept.get(b"appendonly") == b"yes" and kept.get(b"appendfsync") == b"always")
