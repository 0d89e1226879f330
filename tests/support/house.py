"""Several nodes on one store, and one front door before them: a house as an operator runs it.

Each node is a real process that a test stops, kills and starts again on its port. The front door forwards bytes to one
node after another, and passes over those that turn it away, as a load balancer does.
"""

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from tests.support import haproxy
from tests.support.haproxy import Haproxy
from tests.support.node_process import FAST, STOP_TIMEOUT_S, NodeProcess
from tests.support.stores import Store
from tests.support.valkey_server import free_port

CHUNK_BYTES: Final = 65_536
OPEN_TIMEOUT_S: Final = 2.0
_CLAIM: Final = re.compile(
    r"^(\S+ \S+) info server\.dealer table_claimed table=(\S+) epoch=(\d+) round=\d+(?: worker=(\d+))?"
)
_WORKER: Final = re.compile(r" worker_serves worker=(\d+) pid=(\d+)")
_NODE_ID: Final = re.compile(r" live_nodes node=(\S+) ")


class Claim(NamedTuple):
    """A node became the owner of a table, as it said itself; the instant by this machine's wall clock, ms. `by` is the
    node's name, with the number of the worker where it has workers (`node1/2`)."""

    table: str
    epoch: int
    by: str
    at_ms: float


class HouseNode(NodeProcess):
    """One node, or one supervisor with its workers, on a store that others share."""

    def __init__(self, name: str, data: Path, store_url: str, flags: Mapping[str, int | str]) -> None:
        given = {**FAST, "log-level": "info", **flags, "store": store_url}
        super().__init__(data, port=free_port(), flags=given)
        self.name = name
        self._heard = 0

    def __repr__(self) -> str:
        return f"<HouseNode {self.name} port={self.port} {'running' if self.is_running else 'down'}>"

    @property
    def is_running(self) -> bool:
        """Whether the process is there (also where it is stopped)."""
        return self._process is not None and self._process.poll() is None

    @property
    def node_id(self) -> str:
        """What it is called in the store since its last start."""
        return self.node_ids[-1]

    @property
    def node_ids(self) -> list[str]:
        """What it was called in the store, from start to start."""
        found = [match[1] for line in list(self.output) if (match := _NODE_ID.search(line))]
        return list(dict.fromkeys(found))

    def pause(self) -> None:
        """SIGSTOP: its sockets stay open, nothing is done."""
        self.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9, also where it is stopped or gone."""
        if self.is_running:
            super().kill()

    async def ended(self) -> int:
        """Wait until it has ended; returns its exit code."""
        process = self._process
        assert process is not None, "it was started"
        async with asyncio.timeout(STOP_TIMEOUT_S):
            while process.poll() is None:
                await asyncio.sleep(0.01)
        return int(process.returncode)

    async def begin(self) -> None:
        """Start, while others go on talking."""
        await asyncio.to_thread(self.start)

    async def end(self) -> None:
        """Stop by SIGTERM, or kill what does not end."""
        if not self.is_running:
            return
        with suppress(ProcessLookupError):
            self.signal(signal.SIGTERM)
            self.signal(signal.SIGCONT)
        try:
            await self.ended()
        except TimeoutError:
            self.kill()
            raise

    def claims(self) -> list[Claim]:
        """Every claim that its log tells."""
        found = [match for line in list(self.output) if (match := _CLAIM.match(line))]
        return [
            Claim(match[2], int(match[3]), f"{self.name}/{match[4]}" if match[4] else self.name, _at_ms(match[1]))
            for match in found
        ]

    def said(self, event: str) -> list[str]:
        """The lines of its log with this event since `listen_anew`."""
        return [line for line in self.output[self._heard :] if f" {event} " in f"{line.rstrip()} "]

    def listen_anew(self) -> None:
        """Let `said` tell only what comes from now on."""
        self._heard = len(self.output)

    def workers(self) -> dict[int, int]:
        """The workers of a supervisor that live and serve: number -> process id."""
        told = {int(match[1]): int(match[2]) for line in list(self.output) if (match := _WORKER.search(line))}
        return {number: pid for number, pid in told.items() if Path(f"/proc/{pid}/cmdline").exists()}


def _at_ms(asctime: str) -> float:
    instant, _, millis = asctime.partition(",")
    return time.mktime(time.strptime(instant, "%Y-%m-%d %H:%M:%S")) * 1000 + int(millis)


class FrontDoor:
    """One address before several nodes."""

    def __init__(self, nodes: Sequence[HouseNode]) -> None:
        self._nodes = list(nodes)
        self._next = 0
        self._server: asyncio.Server | None = None
        self._pairs: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where patrons connect."""
        assert self._server is not None, "it is open"
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1024)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None, "it is open"
        self._server.close()
        for task in self._pairs:
            task.cancel()
        await asyncio.gather(*self._pairs, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served in a task"
        self._pairs.add(task)
        try:
            onward = await self._connect()
            if onward is None:
                writer.transport.abort()
                return
            node_reader, node_writer = onward
            try:
                await asyncio.gather(_pump(reader, node_writer), _pump(node_reader, writer))
            finally:
                node_writer.transport.abort()
                writer.transport.abort()
        except asyncio.CancelledError:
            pass  # the door is closed; asyncio's own server would log it
        finally:
            self._pairs.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._nodes:
            node = self._nodes[self._next % len(self._nodes)]
            self._next += 1
            try:
                async with asyncio.timeout(OPEN_TIMEOUT_S):
                    return await asyncio.open_connection("127.0.0.1", node.port)
            except OSError:  # also a timeout
                continue
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()


class House:
    """Nodes that share a store, from the first start to the last stop."""

    def __init__(self, directory: Path, store_url: str, count: int, **flags: int | str) -> None:
        given = {name.replace("_", "-"): value for name, value in flags.items()}
        self.nodes = [HouseNode(f"node{n}", directory / f"node{n}", store_url, given) for n in range(1, count + 1)]
        self.door: FrontDoor | Haproxy = FrontDoor(self.nodes)

    def put_behind_proxy(self, directory: Path) -> None:
        """Have patrons come through the proxy that docker-compose.yml has, where this machine has it."""
        if haproxy.IS_THERE:
            self.door = Haproxy(directory, [node.port for node in self.nodes])

    async def __aenter__(self) -> Self:
        try:
            await asyncio.gather(*(node.begin() for node in self.nodes))
            await self.door.__aenter__()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.door.__aexit__(kind, error, trace)
        await self._end()

    async def _end(self) -> None:
        for result in await asyncio.gather(*(node.end() for node in self.nodes), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    @property
    def url(self) -> str:
        """Where patrons connect."""
        return self.door.url

    @property
    def running(self) -> list[HouseNode]:
        """The nodes that are there."""
        return [node for node in self.nodes if node.is_running]

    def claims(self) -> list[Claim]:
        """Every claim of every node, in order of time."""
        return sorted((claim for node in self.nodes for claim in node.claims()), key=lambda claim: claim.at_ms)

    def named(self, node_id: str) -> HouseNode | None:
        """The node that has this id in the store now."""
        return next((node for node in self.running if node_id in node.node_ids[-1:]), None)

    def said(self, *events: str) -> list[str]:
        """The lines of all logs with any of these events."""
        return [line for node in self.nodes for event in events for line in node.said(event)]


@asynccontextmanager
async def opened(store: Store, directory: Path, count: int, **flags: int | str) -> AsyncIterator[House]:
    """A store and so many nodes on it, for the length of a block."""
    try:
        await store.start()
        async with House(directory, store.url, count, **flags) as house:
            yield house
    finally:
        store.stop()


def newest(claims: Iterable[Claim]) -> dict[str, Claim]:
    """The last claim of each table."""
    return {claim.table: claim for claim in claims}
