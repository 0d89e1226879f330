"""`punto` itself: what is asked wrongly, readers that go away, Ctrl-C, and output that cannot be written."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk import cli
from client_sdk.commands import odds
from tests.support.cli_run import punto

_ROOT = Path(__file__).parents[2]
_PUNTO = [sys.executable, "-m", "client_sdk.cli"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("unknown",),
        ("deal",),
        ("deal", "--variant", "royal"),
        ("deal", "--variant"),
        ("odds", "--js"),
        ("odds", "extra"),
        ("odds", "two\nlines"),
        ("--json", "odds"),
        ("simulate", "--variant", "royal"),
        ("simulate", "--rounds", "5"),
        ("simulate", "--variant", "nobody", "--rounds", "5"),
    ],
)
def test_asked_wrongly_is_one_line(words: tuple[str, ...]) -> None:
    done = punto(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("punto: ")
    assert done.stderr.count("\n") == 1


def test_words_that_are_no_text_are_refused_like_others() -> None:
    command = [*map(os.fsencode, _PUNTO), b"deal", b"--variant", b"\xff\xfe", b"--cards", b"9"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"punto: unknown variant ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", [("--help",), ("deal", "--help"), ("odds", "--help"), ("simulate", "--help")])
def test_help(words: tuple[str, ...]) -> None:
    done = punto(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: punto")


def test_a_reader_that_goes_away_is_no_failure_to_tell() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as gone:
        command = [*_PUNTO, "deal", "--variant", "royal", "--cards", "9 9 9 9"]
        done = subprocess.run(command, cwd=_ROOT, stdout=gone, stderr=subprocess.PIPE, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_output_that_cannot_be_written_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        command = [*_PUNTO, "deal", "--variant", "royal", "--cards", "9 9 9 9"]
        done = subprocess.run(command, cwd=_ROOT, stdout=full, stderr=subprocess.PIPE, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"punto: ")
    assert done.stderr.count(b"\n") == 1


def test_ctrl_c_is_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(odds, "run", interrupted)
    assert cli.main(["odds"]) == 130
    assert capsys.readouterr() == ("", "")


def test_every_command_is_listed_under_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    help_text = capsys.readouterr().out
    assert all(name in help_text for name in cli.COMMANDS)


def test_main_returns_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["deal", "--variant", "royal", "--cards", "9 8 T T"]) == 0
    assert capsys.readouterr().out.startswith("player   9 T")
    assert cli.main(["deal"]) == 2
    assert capsys.readouterr().err.startswith("punto: ")
