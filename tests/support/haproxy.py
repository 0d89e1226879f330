"""The proxy of deploy/haproxy.cfg before nodes on ports of this machine, as a real process."""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.valkey_server import free_port

CONFIG: Final = Path(__file__).resolve().parents[2] / "deploy" / "haproxy.cfg"
IS_THERE: Final = shutil.which("haproxy") is not None
READY_S: Final = 20.0


def adapted(text: str, port: int, node_ports: Sequence[int]) -> str:
    """The configuration with its own port and those of the nodes in place of names that only Docker knows."""
    text = text.replace("bind *:8765", f"bind 127.0.0.1:{port}")
    text = text.replace("maxconn 20000", "maxconn 4000")  # two open files each: no more than a test machine allows
    (servers,) = re.findall(r"(?:^    server node\d .*\n)+", text, re.MULTILINE)
    lines = [f"    server node{n} 127.0.0.1:{node_port}\n" for n, node_port in enumerate(node_ports, 1)]
    return text.replace(servers, "".join(lines))


class Haproxy:
    """One address before several nodes."""

    def __init__(self, directory: Path, node_ports: Sequence[int]) -> None:
        self.port = free_port()
        self._config = directory / "haproxy.cfg"
        self._node_ports = node_ports
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where patrons connect."""
        return f"ws://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._config.write_text(adapted(CONFIG.read_text(), self.port, self._node_ports))
        with (self._config.with_suffix(".log")).open("wb") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - it only forks
                ["haproxy", "-db", "-f", str(self._config)], stdout=log, stderr=log, start_new_session=True
            )
        async with asyncio.timeout(READY_S):
            while not await self._answers():
                assert self._process.poll() is None, self._config.with_suffix(".log").read_text()
                await asyncio.sleep(0.05)
        return self

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None, "it was started"
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, 10)
