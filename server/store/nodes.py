"""Who is alive and by which settings, and what the store itself is like."""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

import msgpack

from server.store import keys
from server.store.driver import Driver, Script
from server.store.errors import Refused, StoreError, StoreRefused

SILENT_MS: Final = 1_000
"""A node that gave no sign for this long counts as dead."""
_HEARTBEAT: Final = Script("heartbeat", None)
_FORGET: Final = Script("forget", None)
_JOIN: Final = Script("join_nodes", None)


class Difference(NamedTuple):
    """A setting that is not what it is elsewhere: `node` '' is the store itself."""

    node: str
    option: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        where = f"node {self.node} runs by" if self.node else "this store was opened with"
        return f"{self.option} is {self.ours}, but {where} {self.theirs}"


class SettingsDiffer(StoreError):
    """A node may not run beside the others, or on this store, by its settings."""

    def __init__(self, differences: tuple[Difference, ...]) -> None:
        super().__init__(differences)
        self.differences = differences

    @property
    def is_of_nodes(self) -> bool:
        """Whether they are differences to other nodes alone, which may follow or be gone soon."""
        return all(difference.node for difference in self.differences)

    def __str__(self) -> str:
        first = {difference.option: difference for difference in reversed(self.differences)}  # one node a setting
        told = "; ".join(str(difference) for difference in reversed(first.values()))
        return f"{told} (--accept-other-settings runs beside it)" if self.is_of_nodes else told


class Beat(NamedTuple):
    """Answer to a sign of life. `was_unknown`: the register did not have this node, or had taken it for dead."""

    now_ms: int
    was_unknown: bool
    live: tuple[str, ...]


class Nodes:
    """The register of live nodes."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def join(
        self, node: str, of_store: Mapping[str, str], of_nodes: Mapping[str, str], *, accepts_others: bool
    ) -> None:
        """Enter the register for the first time. Raises `SettingsDiffer` where the store, or a node that lives, goes by
        other values; options that one side does not know are not compared."""
        told = {**of_store, **of_nodes}
        packed = msgpack.packb(dict(of_store)), msgpack.packb(dict(of_nodes))
        try:
            await self._driver.run(
                _JOIN, (keys.NODES, keys.NODE_SETTINGS), (node, SILENT_MS, *packed, int(accepts_others))
            )
        except Refused as refused:
            words = [cast(bytes, word).decode() for word in refused.details[1:]]
            threes = zip(words[::3], words[1::3], words[2::3], strict=True)
            found = (Difference(node, option, theirs, told[option]) for node, option, theirs in threes)
            raise SettingsDiffer(tuple(found)) from None

    async def heartbeat(self, node: str) -> Beat:
        """Give a sign of life, and learn who else lives."""
        _, now_ms, was_unknown, *nodes = await self._driver.run(_HEARTBEAT, (keys.NODES,), (node, SILENT_MS))
        return Beat(now_ms, bool(was_unknown), tuple(name.decode() for name in nodes))

    async def forget(self, node: str) -> None:
        """Take a node that stops out of the register, and have the others look into it at once."""
        await self._driver.run(_FORGET, (keys.NODES, keys.NODE_SETTINGS), (node, keys.NODES_CHANNEL))

    async def house_key(self) -> str | None:
        """Read the id of the key by which the house's newest secrets are sealed; None in an empty store."""
        found = await self._driver.call("GET", keys.SEAL_KEY)
        return None if found is None else bytes(found).decode()

    async def first_house_key(self, key_id: str) -> str:
        """Read the same; where there is none yet it is this one from now on."""
        await self._driver.call("SET", keys.SEAL_KEY, key_id, "NX")
        return await self.house_key() or key_id

    async def note_house_key(self, key_id: str) -> None:
        """Name the key by which secrets are sealed from now on."""
        await self._driver.call("SET", keys.SEAL_KEY, key_id)

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
