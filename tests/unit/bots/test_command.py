"""`punto bots` on the command line: what it takes, and one line for what it does not."""

import argparse
import os
import resource
import subprocess
import sys
from dataclasses import replace
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
        "--processes 0",
        "--processes 65",
        "--ramp-s 0",
        "--ramp-s soon",
        "--late-joiners 2",
        "--droppers 2",
        "--slow-readers 2",
        "--droppers 1 --slow-readers 1",
    ],
)
def test_bad_words_are_refused_by_name(words: str) -> None:
    with pytest.raises(BadArgument) as refused:
        orders(*words.split())
    assert len(str(refused.value).splitlines()) == 1


def test_the_words_of_a_load() -> None:
    words = "--patrons 10 --processes 4 --ramp-s 3 --late-joiners 2 --droppers 5 --slow-readers 5 --last-second"
    told = orders(*words.split())
    assert (told.processes, told.ramp_ms, told.last_second) == (4, 3_000, True)
    habits = told.habits
    assert (len(habits.late), len(habits.droppers), len(habits.slow_readers)) == (2, 5, 5)
    assert not habits.droppers & habits.slow_readers
    assert habits == replace(told, share=3).habits


def test_every_patron_is_in_one_share() -> None:
    told = orders("--patrons", "11", "--processes", "3")
    shares = [replace(told, share=share).numbers for share in range(3)]
    assert sorted(number for share in shares for number in share) == list(range(1, 12))


def test_few_patrons_are_one_process_and_many_are_no_more_than_there_are_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    told = [orders("--patrons", str(patrons)).processes for patrons in (1, 500, 501, 20_000)]
    assert told == [1, 1, 2, 4]
    assert orders("--patrons", "2", "--processes", "9").processes == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--chaos", "1"], "process 1 is no punto-server of ours"),
        (["--chaos", "x"], "the id of the process"),
        (["--chaos", "1", "--url", "ws://192.0.2.1:8765"], "192.0.2.1 is another one"),
        (["--chaos-every-s", "3"], "--chaos-every-s goes with --chaos"),
    ],
)
def test_what_may_not_be_killed_is_refused_in_one_line(words: list[str], said: str) -> None:
    ended = punto_bots(*RIGHT, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


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
