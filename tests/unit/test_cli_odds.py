"""`punto odds`: every number it prints against the exact ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_run import punto

_ROOT = Path(__file__).parents[2]


def odds(*words: str) -> str:
    done = punto("odds", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def printed() -> Any:
    return json.loads(odds("--json"))


@pytest.fixture(scope="module")
def exact() -> Any:
    return json.loads((_ROOT / "tests" / "vectors" / "odds.json").read_text(encoding="utf-8"))


def test_counts_of_every_deck_number(printed: Any, exact: Any) -> None:
    assert list(printed["decks"]) == ["1", "2", "4", "6", "8"]
    for decks, expected in exact["decks"].items():
        counts = printed["decks"][decks]
        assert {name: counts[name] for name in expected["combinations"]} == expected["combinations"]
        assert counts["cards"] == expected["cardsPerRound"]["combinations"]
        assert counts["naturals"] == expected["natural"]["combinations"]
        assert round(counts["pair"] / counts["total"], 12) == expected["pairs"]["probability"]["playerPair"]


def test_every_bet_of_every_variant(printed: Any, exact: Any) -> None:
    pays = {
        "royal": {"player": "1:1", "banker": "1:1 less 5% of the win", "tie": "8:1 (the same as 9 for 1)"},
        "four-deck": {"player": "1:1", "banker": "1:1 less 5% of the win", "tie": "8:1 (the same as 9 for 1)"},
        "punto-banco": {"player": "1:1", "banker": "1:1 less 5% of the win", "tie": "8:1 (the same as 9 for 1)"},
        "stand-off": {"player": "1:1", "banker": "1:1 less 5% of the win"},
        "red-lounge": {"player": "1:1", "banker": "1:1 less 4% of the win", "tie": "9:1"},
    }
    assert printed["variants"].keys() == pays.keys()
    for name, variant in printed["variants"].items():
        decks = str(variant["decks"])
        assert variant["counts"] == exact["decks"][decks]["combinations"]
        expected = {(bet["bet"], bet["pays"]): bet for bet in exact["bets"][decks]}
        assert variant["spots"].keys() == pays[name].keys()
        for spot, told in variant["spots"].items():
            bet = expected[spot, pays[name][spot]]
            assert told == {
                "probability": bet["winProbability"],
                "rtp": bet["rtp"],
                "rtp_exact": bet["rtpExact"],
                "house_edge": bet["houseEdge"],
            }


def test_the_stated_return_stands_beside_the_computed_ones(printed: Any) -> None:
    assert {name for name, variant in printed["variants"].items() if "stated_rtp" in variant} == {"royal"}
    assert printed["variants"]["royal"]["stated_rtp"] == "98.85"
    text = odds()
    lines = [line.split() for line in text.splitlines()]
    assert ["royal", "8", "player", "44.6247", "98.7649", "1.2351", "98.85"] in lines
    assert ["royal", "8", "banker", "45.8597", "98.9421", "1.0579", "98.85"] in lines
    assert ["royal", "8", "tie", "9.5156", "85.6404", "14.3596"] in lines
    assert ["red-lounge", "1", "banker", "45.9624", "99.4479", "0.5521"] in lines
    assert "royal states 98.85: the plain mean" in text
    assert len(lines) == 1 + 14 + 2
