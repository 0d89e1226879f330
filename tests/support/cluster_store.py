"""A cluster of real Valkey processes: three primaries with a replica each, on free ports of 127.0.0.1."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from redis.crc import key_slot

from tests.support.valkey_server import KEPT, ValkeyServer, free_port, run, until

SLOTS: Final = 16_384
NODE_TIMEOUT_MS: Final = 1_500
"""A member that is silent for this long may be voted out."""


class ClusterStore:
    """Three primaries with a replica each."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT) -> None:
        self.members = [_Member(directory / f"member{n}", settings) for n in range(6)]
        self.url = f"redis+cluster://{','.join(member.address for member in self.members[:3])}"

    async def start(self) -> Self:
        """Start all six, give the first three the slots and the others one of them each to copy."""
        for member in self.members:
            member.launch()
        for member in self.members:
            await member.ready()
            member.id = (await member.ask("CLUSTER", "MYID")).decode()
        first, width = self.members[0], -(-SLOTS // 3)
        for number, member in enumerate(self.members[:3]):
            last = min((number + 1) * width, SLOTS) - 1
            await member.ask("CLUSTER", "ADDSLOTSRANGE", number * width, last)
            await member.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for member in self.members[1:]:
            await first.ask("CLUSTER", "MEET", "127.0.0.1", member.port, member.bus_port)
        for member in self.members:
            await until(partial(member.knows, 6), f"{member!r} knows the others")
        for primary, replica in zip(self.members[:3], self.members[3:], strict=True):
            await until(partial(replica.ask, "CLUSTER", "REPLICATE", primary.id), "it copies")
        await self.whole()
        return self

    def stop(self) -> None:
        """End all six."""
        for member in self.members:
            member.kill()

    async def whole(self) -> None:
        """Wait until every member that runs says ok and every replica is linked to a primary."""
        for member in self.members:
            if member.is_running:
                await until(member.is_content, f"{member!r} finds the cluster whole", 30)

    async def primaries(self) -> Sequence["_Member"]:
        """Those that hold slots now, as one that runs tells."""
        teller = next(member for member in self.members if member.is_running)
        holders = {node["id"] for node in await teller.nodes() if node["slots"] and "fail" not in node["flags"]}
        return [member for member in self.members if member.id in holders and member.is_running]

    async def primary_of(self, key: str) -> "_Member":
        """The one that holds the slot of a key."""
        teller = next(member for member in self.members if member.is_running)
        slot = key_slot(key.encode())
        for node in await teller.nodes():
            if "fail" not in node["flags"] and any(first <= slot <= last for first, last in node["slots"]):
                return next(member for member in self.members if member.id == node["id"])
        raise AssertionError(f"nobody holds slot {slot}")

    async def move_slot_key_by_key(self, key: str, target: "_Member") -> None:
        """Move the slot of a key with all its keys, as `valkey-cli --cluster reshard` does; meanwhile both ends
        answer ASK and TRYAGAIN."""
        source, slot = await self.primary_of(key), key_slot(key.encode())
        await target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        await source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        async with source.admin() as admin:
            while names := await run(admin, "CLUSTER", "GETKEYSINSLOT", slot, 4):
                for name in names:  # one by one: a table's keys are on both sides for a moment
                    await run(admin, "MIGRATE", "127.0.0.1", target.port, name, 0, 2_000)
        for member in (target, source, *await self.primaries()):
            await member.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    async def move_slot_at_once(self, key: str, target: "_Member") -> None:
        """Move the slot of a key in one step, as Valkey 9 can."""
        source, slot = await self.primary_of(key), key_slot(key.encode())
        await source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target.id)

        async def has_moved() -> bool:
            return await self.primary_of(key) is target

        await until(has_moved, "the slot moved")

    async def failed_over(self, lost: "_Member") -> "_Member":
        """Wait until the replica of a primary that was killed holds its slots; returns it."""
        copy = self.members[(self.members.index(lost) + 3) % 6]

        async def has_taken_over() -> bool:
            return copy in await self.primaries()

        await until(has_taken_over, f"{copy!r} took over", 30)
        return copy

    async def come_back_as_replica(self, lost: "_Member") -> None:
        """Start a member that was killed, and wait until it copies whoever took over."""
        await lost.start()
        await self.whole()


class _Member(ValkeyServer):
    """One server of a cluster."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self.bus_port = free_port()
        cluster = {
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-node-timeout": str(NODE_TIMEOUT_MS),
            "cluster-port": str(self.bus_port),
            "cluster-replica-validity-factor": "0",
            "cluster-require-full-coverage": "no",
            "cluster-allow-replica-migration": "no",
        }
        super().__init__(directory, {**settings, **cluster})
        self.id = ""

    async def nodes(self) -> list[dict[str, Any]]:
        """Read CLUSTER NODES: id, flags, slots as (first, last)."""
        found = []
        for address, node in (await self.ask("CLUSTER NODES")).items():
            slots = [(int(part[0]), int(part[-1])) for part in node["slots"]]
            found.append({"id": node["node_id"], "flags": node["flags"].split(","), "slots": slots, "at": address})
        return found

    async def knows(self, members: int) -> bool:
        """Whether it has shaken hands with so many."""
        nodes = await self.nodes()
        return len(nodes) == members and not any("handshake" in node["flags"] for node in nodes)

    async def is_content(self) -> bool:
        """Whether it finds the cluster whole, and itself linked where it copies."""
        told = await self.ask("CLUSTER INFO")
        replication = await self.info("replication")
        is_linked = replication["role"] == "master" or replication["master_link_status"] == "up"
        return bool(told["cluster_state"] == "ok" and is_linked)
