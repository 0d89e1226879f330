"""`punto-server serve` in an operator's hands: every mistake is one line on stderr and exit 2, and Ctrl-C is no
mistake."""

import asyncio
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from server.cli import main
from server.store.driver import Driver
from server.store.keys import table_key
from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import RawClient

UP_AND_ON = "import sys; from server import cli; print('up', flush=True); sys.exit(cli.main(sys.argv[1:]))"
"""`punto-server`, which says when the interpreter is there: what comes before is not its own doing."""
START_S_MAX = 20.0
"""A start that fails says so within this time, on a busy machine too."""


class Ended(NamedTuple):
    """How a process ended, and how long it took from its start, or from the Ctrl-C."""

    code: int | None
    out: str
    err: str
    took_s: float


async def serve(*flags: str, interrupt_after_s: float | None = None) -> Ended:
    """Run `punto-server serve --open` to its end, with a Ctrl-C on the way if one is wanted."""
    started_s = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", UP_AND_ON, "serve", "--open", *flags),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 30) == b"up\n"
    if interrupt_after_s is not None:
        await asyncio.sleep(interrupt_after_s)  # the moment is the very thing that is tried
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        started_s = time.monotonic()
    out, err = await asyncio.wait_for(process.communicate(), 30)
    return Ended(process.returncode, out.decode(), err.decode(), time.monotonic() - started_s)


def assert_one_line(err: str, *parts: str) -> None:
    """A mistake is told in one line that names what is wrong."""
    assert err.startswith("punto-server: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert all(part in err for part in parts), err


@pytest.fixture
def listening() -> Iterator[int]:
    """A port on which somebody listens who never says a word."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(64)
        yield taken.getsockname()[1]


# --- mistakes that need no process ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("", "command"),
        ("serve --open --nope", "--nope"),
        ("serve --op", "--op"),
        ("serve", "--open"),
        ("serve --open extra", "extra"),
        ("serve --open --listen nonsense", "--listen"),
        ("serve --open --listen :8765", "--listen"),
        ("serve --open --listen 127.0.0.1:", "--listen"),
        ("serve --open --listen 127.0.0.1:65536", "--listen"),
        ("serve --open --listen 127.0.0.1:-1", "--listen"),
        ("serve --open --listen 127.0.0.1:٣", "--listen"),
        ("serve --open --betting-ms 99", "--betting-ms"),
        ("serve --open --betting-ms 1.5", "--betting-ms"),
        ("serve --open --betting-ms 600001", "--betting-ms"),
        ("serve --open --card-ms -1", "--card-ms"),
        ("serve --open --result-ms -1", "--result-ms"),
        ("serve --open --grace-ms soon", "--grace-ms"),
        ("serve --open --cut-card 10", "--cut-card"),
        ("serve --open --cut-card 201", "--cut-card"),
        ("serve --open --play-money -1", "--play-money"),
        ("serve --open --play-money 1000000000001", "--play-money"),
        ("serve --open --seats-max 0", "--seats-max"),
        ("serve --open --seats-max 5001", "--seats-max"),
        ("serve --open --chips 100,many", "--chips"),
        ("serve --open --chips 0,100", "--chips"),
        ("serve --open --chips 5", "--chips"),
        ("serve --open --minimum 10001", "--minimum"),
        ("serve --open --maximum 99", "--minimum"),
        ("serve --open --tie-maximum 0", "--tie-maximum"),
        ("serve --open --table-maximum 99", "--table-maximum"),
        ("serve --open --win-max -1", "--win-max"),
        ("serve --open --maximum 1000000000000 --table-maximum 0", "--maximum"),
        ("serve --open --demo-bots 101", "--demo-bots"),
        ("serve --open --log-level loud", "--log-level"),
        ("serve --open --data=", "--data"),
        ("serve --open --store nonsense", "--store"),
        ("serve --open --store http://127.0.0.1:6379", "--store"),
        ("serve --open --listen 127.0.0.1:0 --store redis://127.0.0.1:port", "port"),
        ("serve --stacked-shoe lines.txt", "--stacked-shoe"),
        ("serve --open --stacked-shoe /nowhere/lines.txt", "/nowhere/lines.txt"),
        ("serve --open --stacked-shoe /", "/"),
    ],
)
def test_a_bad_flag_is_one_line_and_exit_2(capfd: pytest.CaptureFixture[str], flags: str, named: str) -> None:
    assert main(flags.split()) == 2
    assert_one_line(capfd.readouterr().err, named)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "no round"),
        (b"# nothing\n\n", "no round"),
        (b"K 9 K K\n2 T\n", "line 2: too few cards"),
        (b"K 9 K K 5\n", "line 1: the round is over after 4 cards"),
        (b"K 9 K X\n", "line 1: unknown card"),
        (b"K 9 K Kx\n", "line 1: unknown card"),
        (b"K 9 K \xff\n", "not text"),
        (b"9 " * 50_000, "line 1"),
        (b"X" * 50_000, "line 1: unknown card"),
    ],
)
def test_a_bad_stacked_file_is_told_with_its_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, named: str
) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(content)
    assert main(["serve", "--open", "--stacked-shoe", str(file)]) == 2
    err = capfd.readouterr().err
    assert_one_line(err, "--stacked-shoe", str(file), named)
    assert len(err) < 600


# --- a world that does not fit ----------------------------------------------------------------------------------------


async def test_what_is_taken_or_away_ends_the_start_promptly(tmp_path: Path, listening: int) -> None:
    """A busy port, a host that is none, a directory in use or impossible, stores that are away, deaf or no store."""
    not_a_directory = tmp_path / "file"
    not_a_directory.touch()
    free = "127.0.0.1:0"
    async with own_node(tmp_path / "used") as other:
        cases = {
            f"busy port {listening}": ("--listen", f"127.0.0.1:{listening}", "--data", str(tmp_path / "a")),
            "port of a node": ("--listen", f"127.0.0.1:{other.port}", "--data", str(tmp_path / "b")),
            "no such host": ("--listen", "nowhere.invalid:0", "--data", str(tmp_path / "c")),
            "directory in use": ("--listen", free, "--data", str(tmp_path / "used")),
            "not a directory": ("--listen", free, "--data", str(not_a_directory)),
            "impossible directory": ("--listen", free, "--data", "/proc/nowhere"),
            "nobody listens": ("--listen", free, "--store", f"redis://127.0.0.1:{_free_port()}"),
            "nobody answers": ("--listen", free, "--store", f"redis://127.0.0.1:{listening}"),
            "no such store": ("--listen", free, "--store", "redis://nowhere.invalid:6379"),
            "no store but a node": ("--listen", free, "--store", f"redis://127.0.0.1:{other.port}"),
            "socket away": ("--listen", free, "--store", f"unix://{tmp_path}/nowhere.sock"),
        }
        ended = dict(zip(cases, await asyncio.gather(*(serve(*flags) for flags in cases.values())), strict=True))
        assert (await asyncio.to_thread(other.stop)) == 0
    for name, (code, out, err, took_s) in ended.items():
        assert (code, out) == (2, ""), (name, err)
        assert_one_line(err)
        assert took_s < START_S_MAX, (name, took_s)
    assert f":{listening}" in ended[f"busy port {listening}"].err
    assert "nowhere.invalid" in ended["no such host"].err
    assert f"process {other.pid}" in ended["directory in use"].err
    assert "Traceback" not in "".join(other.output)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_refused_start_leaves_the_tables_alone(tmp_path: Path, listening: int) -> None:
    """A node that finds its port taken has claimed nothing: the next start deals at once."""
    refused = await serve("--listen", f"127.0.0.1:{listening}", "--data", str(tmp_path / "data"))
    assert refused.code == 2
    async with own_node(tmp_path / "data") as node, await RawClient.arrive(node.url) as client:
        await client.join("royal-1", 100)
        await client.betting("royal-1")
        async with Driver(f"unix://{node.data / 'valkey.sock'}") as store:
            assert await store.call("HGET", table_key("royal-1"), "epoch") == b"1"


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


async def test_ctrl_c_ends_with_0_and_no_word_of_error(tmp_path: Path) -> None:
    """Also while fifty sockets are open: some seated with bets, some in mid-handshake, some that never read."""
    node = NodeProcess(tmp_path / "data")
    await asyncio.to_thread(node.start)
    clients = [await RawClient.arrive(node.url, f"Guest {n}") for n in range(40)]
    for n, client in enumerate(clients):
        if n % 2:
            await client.join("royal-1", 1_000)
    deaf = [await RawClient.arrive(node.url, f"Deaf {n}", receive_bytes=4_096) for n in range(5)]
    answers = []
    for client in deaf:
        await client.call("watch", table="royal-1")
        client.pause_reading()
        for _ in range(400):
            answers.append(await client.begin("list_tables"))
    silent = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(5)]
    await clients[1].betting("royal-1")
    await clients[1].place("royal-1", "player", 100)
    started_s = time.monotonic()
    assert await asyncio.to_thread(node.stop) == 0
    assert time.monotonic() - started_s < 10
    assert [line for line in node.output if "warning" in line or "error" in line or "Traceback" in line] == []
    for client in clients:
        assert await client.closed() == 4000
    for client in deaf:
        await client.drop()
    for connection in silent:
        connection.close()


async def test_ctrl_c_during_the_start_ends_with_0_too(tmp_path: Path, listening: int) -> None:
    """At any moment after the interpreter is up, and while a store does not answer."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def start_and_interrupt(number: int) -> Ended:
        flags = ("--listen", "127.0.0.1:0", "--data", str(tmp_path / f"data{number}"), "--log-level", "warning")
        return await serve(*flags, interrupt_after_s=chance.uniform(0.02, 0.8))

    deaf_store = ("--listen", "127.0.0.1:0", "--store", f"redis://127.0.0.1:{listening}")
    for pair in range(4):
        for ended in await asyncio.gather(start_and_interrupt(2 * pair), start_and_interrupt(2 * pair + 1)):
            assert (ended.code, ended.err) == (0, ""), ended
    ended = await serve(*deaf_store, interrupt_after_s=1.0)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert ended.took_s < 2.5  # and not until the call to the store is given up


async def test_sigterm_is_the_same_as_ctrl_c(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path / "data")
    await asyncio.to_thread(node.start)
    client = await RawClient.arrive(node.url)
    node.signal(signal.SIGTERM)
    assert await client.closed() == 4000
    assert await asyncio.to_thread(node.wait) == 0
    assert not [line for line in node.output if "error" in line or "Traceback" in line]
