"""`punto verify`: 0 for an honest shoe, 1 and the first difference for any other, 2 and one line for no shoe at all."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from client_sdk import cli
from client_sdk.commands import files
from client_sdk.game.cards import Card
from client_sdk.game.shoe_file import write_shoe
from tests.support.revealed_shoes import revealed_shoe

_ROOT = Path(__file__).parents[2]
HONEST = revealed_shoe(decks=8, number=12)


class Shoes:
    """Files with shoes in them, and what `punto verify` says of one."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = folder / "shoe.json"
        self._capsys = capsys

    def __call__(self, content: str | bytes) -> tuple[int, str, str]:
        self.path.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.verify(str(self.path))

    def verify(self, *words: str) -> tuple[int, str, str]:
        code = cli.main(["verify", *words])
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def shoes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shoes:
    return Shoes(tmp_path, capsys)


def text_of(**changes: Any) -> str:
    return json.dumps(write_shoe(replace(HONEST, **changes)))


def test_an_honest_shoe_holds(shoes: Shoes) -> None:
    code, out, err = shoes(text_of())
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("shoe 12 of table main holds: ")
    assert lines[0].endswith(" of 416 cards")
    assert lines[1] == f"commitment   {HONEST.commitment}"
    assert lines[2] == f"cuts         3, digest {HONEST.cuts_digest}"
    assert lines[3] == f"merkle root  {HONEST.root}"
    assert HONEST.secret.hex() not in out


def test_a_shoe_without_a_root_says_so(shoes: Shoes) -> None:
    one_round = replace(revealed_shoe(cut_card=None), root=None)
    code, out, _ = shoes(json.dumps(write_shoe(one_round)))
    assert code == 0
    assert "merkle root  none was published" in out


def test_it_works_as_a_process(tmp_path: Path) -> None:
    file = tmp_path / "shoe.json"
    file.write_text(text_of())
    command = [sys.executable, "-m", "client_sdk.cli", "verify", str(file)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    file.write_text(text_of(cuts=HONEST.cuts[::-1]))
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("shoe 12 of table main does not hold: the digest of the cuts: told was ")


def test_the_first_difference_is_named(shoes: Shoes) -> None:
    first, second = HONEST.rounds[:2]
    wrong = Card("9h") if second.banker[1] != "9h" else Card("8h")
    rounds = (first, replace(second, banker=(second.banker[0], wrong, *second.banker[2:])), *HONEST.rounds[2:-1])
    code, out, err = shoes(text_of(rounds=rounds))
    assert (code, err) == (1, "")
    right = second.banker[1]
    assert out == (
        f"shoe 12 of table main does not hold: round 102, the banker's card 2: told was {wrong}, found {right}\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "NaN",
        b"\xff\xfe\x00",
        "[" * 100_000,
        "9" * 5000,
        text_of()[:-1],
        text_of() + "}",
        text_of().replace('"decks": 8', '"decks": 0'),
        text_of().replace('"decks": 8', '"decks": 8.0'),
        text_of().replace('"cut_card": 14', '"cut_card": 5'),
        text_of().replace('"decks": 8', '"decks": 8, "decks": 8'),
        text_of().replace('"format": "punto-shoe-1"', '"format": "punto-shoe-9"'),
    ],
)
def test_no_shoe_at_all_is_one_line(shoes: Shoes, content: str | bytes) -> None:
    code, out, err = shoes(content)
    assert (code, out) == (2, "")
    assert err.startswith("punto: ")
    assert err.count("\n") == 1
    assert HONEST.secret.hex() not in err


def test_files_that_cannot_be_read_are_one_line(shoes: Shoes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILE_BYTES_MAX", 1000)
    (tmp_path / "large").write_text(" " * 1001)
    for words in ([str(tmp_path / "none")], [str(tmp_path)], [str(tmp_path / "large")], ["a\x00b"], [], ["a", "b"]):
        code, out, err = shoes.verify(*words)
        assert (code, out) == (2, "")
        assert err.startswith("punto: ")
        assert err.count("\n") == 1
