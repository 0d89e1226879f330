"""Several nodes on one port: it starts the workers, starts again what dies, and replaces them one by one on SIGHUP.

A worker is a whole node (`node.py`) in a process of its own, titled `punto-server: worker N`; they share the port by
SO_REUSEPORT and meet only in the store. The supervisor serves nobody itself.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from prometheus_client.multiprocess import mark_process_dead
from setproctitle import setproctitle

from server.admin import State
from server.embedded.launch import end_with_parent

log = logging.getLogger(__name__)

READY_LINE: Final = "worker-ready"
"""What a worker prints when it serves."""
START_TIMEOUT_S: Final = 30
STOP_TIMEOUT_S: Final = 20
RESTART_MS: Final = (100, 5_000)
"""Before a dead worker is started again; doubled while it dies within STEADY_S of its start."""
STEADY_S: Final = 10.0


class WorkerFailed(Exception):
    """A worker does not start; its own words are on stderr already."""

    def __init__(self, number: int, code: int | None) -> None:
        super().__init__(number, code)
        self.number = number
        self.code = code

    def __str__(self) -> str:
        return f"worker {self.number} does not start (exit code {self.code})"


def become_worker(number: int) -> None:
    """Take a worker's title, and end when the supervisor does, however that ended."""
    setproctitle(f"punto-server: worker {number}")
    if sys.platform == "linux" and not end_with_parent(os.getppid()):
        sys.exit(1)


class Supervisor:
    """Keeps `count` workers alive."""

    def __init__(self, count: int, arguments: Sequence[str]) -> None:
        """`arguments` are those of `punto-server` for each worker; its number is added."""
        self._arguments = tuple(arguments)
        self._workers: dict[int, asyncio.subprocess.Process] = {}
        self._serves = {number: asyncio.Event() for number in range(1, count + 1)}
        self._count = count
        self._is_stopping = False
        self.metrics_dir = ""
        """Where the workers keep their metrics, '' where nobody asks for them."""
        self._replacing = asyncio.Lock()

    async def start(self) -> None:
        """Start all workers and wait until they serve. Raises `WorkerFailed`."""
        try:
            await asyncio.gather(*(self._start(number) for number in range(1, self._count + 1)))
        except BaseException:
            await self.stop()
            raise

    def state(self) -> State:
        """Say how the workers are: ready where one serves, well where the supervisor sees to the rest."""
        serving = sum(worker.returncode is None and self._serves[n].is_set() for n, worker in self._workers.items())
        is_ready = serving > 0 and not self._is_stopping
        words = "draining" if self._is_stopping else f"{serving} of {self._count} workers serve"
        return State(is_healthy=True, is_ready=is_ready, words=words)

    async def run(self) -> None:
        """Start again whatever ends, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._count + 1):
                group.create_task(self._keep(number), name=f"worker {number}")

    async def replace_all(self) -> None:
        """Restart the workers one after another; tables are handed over, sockets are told to come back."""
        async with self._replacing:
            for number in range(1, self._count + 1):
                self._serves[number].clear()
                await self._end(self._workers[number])
                await self._serves[number].wait()

    async def stop(self) -> None:
        """End all workers at once, each after its drain."""
        self._is_stopping = True
        for serves in self._serves.values():
            serves.set()  # nobody waits for a worker any more
        await asyncio.gather(*(self._end(worker) for worker in self._workers.values()))

    async def _start(self, number: int) -> None:
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "server.cli", *self._arguments, "--worker", str(number)),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **({"PROMETHEUS_MULTIPROC_DIR": self.metrics_dir} if self.metrics_dir else {})},
            start_new_session=True,  # the terminal's Ctrl-C is for the supervisor, which then ends them in order
        )
        self._workers[number] = worker
        assert worker.stdout is not None, "it was asked for"
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = await worker.stdout.readline()
        except TimeoutError:
            line = b""
        if line.decode(errors="replace").strip() != READY_LINE:
            await self._end(worker)
            raise WorkerFailed(number, worker.returncode)
        self._serves[number].set()
        log.info("worker_serves", extra={"worker": number, "pid": worker.pid})

    async def _keep(self, number: int) -> None:
        wait_ms = RESTART_MS[0]
        loop = asyncio.get_running_loop()
        while True:
            started_s = loop.time()
            code = await self._workers[number].wait()
            if self.metrics_dir:
                mark_process_dead(self._workers[number].pid, self.metrics_dir)  # type: ignore[no-untyped-call]
            if self._is_stopping:
                return
            log.warning("worker_died", extra={"worker": number, "code": code})
            wait_ms = RESTART_MS[0] if loop.time() - started_s > STEADY_S else min(wait_ms * 2, RESTART_MS[1])
            while not self._is_stopping:
                await asyncio.sleep(wait_ms / 1000)
                try:
                    await self._start(number)
                    break
                except WorkerFailed as failure:
                    log.error("worker_not_started", extra={"worker": number, "code": failure.code})
                    wait_ms = min(wait_ms * 2, RESTART_MS[1])

    async def _end(self, worker: asyncio.subprocess.Process) -> None:
        if worker.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            worker.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await worker.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()
