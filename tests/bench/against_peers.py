"""What an event costs the server for each connection, beside what a Python author would pick instead, in one run.

Punto plays real rounds, with all that belongs to them (`fanout.py`); the peers do nothing but send as many bytes to as
many connections, each at a pace that leaves it some rest. Only the server's processor time counts, not the store's.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench import wire
from tests.bench.fanout import play
from tests.bench.house import BUY_IN, TABLE, house
from tests.bench.process import REST_MS, CrowdProcess, Floor, cpu_us, crowd, floor, send_loop, sockets
from tests.support.stores import SingleStore

PYTHON: Final = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
PACE_MS: Final = 20
ROUNDS: Final = 4
EVENTS: Final = 30
"""Of each turn of a peer."""


class Peer(NamedTuple):
    """One of them: its module, what it is made of, its pace, and how a client comes in."""

    module: str
    packages: tuple[str, ...]
    interval_ms: int
    path: str = "/"
    greeting: bytes = b""
    hellos: int = 0
    """Frames that each client gets before the first event."""


PEERS: Final = {
    "starlette": Peer("starlette_rooms", ("starlette", "uvicorn"), 40),
    "socketio": Peer(
        "socketio_rooms",
        ("python-socketio", "uvicorn"),
        200,
        "/socket.io/?EIO=4&transport=websocket",
        wire.framed(b"40", wire.TEXT),
        2,
    ),
    "channels": Peer("channels_rooms", ("channels", "channels_redis", "uvicorn"), 400),
}


async def measure(count: int, turns: int) -> list[dict[str, float]]:
    """Open so many connections to each and take turns; returns each turn's microseconds for each event and connection,
    by name."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="punto-bench-")))
        lines = await stack.enter_async_context(crowd(rest_ms=REST_MS))
        table = await stack.enter_async_context(house(card_ms=PACE_MS, betting_ms=300, result_ms=PACE_MS))
        bare = stack.enter_context(floor(*send_loop(directory, count)))
        library = stack.enter_context(floor(*sockets()))
        store = SingleStore(directory)
        stack.callback(store.stop)
        await store.start()
        await table.pause()
        await lines.call(
            "open", group="punto", kind="seat", port=table.node.port, count=count, tables=(TABLE,), buy_in=BUY_IN
        )
        await lines.call("open", group="bare", kind="plain", port=bare.port, count=count)
        await lines.call("open", group="broadcast", kind="socket", port=library.port, count=count)
        peers = {name: stack.enter_context(floor(*_command(peer, store.url))) for name, peer in PEERS.items()}
        for name, running in peers.items():
            await _come(lines, name, running, count)
        found = []
        for turn in range(turns):
            punto, size, _, pauses_us = await play(table, lines, count, ROUNDS)
            took = {
                "punto": punto,
                "send": await bare.send(size, pauses_us) / count,
                "broadcast": await library.send(size - 4, pauses_us) / count,
            }
            for name, running in peers.items():
                took[name] = await _send(lines, name, running, count, size)
            found.append(took)
            told = ", ".join(f"{name} {used_us:.1f}" for name, used_us in took.items())
            print(f"    {count} connections, turn {turn + 1}, us an event: {told}", file=sys.stderr, flush=True)
        return found


def _command(peer: Peer, store_url: str) -> tuple[str, ...]:
    return (str(PYTHON), "-m", f"tests.bench.peers.{peer.module}", store_url)


async def _come(lines: CrowdProcess, name: str, running: Floor, count: int) -> None:
    peer = PEERS[name]
    await lines.call(
        "open", group=name, kind="socket", port=running.port, count=count, path=peer.path, greeting=peer.greeting
    )
    await lines.call("until_frames", group=name, frames=peer.hellos * count)
    await asyncio.sleep(0.5)  # the last one accepted is told so before it is one of the group


async def _send(lines: CrowdProcess, name: str, running: Floor, count: int, size: int) -> float:
    """Have a peer send its events, and wait until all are there."""
    await lines.call("count", group=name)
    before_us = cpu_us(running.pid)
    await running.send(size - 4, [PEERS[name].interval_ms * 1000] * EVENTS)
    try:
        await lines.call("until_frames", group=name, frames=EVENTS * count)
    except TimeoutError as error:
        error.add_note(f"{await lines.call('count', group=name)}")
        raise
    return (cpu_us(running.pid) - before_us) / EVENTS / count


def versions() -> dict[str, Any]:
    """Say what they are."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    told: dict[str, str] = json.loads(subprocess.run([PYTHON, "-c", code], capture_output=True, check=True).stdout)
    return {
        "websockets": version("websockets"),
        **{name: told[name] for peer in PEERS.values() for name in peer.packages},
    }
