"""Bots at a real node: whole fleets that check everything, and the demo bots that come and stay."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import client_sdk
from client_sdk.bots.fleet import Fleet
from client_sdk.bots.ledger import LATE_CODES
from client_sdk.bots.orders import Codecs, Orders
from client_sdk.client import Client
from client_sdk.protocol.messages import SeatView
from tests.support.node_process import FAST, NodeProcess, running_node
from tests.support.valkey_server import free_port

TABLES = 5


def punto_bots(*words: str) -> list[str]:
    return [sys.executable, "-m", "client_sdk.cli", "bots", *words]


async def until(condition: Callable[[], Awaitable[bool]], timeout_s: float = 40) -> None:
    async with asyncio.timeout(timeout_s):
        while not await condition():
            await asyncio.sleep(0.05)


# --- fleets ---


def test_forty_bots_play_clean_rounds_at_five_tables(node_url: str, tmp_path: Path) -> None:
    """The command as a person runs it: exit 0, a line that says so, and the report that programs read."""
    report_path = tmp_path / "report.json"
    words = ["--url", node_url, "--patrons", "40", "--rounds", "3", "--codec", "mixed", "--json", str(report_path)]
    ended = subprocess.run(punto_bots(*words), capture_output=True, text=True, timeout=50)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "every check held"
    report = json.loads(report_path.read_text())
    assert (report["patrons"], report["tables"], report["mismatches"], report["lost_acks"]) == (40, TABLES, 0, 0)
    assert report["rounds"] >= 3 * TABLES
    assert report["bets"] >= 40 * 3
    assert report["acks"] >= report["bets"]
    assert 0 < report["ack_ms"]["p50"] <= report["ack_ms"]["max"]
    assert report["skew_ms"]["max"] > 0


@pytest.mark.parametrize(
    ("strategy", "codec", "presses_ready"),
    [("busy", "mixed", True), ("busy", "msgpack", False), ("flat", "json", True)],
)
async def test_every_strategy_agrees_with_the_table(
    node_url: str, strategy: str, codec: Codecs, presses_ready: bool
) -> None:
    """Busy bots try what must be refused: the plain model and the table's own answer are compared at every act."""
    orders = Orders(
        url=node_url,
        patrons=25,
        rounds=4,
        seed=f"{strategy} {codec}",
        strategy=strategy,
        codec=codec,
        presses_ready=presses_ready,
        timeout_ms=45_000,
    )
    fleet = Fleet(orders)
    await fleet.run(asyncio.Event())
    tally = fleet.tally
    assert tally.is_clean, (tally.details, tally.failures)
    if strategy == "busy":
        assert {"NOTHING_TO_UNDO", "LAYOUT_NOT_EMPTY", "CHIP_UNKNOWN"} <= set(tally.refusals)
    else:
        # The machine may be slow, but nothing else is refused.
        assert set(tally.refusals) <= LATE_CODES | {"CUTS_CLOSED", "SHOE_OVER"}


async def test_a_bot_without_money_buys_more_and_then_watches(data_dir: Path) -> None:
    """With stacks of one small bet each loss empties the seat; two of them empty the wallet too."""
    with running_node(data_dir, play_money=200) as poor_house:
        orders = Orders(url=poor_house.url, patrons=12, rounds=12, seed="1", strategy="flat", buy_in=100)
        fleet = Fleet(orders)
        await fleet.run(asyncio.Event())
    tally = fleet.tally
    assert tally.is_clean, (tally.details, tally.failures)
    assert tally.bets < tally.patrons * orders.rounds


async def test_a_run_that_cannot_end_in_time_names_who_hangs(node_url: str) -> None:
    orders = Orders(url=node_url, patrons=2, rounds=1_000, seed="slow", timeout_ms=2_500, tables=("royal-1",))
    fleet = Fleet(orders)
    await fleet.run(asyncio.Event())
    assert not fleet.tally.is_clean
    assert [failure.split(":")[0] for failure in fleet.tally.failures] == ["bot-0001", "bot-0002"]
    assert "of 1000 rounds" in fleet.tally.failures[0]
    assert "not done within" in fleet.tally.failures[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--patrons", "1", "--tables", "nowhere"], "punto: no such table: nowhere"),
        (["--patrons", "5001", "--tables", "royal-1"], "punto: 5001 patrons, but "),
    ],
)
def test_what_the_house_does_not_have_is_one_line(node_url: str, words: list[str], said: str) -> None:
    ended = subprocess.run(
        punto_bots("--url", node_url, "--rounds", "1", *words), capture_output=True, text=True, timeout=30
    )
    if "open files" in ended.stderr:
        pytest.skip("this machine does not allow that many sockets")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1


def test_two_processes_and_difficult_guests_agree_with_the_table(node_url: str, tmp_path: Path) -> None:
    """Late joiners, dropped lines and readers that read nothing for seconds change nothing of what must hold."""
    json_path, page_path = tmp_path / "report.json", tmp_path / "report.html"
    words = ["--url", node_url, "--patrons", "20", "--rounds", "14", "--processes", "2", "--ramp-s", "1"]
    words += ["--droppers", "8", "--slow-readers", "4", "--last-second", "--codec", "mixed", "--seed", "2"]
    words += ["--json", str(json_path), "--html", str(page_path)]
    ended = subprocess.run(punto_bots(*words), capture_output=True, text=True, timeout=90)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads(json_path.read_text())
    assert (report["patrons"], report["tables"], report["processes"]) == (20, TABLES, 2)
    assert report["drops"] > 0
    assert report["reconnects"] >= report["drops"] - 8
    assert report["skew_ms"]["max"] > 0
    assert page_path.read_text().count("<svg") == 4


def test_ctrl_c_ends_all_processes_of_a_run(node_url: str) -> None:
    words = ["--url", node_url, "--patrons", "6", "--rounds", "100000", "--processes", "3"]
    process = subprocess.Popen(punto_bots(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "seats 6/6" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate(timeout=40)
    assert process.returncode == 130, said + complained
    assert "0 of 6 patrons finished" in said
    assert said.splitlines()[-1] == "stopped early; every check held so far"
    assert "Traceback" not in complained


def test_chaos_kills_workers_and_nothing_that_is_told_is_wrong(data_dir: Path, tmp_path: Path) -> None:
    report_path = tmp_path / "report.json"
    node = NodeProcess(data_dir, port=free_port(), flags={**FAST, "workers": 2}).start()
    try:
        words = ["--url", node.url, "--patrons", "8", "--rounds", "8", "--tables", "royal-1,red-lounge-1"]
        words += ["--chaos", str(node.pid), "--chaos-every-s", "2", "--json", str(report_path)]
        ended = subprocess.run(punto_bots(*words), capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert _is_running(node.pid)  # the supervisor itself was left alone
    finally:
        node.stop()
    report = json.loads(report_path.read_text())
    assert report["kills"]
    assert all(kill.startswith("punto-server: worker ") for kill in report["kills"])
    assert ended.stderr.count("punto: killed punto-server: worker ") == len(report["kills"])


def test_ctrl_c_ends_a_run_with_the_report_so_far(node_url: str) -> None:
    words = ["--url", node_url, "--patrons", "5", "--rounds", "100000"]
    process = subprocess.Popen(punto_bots(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "seats 5/5" in process.stderr.readline()  # the first progress line
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate(timeout=15)
    assert process.returncode == 130
    assert "0 of 5 patrons finished" in said
    assert said.splitlines()[-1] == "stopped early; every check held so far"
    assert "Traceback" not in complained


# --- demo bots ---


async def company_at(client: Client, table: str) -> Mapping[str, SeatView]:
    """The bots that are connected at a table now, by patron."""
    watched = await client.watch(table)
    try:
        seats = watched.mirror.crowd.seats or []
        return {seat.patron: seat for seat in seats if seat.bot and seat.connected}
    finally:
        await watched.unwatch()


def demo_bots(node: NodeProcess, tokens: Path) -> subprocess.Popen[str]:
    words = ["--url", node.url, "--per-table", "2", "--tokens", str(tokens)]
    return subprocess.Popen(
        [sys.executable, "-m", "client_sdk.bots.demo", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def stopped(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    process.send_signal(number)
    said, _ = process.communicate(timeout=40)
    return process.returncode, said


async def test_demo_bots_sit_down_bet_stop_and_come_back_as_themselves(node: NodeProcess, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    async with client_sdk.connect(node.url, name="looker-on") as client:
        names = [summary.table for summary in await client.list_tables()]

        async def all_there() -> bool:
            return all([len(await company_at(client, table)) >= 2 for table in names])

        process = demo_bots(node, tokens)
        try:
            await until(all_there)
            before = {table: set(await company_at(client, table)) for table in names}
            watched = await client.watch("royal-1")

            async def somebody_bets() -> bool:
                return any(seat.bets and not seat.ready for seat in watched.mirror.crowd.seats or [])

            await until(somebody_bets)
            assert all(seat.bot for seat in watched.mirror.crowd.seats or [] if seat.bets)
        finally:
            ended = stopped(process, signal.SIGTERM)
        assert ended == (0, "")
        assert stat.S_IMODE(tokens.stat().st_mode) == 0o600

        async def all_gone() -> bool:
            return not any([await company_at(client, table) for table in names])

        await watched.unwatch()
        await until(all_gone)
        process = demo_bots(node, tokens)
        try:
            await until(all_there)
            assert {table: set(await company_at(client, table)) for table in names} == before
        finally:
            assert stopped(process, signal.SIGINT) == (0, "")


async def test_a_demo_bot_that_lost_all_comes_back_as_a_new_guest(data_dir: Path, tmp_path: Path) -> None:
    """A silent seat would be no company; every other demo bot keeps its identity."""
    path = tmp_path / "tokens.json"
    with running_node(data_dir, play_money=100) as poor_house:
        process = demo_bots(poor_house, path)
        try:
            seen: dict[str, set[str]] = {}

            async def one_is_new() -> bool:
                for key, token in (json.loads(path.read_text()) if path.exists() else {}).items():
                    seen.setdefault(key, set()).add(token)
                return any(len(tokens) > 1 for tokens in seen.values())

            await until(one_is_new, timeout_s=50)
            assert len(seen["lobby"]) == 1
        finally:
            ended = stopped(process, signal.SIGTERM)
    assert ended == (0, "")


def test_demo_bots_wait_for_a_server_and_stop_while_they_wait(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as no_house:
        no_house.settimeout(30)
        process = demo_bots(NodeProcess(tmp_path, port=no_house.getsockname()[1]), tmp_path / "tokens.json")
        for _ in range(2):  # they come, are turned away, and come again
            no_house.accept()[0].close()
        assert stopped(process, signal.SIGTERM) == (0, "")


def test_demo_bots_end_with_the_process_that_started_them() -> None:
    """A server that is killed can tell nobody; bots without an owner would come back for ever."""
    bots = [sys.executable, "-m", "client_sdk.bots.demo", "--url", "ws://127.0.0.1:9", "--per-table", "1"]
    starter = (
        "import os, subprocess, sys\n"
        f"bots = subprocess.Popen({bots!r} + ['--parent', str(os.getpid())], stdout=subprocess.DEVNULL)\n"
        "print(bots.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert _is_running(pid)
    parent.kill()
    parent.communicate(timeout=10)

    async def is_gone() -> bool:
        return not _is_running(pid)

    asyncio.run(until(is_gone))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in _state_of(pid)
    except ProcessLookupError:
        return False


def _state_of(pid: int) -> Any:
    return subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True).stdout
