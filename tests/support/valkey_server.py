"""One real Valkey process that a test disturbs: it stops, kills and starts it, changes its settings and its data.

It listens on a free port of 127.0.0.1, keeps its data in a directory of its own and ends with this process. Writes are
kept before they are answered (`appendfsync always`) unless a test asks otherwise. Read next: `stores`.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Self, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from server.embedded.config import command, find_binary

READY_S: Final = 20.0
POLL_S: Final = 0.02
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


@cache
def _binary() -> Path:
    return find_binary(Path("."))
