"""`punto shoe`: known shoes from their secrets, and one line, without the secret, for whatever is asked wrongly."""

import json
from pathlib import Path
from typing import Any

import pytest

from client_sdk import cli

_VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "shuffle.json").read_text(encoding="utf-8"))["vectors"]
_SECRET = bytes(range(32)).hex()


def words_of(vector: Any) -> list[str]:
    words = ["--secret", vector["serverSeed"], "--decks", str(vector["decks"]), "--number", str(vector["shoeNumber"])]
    for cut in vector["clientSeeds"]:
        words += ["--cut", f"{bytes.fromhex(cut['idHex']).decode()}={cut['seedHex']}"]
    return words


def shoe(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["shoe", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("vector", _VECTORS, ids=[vector["title"] for vector in _VECTORS])
def test_known_shoes(capsys: pytest.CaptureFixture[str], vector: Any) -> None:
    code, out, err = shoe(capsys, *words_of(vector), "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert list(told) == ["commitment", "cuts_digest", "merkle_root", "cards"]
    assert told["commitment"] == vector["commitment"]
    assert told["cuts_digest"] == vector["clientMix"]
    assert told["merkle_root"] == vector["merkleRoot"]
    cards = [card.upper() for card in told["cards"]]
    assert len(cards) == 52 * vector["decks"]
    assert (cards[:10], cards[-3:]) == (vector["firstTenCards"], vector["lastThreeCards"])


def test_the_order_of_the_cuts_matters(capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(_VECTORS[0])
    swapped = [*words[:6], *words[8:], *words[6:8]]
    assert sorted(swapped) == sorted(words)
    one, other = (json.loads(shoe(capsys, *order, "--json")[1]) for order in (words, swapped))
    assert one["commitment"] == other["commitment"]
    assert one["cards"] != other["cards"]


def test_an_id_may_hold_any_byte_and_an_equals_sign(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["--secret", _SECRET.upper(), "--decks", "1", "--number", "1", "--json"]
    cuts = ["a=b=00ff", "=", "é=AA", "\udcff=aa"]
    roots = {json.loads(shoe(capsys, *base, "--cut", cut)[1])["merkle_root"] for cut in cuts}
    assert len(roots) == 4


def test_a_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shoe(capsys, *words_of(_VECTORS[0]))
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == f"commitment   {_VECTORS[0]['commitment']}"
    assert lines[2] == f"merkle_root  {_VECTORS[0]['merkleRoot']}"
    assert lines[4].startswith("9s 5h 5d 6d Kc")
    assert len(" ".join(lines[4:]).split()) == 416


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--secret", _SECRET[:-2]], "32 bytes"),
        (["--secret", _SECRET + "00"], "32 bytes"),
        (["--secret", _SECRET[:-1] + "g"], "32 bytes"),
        (["--secret", _SECRET[:-2] + "  "], "32 bytes"),
        (["--secret", ""], "32 bytes"),
        (["--decks", "0"], "number of decks"),
        (["--decks", "256"], "number of decks"),
        (["--number", "0"], "shoe's number"),
        (["--number", str(2**64)], "shoe's number"),
        (["--cut", "alice"], "ID=HEX"),
        (["--cut", "alice=0"], "ID=HEX"),
        (["--cut", "alice=0g"], "ID=HEX"),
        (["--cut", "alice=0 00"], "ID=HEX"),
        (["--cut", "alice=" + "00" * 65536], "ID=HEX"),
        (["--cut", "x" * 65536 + "=00"], "at most 65535 bytes"),
    ],
)
def test_asked_wrongly_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    right = {"--secret": _SECRET, "--decks": "8", "--number": "1"}
    asked = [word for pair in {**right, words[0]: words[1]}.items() for word in pair]
    code, out, err = shoe(capsys, *asked, "--json")
    assert (code, out) == (2, "")
    assert err.startswith("punto: ")
    assert err.count("\n") == 1
    assert says in err
    assert _SECRET[:-2] not in err
    assert len(err) < 300
