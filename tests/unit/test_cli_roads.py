"""`punto roads`: the shapes of its JSON, a drawing for people, colour on a terminal only, one line for bad letters."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from client_sdk import cli
from client_sdk.commands.roads import OUTCOMES_MAX

_ROOT = Path(__file__).parents[2]
_VECTORS = json.loads((_ROOT / "tests" / "vectors" / "roads.json").read_text(encoding="utf-8"))["vectors"]
_ROADS = {"big_eye_boy": "bigEyeBoy", "small_road": "smallRoad", "cockroach_pig": "cockroachPig"}
_PUNTO = [sys.executable, "-m", "client_sdk.cli", "roads"]


class Punto:
    """`punto roads` within this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, outcomes: str | bytes, *words: str) -> tuple[int, str, str]:
        content = outcomes.encode() if isinstance(outcomes, str) else outcomes
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = cli.main(["roads", *words])
        out, err = self._capsys.readouterr()
        return code, out, err

    def told(self, outcomes: str) -> Any:
        code, out, err = self(outcomes, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def punto(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Punto:
    return Punto(monkeypatch, capsys)


@pytest.mark.parametrize("vector", _VECTORS, ids=[vector["id"] for vector in _VECTORS])
def test_known_shoes(punto: Punto, vector: Any) -> None:
    told = punto.told(vector["outcomes"])
    assert told["bead_plate"] == vector["beadPlate"]
    assert told["big_road"]["grid"] == vector["bigRoad"]["grid"]
    without_pairs = [[*cell[:5], 0, 0] for cell in vector["bigRoad"]["cells"]]  # letters tell no pairs
    assert told["big_road"] == vector["bigRoad"] | {"cells": without_pairs}
    for name, elsewhere in _ROADS.items():
        assert told[name] == vector[elsewhere]
    assert told["next"] == vector["next"]
    assert told["rounds"] == vector["rounds"]
    assert told["counts"].items() <= vector["counts"].items()


def test_the_names_of_the_json(punto: Punto) -> None:
    told = punto.told("BTP")
    assert list(told) == ["rounds", "counts", "bead_plate", "big_road", *_ROADS, "next"]
    assert told["big_road"]["cells"] == [[0, 0, 0, "B", 1, 0, 0], [2, 1, 0, "P", 0, 0, 0]]
    assert told["counts"] == {"player": 1, "banker": 1, "tie": 1}


def test_white_space_means_nothing(punto: Punto) -> None:
    assert punto.told("B P\tT\r\nB\n\n") == punto.told("BPTB")
    assert punto.told("")["bead_plate"] == punto.told(" \n")["big_road"]["grid"] == [""] * 6


@pytest.mark.parametrize("outcomes", ["BPX", "bpt", "B,P", b"B\xff", b"\xfe\xff", "B\x00", "1"])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_bad_letter_is_one_line(punto: Punto, outcomes: str | bytes, words: tuple[str, ...]) -> None:
    code, out, err = punto(outcomes, *words)
    assert (code, out) == (2, "")
    assert err.startswith("punto: unknown outcome ")
    assert err.count("\n") == 1


def test_more_outcomes_than_are_drawn_is_one_line(punto: Punto) -> None:
    for outcomes in ("B" * (OUTCOMES_MAX + 1), "B" + " " * 2**20):
        code, out, err = punto(outcomes)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert str(OUTCOMES_MAX) in err


def test_a_drawing_for_people(punto: Punto) -> None:
    code, out, err = punto("BBTPPB")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "bead plate",
        "B",
        "B",
        "T",
        "P",
        "P",
        "B",
        "",
        "big road (a number counts the ties on its cell)",
        "B P B",
        "B1P .",
        ". . .",
        ". . .",
        ". . .",
        ". . .",
        "",
        "big eye boy",
        "R",
        "R",
        ".",
        ".",
        ".",
        ".",
        "",
        "small road",
        "nothing yet",
        "",
        "cockroach pig",
        "nothing yet",
        "",
        "next, if banker: big eye boy R, small road R, cockroach pig .",
        "next, if player: big eye boy B, small road B, cockroach pig .",
        "6 rounds: player 2, banker 3, tie 1",
    ]


def test_bl_031_ties_before_the_first_decision_are_shown(punto: Punto) -> None:
    """BL-031: the big road shows how many, in its first cell; the cell that comes takes them over."""
    assert punto("TTT")[1].splitlines()[9:11] == ["T3", "."]
    assert punto("T" * 12)[1].splitlines()[9] == "T+"
    assert punto("TTTB")[1].splitlines()[9] == "B3"


def test_a_pipe_gets_it_plain() -> None:
    done = subprocess.run(_PUNTO, cwd=_ROOT, input="BP" * 60, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert " ".join("BP" * 60) in done.stdout


@pytest.mark.parametrize(("settings", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_bl_027_a_terminal_gets_colour_and_the_end_of_each_road(settings: dict[str, str], coloured: bool) -> None:
    """BL-027: a road wider than the terminal shows its last columns."""
    drawn = on_terminal("BP" * 60 + "BBB", {"TERM": "xterm", "COLUMNS": "40", **settings})
    assert ("\x1b[91mB\x1b[0m" in drawn) is coloured
    plain = re.sub(r"\x1b\[\d+m", "", drawn)
    assert ("\x1b" in drawn) is coloured
    lines = plain.splitlines()
    assert max(len(line) for line in lines if line[:2] in ("B ", "P ", ". ")) <= 40
    big_road = lines[9:15]
    assert big_road[0] == " ".join("PB" * 10)
    assert big_road[2].endswith(". B")


def on_terminal(outcomes: str, settings: dict[str, str]) -> str:
    ours, theirs = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | settings
    with subprocess.Popen(_PUNTO, cwd=_ROOT, stdin=subprocess.PIPE, stdout=theirs, env=environment) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(outcomes.encode())
        process.stdin.close()
        drawn = b""
        try:
            while content := os.read(ours, 4096):
                drawn += content
        except OSError:
            pass  # how Linux tells that the other end is gone
        os.close(ours)
    assert process.returncode == 0
    return drawn.decode()
