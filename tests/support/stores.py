"""Real Valkey processes that a test disturbs: one alone, a primary with a replica and Sentinels, a cluster.

Each listens on free ports of 127.0.0.1, keeps its data in a directory of its own and ends with this process. Writes
are kept before they are answered (`appendfsync always`) unless a test asks otherwise. `store.url` is what a node takes
as `--store`; the rest is what an operator, a kernel or bad luck does.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import RedisError

from server.embedded.config import command, find_binary

READY_S: Final = 20.0
POLL_S: Final = 0.02
SLOTS: Final = 16_384
NODE_TIMEOUT_MS: Final = 1_500
"""A member of a cluster that is silent for this long may be voted out."""
DOWN_AFTER_MS: Final = 700
"""The same for what Sentinels watch."""
SERVICE: Final = "punto"
KEPT: Final[Mapping[str, str]] = {"appendonly": "yes", "appendfsync": "always"}
EVERYSEC: Final[Mapping[str, str]] = {"appendonly": "yes", "appendfsync": "everysec"}
"""What may lose a second: a node then has to think of lost writes after a restart."""
_COMMON: Final[Mapping[str, str]] = {
    "bind": "127.0.0.1",
    "save": "",
    "maxmemory-policy": "noeviction",
    "repl-diskless-sync-delay": "0",
    "repl-ping-replica-period": "1",
}
_given_ports: set[int] = set()
_numbers = count(1)


def free_port() -> int:
    """A port that nothing listens on, and that this process has not given away yet."""
    while True:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = int(sock.getsockname()[1])
        if port not in _given_ports:
            _given_ports.add(port)
            return port


async def until(condition: Callable[[], Awaitable[Any]], what: str, timeout_s: float = READY_S) -> Any:
    """Wait until a condition holds, and return its value; errors of a server that is not there yet count as no."""
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                with suppress(RedisError, OSError):
                    if value := await condition():
                        return value
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {timeout_s} s") from None


async def run(client: Redis, *words: str | int | bytes) -> Any:
    """Run one command, whatever it is."""
    return await client.execute_command(*words)


class ValkeyServer:
    """One process on one directory. Started again it finds its data, on the same port."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT, *, is_sentinel: bool = False) -> None:
        self.directory = directory
        self.port = free_port()
        self.settings: dict[str, str] = {**_COMMON, **settings}
        self._is_sentinel = is_sentinel
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True)

    def __repr__(self) -> str:
        state = "running" if self.is_running else "down"
        return f"<ValkeyServer {self.directory.name} port={self.port} {state}>"

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether the process is there (also where it is stopped)."""
        return self._process is not None and self._process.poll() is None

    @asynccontextmanager
    async def admin(self, timeout_s: float = 5.0) -> AsyncIterator[Redis]:
        """A client of this one server; nothing is tried twice."""
        retry = Retry(NoBackoff(), 0)
        client = Redis(host="127.0.0.1", port=self.port, socket_timeout=timeout_s, retry=retry, protocol=3)
        async with client:
            yield client

    async def ask(self, *words: str | int) -> Any:
        """Run one command."""
        async with self.admin() as client:
            return await run(client, *words)

    async def info(self, section: str) -> dict[str, Any]:
        """Read a section of INFO."""
        return cast("dict[str, Any]", await self.ask("INFO", section))

    # --- life ---------------------------------------------------------------------------------------------------------

    async def start(self, **settings: str) -> Self:
        """Start, with changed settings where given, and wait until it serves."""
        self.settings |= {name.replace("_", "-"): value for name, value in settings.items()}
        self.launch()
        await self.ready()
        return self

    def launch(self) -> None:
        """Start without waiting."""
        assert not self.is_running, "it runs already"
        conf = self.directory / "valkey.conf"
        if not (self._is_sentinel and conf.exists()):  # a Sentinel keeps what it knows there
            lines = [f'{name} "{value}"' for name, value in {**self.settings, **self._places()}.items()]
            conf.write_text("\n".join([*lines, *self._sentinel_lines()]) + "\n")
        words = command(_binary(), conf) + (["--sentinel"] if self._is_sentinel else [])
        with (self.directory / "valkey.log").open("ab") as log:
            self._process = subprocess.Popen(
                words, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    async def ready(self) -> None:
        """Wait until it serves: also a big file has been read back by then."""
        await until(lambda: self.ask("PING"), f"{self!r} serves")

    def _places(self) -> dict[str, str]:
        return {"port": str(self.port), "dir": str(self.directory)}

    def _sentinel_lines(self) -> list[str]:
        return []

    def stop(self) -> None:
        """End it cleanly; harmless where it is down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP: connections stay, nothing is answered."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None, "it was started"
        self._process.send_signal(number)

    def _end(self, number: int) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._signal(number)
            self._signal(signal.SIGCONT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    # --- its data -----------------------------------------------------------------------------------------------------

    def copy_of_data(self) -> Path:
        """Copy what lies on the disk at this moment; the server, if it runs, is stopped meanwhile."""
        copy = self.directory.with_name(f"{self.directory.name}-copy{next(_numbers)}")
        if self.is_running:
            self.pause()
            os.waitid(os.P_PID, cast("subprocess.Popen[bytes]", self._process).pid, os.WSTOPPED | os.WNOWAIT)
        try:
            shutil.copytree(self.directory / "appendonlydir", copy)
        finally:
            if self.is_running:
                self.go_on()
        return copy

    def put_data_back(self, copy: Path) -> None:
        """Replace what lies on the disk by an older copy, as a restored backup or a lost second does."""
        self.forget_data()
        shutil.copytree(copy, self.directory / "appendonlydir")

    def forget_data(self) -> None:
        """Delete what lies on the disk."""
        assert not self.is_running, "a running server would write on"
        shutil.rmtree(self.directory / "appendonlydir", ignore_errors=True)


class Store(Protocol):
    """Any of the three kinds."""

    url: str

    async def start(self) -> Self:
        """Start everything and wait until it serves."""
        ...

    def stop(self) -> None:
        """End everything."""
        ...

    async def primary_of(self, key: str) -> ValkeyServer:
        """The server that takes writes of this key now."""
        ...

    async def primaries(self) -> Sequence[ValkeyServer]:
        """All servers that take writes now."""
        ...


class SingleStore:
    """One server over TCP."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT) -> None:
        self.server = ValkeyServer(directory / "single", settings)
        self.url = f"redis://{self.server.address}"

    async def start(self) -> Self:
        """Start it."""
        await self.server.start()
        return self

    def stop(self) -> None:
        """End it."""
        self.server.kill()

    async def primary_of(self, key: str) -> ValkeyServer:
        """The only one."""
        return self.server

    async def primaries(self) -> Sequence[ValkeyServer]:
        """The only one."""
        return (self.server,)


class SentinelStore:
    """A primary, a replica, and three Sentinels that watch them."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = KEPT) -> None:
        self.first = ValkeyServer(directory / "first", settings)
        self.second = ValkeyServer(directory / "second", {**settings, "replicaof": f"127.0.0.1 {self.first.port}"})
        self.sentinels = [_Sentinel(directory / f"sentinel{n}", self.first) for n in range(3)]
        addresses = ",".join(sentinel.address for sentinel in self.sentinels)
        self.url = f"redis+sentinel://{addresses}/{SERVICE}"

    async def start(self) -> Self:
        """Start all five and wait until they know each other."""
        for server in (self.first, self.second):
            server.launch()
        await self.first.ready()
        await until(lambda: _is_linked(self.second), "the replica is linked")
        for sentinel in self.sentinels:
            sentinel.launch()
        for sentinel in self.sentinels:
            await until(sentinel.knows_the_rest, f"{sentinel!r} knows the others")
        return self

    def stop(self) -> None:
        """End all five."""
        for server in (*self.sentinels, self.first, self.second):
            server.kill()

    async def primary(self) -> ValkeyServer:
        """The one that the Sentinels name."""
        port = await self._named_port()
        return self.first if self.first.port == port else self.second

    async def primary_of(self, key: str) -> ValkeyServer:
        """The one that the Sentinels name."""
        return await self.primary()

    async def primaries(self) -> Sequence[ValkeyServer]:
        """The one that the Sentinels name."""
        return (await self.primary(),)

    async def failed_over(self, lost: ValkeyServer) -> ValkeyServer:
        """Wait until the other one has been promoted; returns it."""

        async def is_promoted() -> ValkeyServer | None:
            now = await self.primary()
            return now if now is not lost and (await now.info("replication"))["role"] == "master" else None

        return cast("ValkeyServer", await until(is_promoted, "the replica is promoted", 30))

    async def come_back_as_replica(self, lost: ValkeyServer) -> None:
        """Start a server that was killed as the replica of the present primary, and wait until it has everything."""
        primary = await self.primary()
        primary.settings.pop("replicaof", None)
        await lost.start(replicaof=f"127.0.0.1 {primary.port}")
        await until(lambda: _is_linked(lost), "the replica is linked")

    async def _named_port(self) -> int:
        for sentinel in self.sentinels:
            with suppress(RedisError, OSError):
                return int((await sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE))[1])
        raise AssertionError("no Sentinel answers")


class _Sentinel(ValkeyServer):
    """A process that watches a primary and decides with others."""

    def __init__(self, directory: Path, watched: ValkeyServer) -> None:
        super().__init__(directory, {}, is_sentinel=True)
        self._watched = watched
        self.settings = {"bind": "127.0.0.1"}

    def _sentinel_lines(self) -> list[str]:
        return [
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._watched.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 4000",
            f"sentinel parallel-syncs {SERVICE} 1",
        ]

    async def knows_the_rest(self) -> bool:
        """Whether it has heard of both others and of the replica."""
        told = _pairs(await self.ask("SENTINEL", "MASTER", SERVICE))
        return told["num-other-sentinels"] == "2" and told["num-slaves"] == "1"


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
            await until(lambda member=member: member.knows(6), f"{member!r} knows the others")  # type: ignore[misc]
        for primary, replica in zip(self.members[:3], self.members[3:], strict=True):
            await until(lambda r=replica, p=primary: r.ask("CLUSTER", "REPLICATE", p.id), "it copies")  # type: ignore[misc]
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
        return _text(told["cluster_state"]) == "ok" and is_linked


async def _is_linked(replica: ValkeyServer) -> bool:
    return bool((await replica.info("replication"))["master_link_status"] == "up")


def _pairs(told: Any) -> dict[str, str]:
    """A reply of names and values, however this protocol version packs it."""
    pairs = told.items() if isinstance(told, dict) else zip(told[::2], told[1::2], strict=True)
    return {_text(name): _text(value) for name, value in pairs}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@cache
def _binary() -> Path:
    return find_binary(Path("."))


def kind_asked_for() -> str:
    """On which kind of store the tests are to run that can run on any: `make test STORE=...`; '' is each test's own."""
    kind = os.environ.get("PUNTO_TEST_STORE", "")
    assert kind in ("", *KINDS), f"STORE={kind}: one of {', '.join(KINDS)}"
    return kind


def new_store(kind: str, directory: Path, settings: Mapping[str, str] = KEPT) -> Store:
    """A store of this kind, not started yet."""
    return KINDS[kind](directory, settings)


@contextmanager
def store_asked_for(directory: Path) -> Iterator[dict[str, str]]:
    """The flags by which a node finds the kind of store that was asked for; none where its own will do."""
    if not (kind := kind_asked_for()):
        yield {}
        return
    store = new_store(kind, directory)
    try:
        asyncio.run(store.start())
        yield {"store": store.url}
    finally:
        store.stop()


KINDS: Final[Mapping[str, Callable[[Path, Mapping[str, str]], Store]]] = {
    "single": SingleStore,
    "sentinel": SentinelStore,
    "cluster": ClusterStore,
}


@asynccontextmanager
async def running_store(store: Store) -> AsyncIterator[Store]:
    """A store for the length of a block."""
    try:
        yield await store.start()
    finally:
        store.stop()
