"""Who is alive, and what the store itself is like."""

from typing import Final

from server.store import keys
from server.store.driver import Driver, Script

SILENT_MS: Final = 3_000
"""A node that gave no sign for this long counts as dead."""
_HEARTBEAT: Final = Script("heartbeat", None)


class Nodes:
    """The register of live nodes."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def heartbeat(self, node: str) -> tuple[int, list[str]]:
        """Give a sign of life; returns the store's time (ms) and the ids of the live nodes."""
        _, now_ms, *nodes = await self._driver.run(_HEARTBEAT, (keys.NODES,), (node, SILENT_MS))
        return now_ms, [name.decode() for name in nodes]

    async def forget(self, node: str) -> None:
        """Take a node that stops out of the register."""
        await self._driver.call("ZREM", keys.NODES, node)

    async def run_id(self) -> str:
        """Read the store's run_id, which changes with every restart of it."""
        return str((await self._driver.call("INFO", "server"))["run_id"])
