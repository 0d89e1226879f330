"""The bundled Valkey, with real processes that are really killed."""

import asyncio
import contextlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as StoreGone

from server.embedded import DataDirectoryBusy, EmbeddedStoreFailed, EmbeddedValkey, config, directory, valkey
from server.embedded.inline import ask

ROOT = Path(__file__).resolve().parents[2]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prctl")


@contextlib.asynccontextmanager
async def driver(url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(url, decode_responses=True, retry=Retry(NoBackoff(), 0))
    try:
        yield client
    finally:
        await client.aclose()


class Node:
    """A process of its own that holds the store."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, valkey_pid: int) -> None:
        self.process, self.url, self.valkey_pid = process, url, valkey_pid

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


StartNode = Callable[..., Awaitable[Node]]


@pytest.fixture
async def start_node() -> AsyncIterator[StartNode]:
    """Starts nodes, and sees to it that a failed test leaves none of their processes behind."""
    started: list[Node] = []

    async def start(directory: Path, *options: str) -> Node:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.embedded_node", str(directory), *options),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        told = json.loads(await asyncio.wait_for(process.stdout.readline(), 20))
        started.append(Node(process, told["url"], told["pid"]))
        return started[-1]

    yield start
    for node in started:
        with contextlib.suppress(ProcessLookupError):
            await node.kill()
        if alive(node.valkey_pid):
            os.kill(node.valkey_pid, SIGKILL)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # an orphan waits for whoever inherited it; it writes nothing any more


async def ends(pid: int, within_s: float = 10) -> bool:
    give_up_at = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < give_up_at:
        await asyncio.sleep(0.01)
    return not alive(pid)


async def test_the_settings_are_those_that_lose_nothing(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path / "house") as url, driver(url) as store:
        settings = await store.config_get()
        wanted = {
            "appendonly": "yes",
            "appendfsync": "always",
            "aof-use-rdb-preamble": "yes",
            "aof-load-truncated": "yes",
            "no-appendfsync-on-rewrite": "no",
            "save": "",
            "maxmemory-policy": "noeviction",
            "port": "0",
        }
        assert {name: settings[name] for name in wanted} == wanted


async def test_only_this_user_can_reach_directory_socket_and_files(tmp_path: Path) -> None:
    house = tmp_path / "house"
    async with EmbeddedValkey(house) as url, driver(url) as store:
        await store.set("stack", 1)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [house, *house.rglob("*")]}
    assert modes["house"] == 0o700
    assert modes["valkey.sock"] == 0o700
    open_to_others = {name: oct(mode) for name, mode in modes.items() if mode & 0o077 and name != "valkey.conf"}
    assert not open_to_others


async def test_a_restart_goes_on_with_the_same_values(tmp_path: Path) -> None:
    store = EmbeddedValkey(tmp_path)
    for expected in (1, 2, 3):
        async with store as url, driver(url) as client:
            assert await client.incr("rounds") == expected
        assert store.pid is None
    assert "bye bye" in (tmp_path / "valkey.log").read_text()


async def test_stopping_twice_or_unstarted_is_harmless(tmp_path: Path) -> None:
    store = EmbeddedValkey(tmp_path)
    await store.stop()
    await store.start()
    await store.stop()
    await store.stop()
    with pytest.raises(RuntimeError):
        _ = store.url


async def test_starting_twice_is_our_own_mistake_and_disturbs_nothing(tmp_path: Path) -> None:
    store = EmbeddedValkey(tmp_path)
    async with store as url, driver(url) as client:
        with pytest.raises(RuntimeError):
            await store.start()
        assert await client.ping()


@pytest.mark.parametrize("name", ["with space", 'quo"te', "per%20cent", "back\\slash", "ümläut", "#hash", "-dash"])
async def test_any_directory_name_is_found_by_the_driver(tmp_path: Path, name: str) -> None:
    async with EmbeddedValkey(tmp_path / name) as url, driver(url) as client:
        assert await client.ping()
        assert (tmp_path / name / "appendonlydir").is_dir()


async def test_the_second_node_on_a_directory_is_refused(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as url, driver(url) as client:
        with pytest.raises(DataDirectoryBusy) as refusal:
            await EmbeddedValkey(tmp_path).start()
        assert refusal.value.holder == str(os.getpid())
        assert str(tmp_path) in str(refusal.value)
        assert await client.ping()
    async with EmbeddedValkey(tmp_path):
        pass


async def test_the_directory_is_locked_between_processes(tmp_path: Path, start_node: StartNode) -> None:
    node = await start_node(tmp_path)
    with pytest.raises(DataDirectoryBusy) as refusal:
        await EmbeddedValkey(tmp_path).start()
    assert refusal.value.holder == str(node.process.pid)


async def test_of_many_that_start_at_once_one_wins(tmp_path: Path) -> None:
    stores = [EmbeddedValkey(tmp_path) for _ in range(8)]
    answers = await asyncio.gather(*(store.start() for store in stores), return_exceptions=True)
    try:
        assert sum(isinstance(answer, str) for answer in answers) == 1
        assert sum(isinstance(answer, DataDirectoryBusy) for answer in answers) == 7
    finally:
        for store in stores:
            await store.stop()


@on_linux
async def test_the_terminals_interrupt_reaches_the_node_alone(tmp_path: Path, start_node: StartNode) -> None:
    node = await start_node(tmp_path, "--no-launcher")
    assert os.getsid(node.valkey_pid) == node.valkey_pid != os.getsid(node.process.pid)
    os.killpg(node.process.pid, SIGINT)  # what Ctrl-C does
    await node.process.wait()
    assert await ends(node.valkey_pid)
    assert "bye bye" in (tmp_path / "valkey.log").read_text()


@on_linux
async def test_valkey_ends_with_a_killed_node(tmp_path: Path, start_node: StartNode) -> None:
    node = await start_node(tmp_path)
    await node.kill()
    assert await ends(node.valkey_pid)
    assert "bye bye" in (tmp_path / "valkey.log").read_text()


@on_linux
@pytest.mark.parametrize("orphan_hangs", [False, True], ids=["well", "hanging"])
async def test_an_orphan_is_ended_before_a_new_one_starts(
    tmp_path: Path, start_node: StartNode, orphan_hangs: bool
) -> None:
    node = await start_node(tmp_path, "--no-launcher")
    async with driver(node.url) as client:
        await client.set("stack", 500)
    await node.kill()
    assert alive(node.valkey_pid)
    if orphan_hangs:
        os.kill(node.valkey_pid, SIGSTOP)
    async with EmbeddedValkey(tmp_path, stop_ms_max=500) as url, driver(url) as client:
        assert not alive(node.valkey_pid)
        assert await client.get("stack") == "500"


@on_linux
async def test_ending_an_orphan_leaves_other_houses_alone(tmp_path: Path, start_node: StartNode) -> None:
    node = await start_node(tmp_path / "one", "--no-launcher")
    async with EmbeddedValkey(tmp_path / "two") as url, driver(url) as other:
        await node.kill()
        assert directory.orphans(tmp_path / "one") == [node.valkey_pid]
        async with EmbeddedValkey(tmp_path / "one"):
            assert not alive(node.valkey_pid)
            assert await other.ping()


@on_linux
async def test_a_node_that_finds_its_predecessors_valkey_still_stopping_waits(
    tmp_path: Path, start_node: StartNode
) -> None:
    node = await start_node(tmp_path)
    os.kill(node.valkey_pid, SIGSTOP)
    await node.kill()
    store = EmbeddedValkey(tmp_path)
    start = asyncio.create_task(store.start())
    await asyncio.sleep(0.3)
    assert not start.done()
    assert alive(node.valkey_pid)
    os.kill(node.valkey_pid, SIGCONT)
    await start
    assert not alive(node.valkey_pid)
    await store.stop()


@pytest.mark.parametrize("rewriting", [False, True], ids=["writing", "rewriting"])
async def test_acknowledged_writes_survive_a_killed_valkey(tmp_path: Path, rewriting: bool) -> None:
    store = EmbeddedValkey(tmp_path)
    acknowledged = dict.fromkeys(range(8), 0)

    async def write(url: str, patron: int) -> None:
        async with driver(url) as client:
            while True:
                acknowledged[patron] = await client.incr(f"acts:{patron}")

    try:
        for kill in range(4):
            url = await store.start()
            async with driver(url) as client:
                for patron, count in acknowledged.items():
                    kept = int(await client.get(f"acts:{patron}") or 0)
                    assert count <= kept <= count + 1, f"patron {patron}, after kill {kill}"
                    acknowledged[patron] = kept
                writers = [asyncio.create_task(write(url, patron)) for patron in acknowledged]
                before = sum(acknowledged.values())
                while sum(acknowledged.values()) < before + 200:
                    await asyncio.sleep(0.005)
                if rewriting:
                    await client.bgrewriteaof()
            assert store.pid is not None
            os.kill(store.pid, SIGKILL)
            for end in await asyncio.gather(*writers, return_exceptions=True):
                assert isinstance(end, StoreGone)
            assert "ended with code -9" in str(await store.exited())
    finally:
        await store.stop()


async def test_a_cut_off_tail_is_left_out(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as url, driver(url) as client:
        await client.set("stack", 500)
    newest = next((tmp_path / "appendonlydir").glob("*.incr.aof"))
    with newest.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$5\r\nstack\r\n$3\r\n9")
    async with EmbeddedValkey(tmp_path) as url, driver(url) as client:
        assert await client.get("stack") == "500"


async def test_a_spoilt_file_is_refused_with_valkeys_own_words(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as url, driver(url) as client:
        await client.set("stack", 500)
    newest = next((tmp_path / "appendonlydir").glob("*.incr.aof"))
    newest.write_bytes(b"rubbish\r\n" + newest.read_bytes())
    for _ in range(2):  # the refusal held nothing back
        with pytest.raises(EmbeddedStoreFailed) as refusal:
            await EmbeddedValkey(tmp_path).start()
        assert "Bad file format" in refusal.value.last_log_line
        assert "Bad file format" in str(refusal.value)


async def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedStoreFailed, match="file"):
        await EmbeddedValkey(tmp_path / "file").start()


async def test_a_store_that_loads_for_long_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedValkey(tmp_path) as url, driver(url) as client:
        await client.mset({f"stack:{patron}": patron for patron in range(2000)})
        await client.bgrewriteaof()
        while (await client.info("persistence"))["aof_rewrite_in_progress"]:
            await asyncio.sleep(0.01)
    slow = (("key-load-delay", "1000"), ("loading-process-events-interval-bytes", "1024"))
    monkeypatch.setattr(config, "SETTINGS", (*config.SETTINGS, *slow))
    answers = []

    async def noted(socket_path: Path, words: bytes) -> bytes:
        answers.append(await ask(socket_path, words))
        return answers[-1]

    monkeypatch.setattr(valkey, "ask", noted)
    async with EmbeddedValkey(tmp_path, ready_ms_max=1_000) as url, driver(url) as client:
        assert await client.dbsize() == 2000
    assert any(answer.startswith(b"-LOADING") for answer in answers)


async def test_a_store_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "command", lambda _binary, _config: ["/bin/sleep", "100"])
    store = EmbeddedValkey(tmp_path, ready_ms_max=100)
    with pytest.raises(EmbeddedStoreFailed, match="not ready after 100 ms"):
        await store.start()
    monkeypatch.undo()
    async with EmbeddedValkey(tmp_path):  # what was held is free again
        pass


@on_linux
async def test_a_cancelled_start_leaves_nothing_behind(tmp_path: Path) -> None:
    for delay_ms in (0, 1, 5, 20, 40):
        store = EmbeddedValkey(tmp_path)
        start = asyncio.create_task(store.start())
        await asyncio.sleep(delay_ms / 1000)
        start.cancel()
        try:
            await start
            await store.stop()  # it was faster than the cancellation
        except asyncio.CancelledError:
            assert store.pid is None
        assert not directory.orphans(tmp_path)
        async with EmbeddedValkey(tmp_path):
            pass


async def test_a_deep_directory_gets_its_socket_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="deep-") as places:
        monkeypatch.setattr(tempfile, "tempdir", places)
        deep = tmp_path / ("deep" * 30)
        store = EmbeddedValkey(deep)
        async with store as url, driver(url) as client:
            await client.set("stack", 500)
            assert url.startswith(f"unix://{places}/punto-")
            (place,) = Path(places).iterdir()
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
            assert store.pid is not None
            os.kill(store.pid, SIGKILL)
            await store.exited()
            assert await store.start() == url
        assert not list(Path(places).iterdir())
        async with store as url, driver(url) as client:
            assert await client.get("stack") == "500"


@on_linux
async def test_the_place_of_a_killed_node_is_used_again(tmp_path: Path, start_node: StartNode) -> None:
    deep = tmp_path / ("deep" * 30)
    node = await start_node(deep, "--no-launcher")
    await node.kill()
    async with EmbeddedValkey(deep) as url, driver(url) as client:
        assert url == node.url
        assert not alive(node.valkey_pid)
        assert await client.ping()
    assert not Path(node.url.removeprefix("unix://")).parent.exists()


async def test_a_place_that_others_can_enter_is_not_trusted(tmp_path: Path) -> None:
    deep, trap = tmp_path / ("deep" * 30), tmp_path / "trap"
    deep.mkdir()
    trap.mkdir(mode=0o755)
    (deep / "socket").write_bytes(os.fsencode(trap / "valkey.sock"))
    async with EmbeddedValkey(deep) as url:
        assert str(trap) not in url


@on_linux
async def test_a_copied_directory_does_not_take_the_place_of_the_one_it_was_copied_from(tmp_path: Path) -> None:
    deep, copy = tmp_path / ("deep" * 30), tmp_path / ("copy" * 30)
    async with EmbeddedValkey(deep) as url, driver(url) as client:
        await client.set("stack", 500)
        shutil.copytree(deep, copy)
        async with EmbeddedValkey(copy) as other_url, driver(other_url) as other_client:
            assert other_url != url
            await other_client.set("stack", 1)
        async with driver(url) as fresh_client:
            assert await fresh_client.get("stack") == "500"


async def test_a_long_log_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "LOG_BYTES_MAX", 1000)
    for _ in range(3):
        async with EmbeddedValkey(tmp_path):
            pass
    assert (tmp_path / "valkey.log.1").stat().st_size > 1000
    assert (tmp_path / "valkey.log").stat().st_size < 10_000
