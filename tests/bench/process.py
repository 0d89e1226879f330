"""The processes of a measurement: the crowd, the floors, the node; and the processor time that each has had.

Linux only: processor time is read from `/proc`, to the microsecond.
"""

import asyncio
import multiprocessing
import resource
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, Final

from tests.bench.crowd import Crowd

FLOORS: Final = Path(__file__).with_name("floors")
CALL_S_MAX: Final = 300.0
END_S_MAX: Final = 10.0
REST_MS: Final = 2.0
"""Of a crowd behind each reading where processor time is measured, or the rate of thousands together; not where the way
of a single message counts."""


def cpu_us(*pids: int) -> float:
    """The processor time that these processes have had, user and system, microseconds."""
    stats = [stat for pid in pids for stat in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(stat.read_text().split()[0]) for stat in stats) / 1000


def resident_kib(pid: int) -> int:
    """What a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def allow_files() -> int:
    """Let this process and those that it starts open as many files as the system allows; returns how many."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class CrowdProcess:
    """The way to a crowd."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def call(self, name: str, **arguments: Any) -> Any:
        """Have the crowd do something. Raises what it raised."""
        self._pipe.send((name, arguments))
        if not await asyncio.to_thread(self._pipe.poll, CALL_S_MAX):
            raise TimeoutError(f"the crowd does not answer to {name}")
        answer = self._pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def crowd(kind: type[Crowd] = Crowd, rest_ms: float = 0.0) -> AsyncIterator[CrowdProcess]:
    """A crowd for the length of a block, which rests so long behind each reading."""
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(kind, there), daemon=True)
    process.start()
    there.close()
    try:
        lines = CrowdProcess(here)
        await lines.call("rest", rest_ms=rest_ms)
        yield lines
    finally:
        here.close()
        process.join(END_S_MAX)
        if process.is_alive():
            process.kill()
            process.join()


def _serve(kind: type[Crowd], pipe: Pipe) -> None:
    kind(pipe).serve()


class Floor:
    """A server that does one thing by order."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.pid = process.pid
        self.port = int(self._told())

    def _told(self) -> str:
        assert self._process.stdout is not None, "it is a pipe"
        line = self._process.stdout.readline()
        assert line, f"{self._process.args!r} ended"
        return line.strip()

    async def send(self, size: int, pauses_us: Sequence[int]) -> float:
        """Send an event of that size to all connections for each of the pauses, which lie between their beginnings;
        returns the processor time it took for each event, microseconds."""
        assert self._process.stdin is not None, "it is a pipe"
        before_us = cpu_us(self.pid)
        self._process.stdin.write(f"{len(pauses_us)} {size} {' '.join(map(str, pauses_us))}\n")
        self._process.stdin.flush()
        assert await asyncio.to_thread(self._told) == "done"
        return (cpu_us(self.pid) - before_us) / len(pauses_us)


@contextmanager
def floor(*command: str) -> Iterator[Floor]:
    """A floor for the length of a block."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield Floor(process)
        finally:
            process.kill()


def send_loop(directory: Path, count: int) -> tuple[str, ...]:
    """The command of the bare `send()` loop: in C where there is a compiler, else in Python."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return (sys.executable, str(FLOORS / "send_loop.py"), str(count))
    program = directory / "send_loop"
    if not program.exists():
        subprocess.run([compiler, "-O2", "-o", str(program), str(FLOORS / "send_loop.c")], check=True)
    return (str(program), str(count))


def sockets() -> tuple[str, ...]:
    """The command of the library's own echo and broadcast."""
    return (sys.executable, "-m", "tests.bench.floors.sockets")
