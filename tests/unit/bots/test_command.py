"""`punto bots` on the command line: what it takes, and one line for what it does not."""

import argparse
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk.bots import command
from client_sdk.bots.orders import STRATEGY_NAMES, Orders
from client_sdk.bots.strategies import STRATEGIES
from client_sdk.commands.arguments import BadArgument

NOBODY = "ws://127.0.0.1:9"  # the discard port: nothing listens there
RIGHT = ["--url", NOBODY, "--patrons", "1", "--rounds", "1"]


def punto_bots(*words: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "client_sdk.cli", "bots", *words], capture_output=True, text=True, timeout=timeout
    )


def orders(*words: str) -> Orders:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return command.orders_of(parser.parse_args(["bots", *RIGHT, *words]))


def test_the_defaults() -> None:
    told = orders()
    assert (told.url, told.patrons, told.rounds, told.tables) == (NOBODY, 1, 1, ())
    assert (told.strategy, told.codec, told.presses_ready) == ("mixed", "msgpack", True)
    assert (told.buy_in, told.timeout_ms) == (None, None)
    assert told.seed != orders().seed


def test_everything_told() -> None:
    words = "--tables royal-1,stand-off-1 --strategy busy --codec mixed --buy-in 500 --seed 7 --no-ready --timeout 9"
    told = orders(*words.split())
    assert told.tables == ("royal-1", "stand-off-1")
    assert (told.strategy, told.codec, told.presses_ready) == ("busy", "mixed", False)
    assert (told.buy_in, told.timeout_ms, told.seed) == (500, 9_000, "7")


@pytest.mark.parametrize(
    "words",
    [
        "--patrons 0",
        "--patrons -1",
        "--patrons 1.5",
        "--patrons x",
        "--patrons 99999999",
        "--rounds 0",
        "--buy-in 0",
        "--timeout 0",
        "--strategy martingale",
        "--codec xml",
        "--tables royal-1,,",
        "--url http://127.0.0.1:1",
        "--url 127.0.0.1:8765",
        "--url ws://",
        "--url ws://host:port",
        "--url ws://host:99999",
    ],
)
def test_bad_words_are_refused_by_name(words: str) -> None:
    with pytest.raises(BadArgument) as refused:
        orders(*words.split())
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    ended = punto_bots(*RIGHT, "--json", str(tmp_path / "no" / "report.json"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", ["", "--url ws://h:1 --patrons 1", "--patrons zero --rounds 1 --url ws://h:1", "--no"]
)
def test_bad_input_is_one_line_and_exit_2(words: str) -> None:
    ended = punto_bots(*words.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith("punto: ")


def test_a_server_that_is_not_there_is_one_line_and_exit_1() -> None:
    ended = punto_bots(*RIGHT)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [line for line in ended.stderr.splitlines() if line.startswith("punto: cannot reach ws://127.0.0.1:9")]


def test_the_strategies_that_can_be_named_are_those_there_are() -> None:
    assert set(STRATEGY_NAMES) == set(STRATEGIES)


def test_the_other_commands_start_without_a_client() -> None:
    code = "import sys, client_sdk.cli; print(sorted({'asyncio', 'websockets', 'msgspec'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("needed", [1, 10_000_000])
def test_more_sockets_than_a_process_may_have_are_refused(needed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: raised.append(limits))
    if needed > 4096:
        with pytest.raises(BadArgument):
            command._allow_sockets(needed)
    else:
        command._allow_sockets(needed)
        command._allow_sockets(1000)
    assert raised == ([] if needed > 4096 else [(1064, 4096)])
