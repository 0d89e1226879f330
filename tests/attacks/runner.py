"""One attack after another on one house, and how those fared who had nothing to do with it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from client_sdk.bots.histogram import Histogram
from tests.attacks.attackers import ATTACKS
from tests.attacks.honest import Honest
from tests.attacks.processor import Meter, Share, let_come_first
from tests.support.node_process import NodeProcess
from tests.support.operator import punto_server

FLAGS: Final[dict[str, int | str]] = {
    "betting-ms": 3_000,
    "card-ms": 20,
    "result-ms": 100,
    "log-level": "warning",
    "trusted-proxies": "127.0.0.1",
    "play-money": 1_000_000,
}
P99_MS_MIN: Final = 50.0
"""The honest may be twice as slow as when it is quiet, or so slow, whichever is more."""
RESIDENT_BYTES_MAX: Final = 768 * 1024**2
WARM_UP_S: Final = 2.5
"""So long attackers attack before it is measured, or a quarter of that time where that is less."""
ANSWER_TIMEOUT_S: Final = 20


@dataclass(slots=True)
class Row:
    """What came of one attack. `seen` is what the attackers saw, `shares` who had the processor meanwhile."""

    name: str
    latency: Histogram
    newcomer_ms: float
    resident_bytes: int
    shares: dict[str, Share]
    seen: dict[str, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)


async def attack_all(
    directory: Path, names: Sequence[str], *, seats: int, seconds: float, share: float, extra: dict[str, int | str]
) -> AsyncIterator[Row]:
    """Measure when it is quiet, then under each attack; `share` of the lines of the long form are used.

    The last row is the end: the house's own words, and its books.
    """
    node = NodeProcess(directory / "data", flags={**FLAGS, **extra})
    await asyncio.to_thread(node.start)
    let_come_first([os.getpid(), node.pid, *node.children()])
    try:
        async with Attackers(node.port) as attackers, Honest(node.url, seats) as honest:
            yield await _row("quiet", node, honest, attackers, seconds, {})
            for name in names:
                seen: dict[str, int] = {}
                async with attackers.attacking(name, max(4, round(ATTACKS[name][1] * share)), seen):
                    await asyncio.sleep(min(WARM_UP_S, seconds / 4))
                    row = await _row(name, node, honest, attackers, seconds, seen)
                yield row
        yield await _end(node)
    finally:
        await asyncio.to_thread(node.stop)


async def _row(
    name: str, node: NodeProcess, honest: Honest, attackers: "Attackers", seconds: float, seen: dict[str, int]
) -> Row:
    processes = {"node": [node.pid], "store": node.children(), "honest": [os.getpid()], "attackers": [attackers.pid]}
    meters = {who: Meter(pids) for who, pids in processes.items()}
    latency = await honest.measured(seconds)
    shares = {who: meter.share() for who, meter in meters.items()}
    newcomer_ms = await honest.newcomer_ms()
    row = Row(name, latency, newcomer_ms, resident_bytes(node), shares, seen, list(honest.troubles))
    honest.troubles.clear()
    return row


class Attackers:
    """The process of the attackers, for the length of a block."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.attacks.attacker", "127.0.0.1", str(self._port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def __aexit__(self, *_: object) -> None:
        await self._kill()

    @property
    def pid(self) -> int:
        """Their process."""
        assert self._process is not None, "it was entered"
        return self._process.pid

    async def _kill(self) -> None:
        assert self._process is not None, "it was entered"
        self._process.kill()
        await self._process.wait()

    @asynccontextmanager
    async def attacking(self, name: str, size: int, seen: dict[str, int]) -> AsyncIterator[None]:
        """Attack for the length of a block; `seen` has what they saw afterwards."""
        await self._tell(f"{name} {size}")
        yield
        try:
            seen.update(json.loads(await self._tell("stop")))
        except TimeoutError:  # where the processor is scarce they hear nothing any more
            seen["opened"] = 1
            await self._kill()
            await self._start()

    async def _tell(self, order: str) -> bytes:
        assert self._process is not None, "it was entered"
        assert self._process.stdin is not None, "it was asked for"
        assert self._process.stdout is not None, "so was this"
        self._process.stdin.write(f"{order}\n".encode())
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            answer = await self._process.stdout.readline()
        assert answer, "the attackers have failed; their own words are on stderr"
        return answer


async def _end(node: NodeProcess) -> Row:
    audit = await punto_server("audit", "--data", node.data)
    said = [line.strip() for line in node.output if "Traceback" in line or " error " in line]
    troubles = [*said[:10], *([f"audit: {audit.out or audit.err}"] if audit.code else [])]
    return Row("books", Histogram(), 0.0, resident_bytes(node), {}, {}, troubles)


def resident_bytes(node: NodeProcess) -> int:
    """What the node has in memory."""
    status = Path(f"/proc/{node.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
