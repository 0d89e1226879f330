"""`punto replay`: 0 where the rules make every round, 1 with what differs, 2 and one line for what is no round."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from client_sdk import cli
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import FinishedRound


def finished(**changes: Any) -> FinishedRound:
    """PLAYER stands on 6, BANKER draws on 2 and wins with 7."""
    values: dict[str, Any] = {
        "id": "42",
        "round": 42,
        "shoe": 3,
        "commitment": "ab" * 32,
        "first_card": 11,
        "opened_at_ms": 1,
        "closed_at_ms": 2,
        "settled_at_ms": 3,
        "player": ["6c", "Td"],
        "banker": ["Js", "2s", "5h"],
        "outcome": Outcome.BANKER,
        "void_reason": None,
        "totals": {Spot.BANKER: 2_500, Spot.TIE: 100},
        "settled": 1,
        "paid": 4_875,
    }
    return FinishedRound(**(values | changes))


class Rounds:
    """A file with rounds in it, and what `punto replay` says of it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = folder / "rounds.jsonl"
        self._capsys = capsys

    def __call__(self, *rounds: FinishedRound | bytes, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
        lines = [each if isinstance(each, bytes) else msgspec.json.encode(each) for each in rounds]
        self.path.write_bytes(b"\n".join(lines))
        return self.replay(str(self.path), *words)

    def replay(self, *words: str) -> tuple[int, str, str]:
        code = cli.main(["replay", *words])
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Rounds:
    return Rounds(tmp_path, capsys)


def test_a_round_card_by_card(rounds: Rounds) -> None:
    code, out, err = rounds(finished())
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "round 42, shoe 3, from card 12 of the shoe on",
        "  player  6c    total 6",
        "  banker  Js    total 0",
        "  player  Td    total 6",
        "  banker  2s    total 2",
        "  banker  5h    total 7",
        "  outcome banker, player 6, banker 7",
        "  2500 on banker, 100 on tie; 4875 came back to 1 patron",
    ]


def test_a_void_round_tells_why(rounds: Rounds) -> None:
    void = finished(player=["6c", "Td"], banker=["Js"], outcome=None, void_reason="operator", totals={}, paid=0)
    code, out, _ = rounds(void)
    assert code == 0
    assert out.splitlines()[-2:] == ["  void: operator", "  no bets; 0 came back to 1 patron"]


def test_what_json_prints_can_be_read_again(rounds: Rounds) -> None:
    code, out, _ = rounds(finished(), b"", finished(round=43, id="43"), words=("--json",))
    assert code == 0
    assert [msgspec.json.decode(line, type=FinishedRound).round for line in out.splitlines()] == [42, 43]
    rounds.path.write_text(out)
    assert rounds.replay(str(rounds.path), "--json")[1] == out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"outcome": Outcome.TIE}, "after 5 cards the outcome is banker, the record says tie"),
        ({"banker": ["Js", "2s"]}, "after 4 cards the rules deal to banker, the record ends"),
        ({"player": ["6c", "Td", "2h"]}, "after 5 cards the rules deal no more, the record goes on otherwise"),
    ],
)
def test_a_round_that_the_rules_do_not_make(rounds: Rounds, changes: dict[str, Any], why: str) -> None:
    code, out, err = rounds(finished(**changes), finished(round=43, id="43"))
    assert code == 1
    assert err == f"round 42 differs: {why}\n"
    assert out.startswith("round 43")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"{}",
        b"nonsense",
        b"\xff\xfe",
        b"[" * 100_000,
        msgspec.json.encode(finished(player=["1x", "Td"])),
    ],
    ids=["empty", "blank", "no fields", "no JSON", "no text", "deep", "no card"],
)
def test_what_is_no_round_is_one_line(rounds: Rounds, content: bytes) -> None:
    code, out, err = rounds(content)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("punto: ")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("file", "--url", "ws://localhost:1", "--table", "royal-1"),
        ("--url", "ws://localhost:1"),
        ("--table", "royal-1"),
        ("no-such-file",),
        ("--url", "ws://localhost:1", "--table", "royal-1", "--last", "0"),
    ],
)
def test_asked_wrongly_is_one_line(rounds: Rounds, words: tuple[str, ...]) -> None:
    code, out, err = rounds.replay(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
