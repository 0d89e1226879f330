"""A real `punto-server serve` in a process of its own, for tests: started, asked, killed and started again."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Final, Self

START_TIMEOUT_S: Final = 50
STOP_TIMEOUT_S: Final = 20
HOUSE_KEY: Final = bytes(range(32)).hex()
"""By which every test house that has several nodes seals its secrets."""
FAST: Final[Mapping[str, int | str]] = {
    "betting-ms": 900,
    "card-ms": 20,
    "result-ms": 100,
    "grace-ms": 3_000,
    "log-level": "warning",
}
"""Short times: a round in a little under a second."""


class NodeProcess:
    """One node on a port of its own (kept over a restart) and a data directory."""

    def __init__(
        self,
        data: Path,
        *,
        port: int = 0,
        flags: Mapping[str, int | str] = FAST,
        module: str = "server.cli",
    ) -> None:
        self.data = data
        self.port = port
        self.flags = flags
        self.module = module
        self.output: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str] = Queue()

    @property
    def place(self) -> tuple[str, str]:
        """The words by which a command finds what this node keeps."""
        return ("--store", str(self.flags["store"])) if "store" in self.flags else ("--data", str(self.data))

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"ws://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process that was started last."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start and wait until it says that it is open."""
        flags = [word for name, value in self.flags.items() for word in (f"--{name}", str(value))]
        if "store" in self.flags:
            self._take_house_key()
        self._lines = Queue()  # the reader of the process before may still have to say that it ended
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", self.module, "serve"),
                *(() if "token-keys" in self.flags else ("--open",)),
                *("--listen", f"127.0.0.1:{self.port}", "--data", str(self.data), *flags),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()
        while True:
            try:
                line = self._lines.get(timeout=START_TIMEOUT_S)
            except Empty:
                raise AssertionError(f"the node does not open: {self.output}") from None
            if found := re.search(r"open at wss?://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return self
            if line == "":
                raise AssertionError(f"the node ended with {self._process.wait()}: {self.output}")

    def _take_house_key(self) -> None:
        """Nodes on one store hold the same key."""
        path = self.data / "seal.key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)
            path.write_text(f"{HOUSE_KEY}\n")

    def _read(self, process: subprocess.Popen[str], lines: Queue[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.output.append(line)
                lines.put(line)
        lines.put("")

    def kill(self) -> None:
        """kill -9 of the node and of everything that it started."""
        assert self._process is not None
        children = self.children()
        self._process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait(STOP_TIMEOUT_S)

    def children(self) -> list[int]:
        """The processes that the node started, by id."""
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.pid)], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the node, if it still runs."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        """Wait until the node has ended by itself; returns the exit code."""
        assert self._process is not None
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextmanager
def running_node(data: Path, **flags: int | str) -> Iterator[NodeProcess]:
    """A node for the length of a block; flags by name with underscores, over `FAST`."""
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    node = NodeProcess(data, flags={**FAST, **given}).start()
    try:
        yield node
    finally:
        node.stop()


@asynccontextmanager
async def own_node(data: Path, **flags: int | str) -> AsyncIterator[NodeProcess]:
    """The same for a test whose clients go on talking while the node starts and stops."""
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    node = NodeProcess(data, flags={**FAST, **given})
    await asyncio.to_thread(node.start)
    try:
        yield node
    finally:
        await asyncio.to_thread(node.stop)
