"""The commands of docker-compose.yml as plain processes of this machine: the store, three nodes, the proxy, the auditor
and the bots, with their health checks. Only names and ports of Docker's network are replaced."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from server.embedded.config import find_binary
from tests.support import haproxy
from tests.support.valkey_server import free_port, until
from tests.unit.test_compose import NODES, SERVICES, mounts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

PROGRAMS: Final = {
    "punto-server": (sys.executable, "-m", "server.cli"),
    "punto": (sys.executable, "-m", "client_sdk.cli"),
    "python": (sys.executable,),
}


class Ports:
    """Which ports of this machine stand for host and port of Docker's network."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, int], int] = {}

    def of(self, host: str, port: int) -> int:
        """The port here."""
        return self._ports.setdefault((host, port), free_port())

    def replaced(self, word: str, me: str) -> str:
        """A word of a command with the addresses of this machine in it."""
        for name in SERVICES:
            for port in (6379, 8765, 9464):
                word = word.replace(f"{name}:{port}", f"127.0.0.1:{self.of(name, port)}")
        for port in (8765, 9464):
            word = word.replace(f"127.0.0.1:{port}/", f"127.0.0.1:{self.of(me, port)}/")
            word = word.replace(f"0.0.0.0:{port}", f"127.0.0.1:{self.of(me, port)}")
        return word


def words_of(name: str, ports: Ports, command: Sequence[str]) -> list[str]:
    """A service's command as it is run here."""
    service = SERVICES[name]
    inside = {place: str(path) for place, path in mounts(service).items()}
    return [inside.get(word, ports.replaced(word, name)) for word in command]


@asynccontextmanager
async def process(words: Sequence[str], variables: Mapping[str, str] = {}) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process for the length of a block, ended by SIGTERM."""
    running = await asyncio.create_subprocess_exec(*words, env={**os.environ, **variables}, start_new_session=True)
    try:
        yield running
    finally:
        if running.returncode is None:
            running.terminate()
        assert await asyncio.wait_for(running.wait(), 40) == 0


async def healthy(name: str, ports: Ports) -> bool:
    """Run a service's own health check."""
    _, program, *rest = SERVICES[name]["healthcheck"]["test"]
    words = [*PROGRAMS[program], *(ports.replaced(word, name) for word in rest)]
    check = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    return await asyncio.wait_for(check.wait(), 20) == 0


def variables_of(service: dict[str, Any], ports: Ports) -> dict[str, str]:
    return {name: ports.replaced(value, "") for name, value in service.get("environment", {}).items()}


async def test_the_house_of_the_compose_file_is_played_in(tmp_path: Path) -> None:
    ports = Ports()
    async with AsyncExitStack() as stack:
        _, *valkey = SERVICES["valkey"]["command"]
        own = ["--port", str(ports.of("valkey", 6379)), "--bind", "127.0.0.1", "--dir", str(tmp_path)]
        await stack.enter_async_context(process([str(find_binary(tmp_path)), *valkey, *own, "--logfile", "valkey.log"]))
        for name, node in NODES.items():
            own = ["--listen", f"127.0.0.1:{ports.of(name, 8765)}", "--admin", f"127.0.0.1:{ports.of(name, 9464)}"]
            own += ["--data", str(tmp_path)]
            words = [*PROGRAMS["punto-server"], *words_of(name, ports, node["command"]), *own]
            pace = ["--betting-ms", "600", "--card-ms", "10", "--result-ms", "50", "--log-level", "warning"]
            await until(lambda: _takes_calls(ports.of("valkey", 6379)), "the store takes calls")
            await stack.enter_async_context(process([*words, *pace], variables_of(node, ports)))
            await until(partial(healthy, name, ports), f"{name} is healthy", 40)
        auditor = SERVICES["auditor"]
        await stack.enter_async_context(
            process(
                [*PROGRAMS["punto-server"], *words_of("auditor", ports, auditor["command"])],
                variables_of(auditor, ports),
            )
        )
        node_ports = [ports.of(name, 8765) for name in NODES]
        url = f"ws://127.0.0.1:{node_ports[0]}"
        if haproxy.IS_THERE:
            url = (await stack.enter_async_context(haproxy.Haproxy(tmp_path, node_ports))).url
        await until(lambda: healthy("auditor", ports), "the auditor is healthy", 40)
        bots = [word.replace("ws://proxy:8765", url) for word in SERVICES["bots"]["command"]]
        bots[bots.index("--rounds") + 1] = "2"
        played = await asyncio.create_subprocess_exec(*PROGRAMS["punto"], *bots, stdout=asyncio.subprocess.DEVNULL)
        assert await asyncio.wait_for(played.wait(), 90) == 0


async def _takes_calls(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"PING\r\n")
        return await reader.readline() == b"+PONG\r\n"
    finally:
        writer.close()
