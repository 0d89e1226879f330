"""`punto deal`: rounds, bets, and one line for whatever is asked wrongly."""

import json
from typing import Any

import pytest

from tests.support.cli_run import Done, punto


def deal(*words: str) -> Done:
    return punto("deal", *words)


def dealt(variant: str, cards: str, *bets: str) -> Any:
    options = [word for bet in bets for word in ("--bet", bet)]
    done = deal("--variant", variant, "--cards", cards, "--json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_one_json_object_tells_the_whole_round() -> None:
    assert dealt("royal", "2 T 2 6 2 9", "tie=7", "player=100") == {
        "player": {"cards": ["2", "2", "2"], "total": 6, "natural": False},
        "banker": {"cards": ["T", "6"], "total": 6, "natural": False},
        "outcome": "tie",
        "cards_used": 5,
        "bets": {
            "player": {"stake": 100, "payout": 100, "commission": 0, "result": "push"},
            "tie": {"stake": 7, "payout": 63, "commission": 0, "result": "win"},
        },
    }


def test_cards_are_read_in_any_spelling() -> None:
    told = dealt("red-lounge", "9S,10h kd T", "player=3", "banker=9007199254740991")
    assert told["player"] == {"cards": ["9s", "Kd"], "total": 9, "natural": True}
    assert told["banker"]["cards"] == ["Th", "T"]
    assert told["bets"]["player"]["payout"] == 6
    assert told["bets"]["banker"] == {"stake": 2**53 - 1, "payout": 0, "commission": 0, "result": "lose"}


def test_same_cards_whatever_is_bet() -> None:
    rounds = [dealt("royal", "4 3 4 K 9 2", *bets) for bets in ((), ("player=5",), ("banker=5", "tie=900"))]
    for told in rounds:
        told.pop("bets")
    assert rounds[0] == rounds[1] == rounds[2]


def test_a_banker_win_pays_less_its_commission() -> None:
    assert dealt("royal", "2 9 3 K", "banker=101")["bets"]["banker"] == {
        "stake": 101,
        "payout": 196,
        "commission": 6,
        "result": "win",
    }


def test_a_text_for_people() -> None:
    done = deal("--variant", "four-deck", "--cards", "Ah 9d 3c Ks", "--bet", "banker=100", "--bet", "tie=5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "player   Ah 3c    total 4",
        "banker   9d Ks    total 9 natural",
        "outcome  banker, 4 cards",
        "bet      banker 100: win, 195 back after 5 commission",
        "bet      tie 5: lose, 0 back",
    ]


@pytest.mark.parametrize(
    ("variant", "cards", "bets", "says"),
    [
        ("royal", "9 9 9", [], "too few cards: 3"),
        ("royal", "", [], "too few cards: 0"),
        ("royal", "2 T 2 6", [], "too few cards: 4"),
        ("royal", "9 9 9 9x", [], "unknown card '9x'"),
        ("royal", "9 9 9 9 1", [], "unknown card '1'"),
        ("Royal", "9 9 9 9", [], "unknown variant 'Royal'"),
        ("two\nlines", "9 9 9 9", [], "unknown variant 'two\\nlines'"),
        ("royal", "9 9 9 9", ["pair=5"], "unknown spot 'pair'"),
        ("royal", "9 9 9 9", ["PLAYER=5"], "unknown spot 'PLAYER'"),
        ("royal", "9 9 9 9", ["player"], "SPOT=AMOUNT"),
        ("royal", "9 9 9 9", ["player="], "amount on player"),
        ("royal", "9 9 9 9", ["player=0"], "amount on player"),
        ("royal", "9 9 9 9", ["player=-5"], "amount on player"),
        ("royal", "9 9 9 9", ["player=+5"], "amount on player"),
        ("royal", "9 9 9 9", ["player=1_000"], "amount on player"),
        ("royal", "9 9 9 9", ["player=5.0"], "amount on player"),
        ("royal", "9 9 9 9", ["player=5e2"], "amount on player"),
        ("royal", "9 9 9 9", ["player=\u0665"], "amount on player"),
        ("royal", "9 9 9 9", ["player=9007199254740992"], "9007199254740991"),
        ("royal", "9 9 9 9", ["player=" + "9" * 5000], "amount on player"),
        ("royal", "9 9 9 9", ["player=5", "player=5"], "more than one bet on player"),
        ("stand-off", "9 9 9 9", ["tie=5"], "stand-off takes no bet on tie"),
        ("four-deck", "9 9 9 9", ["banker=5", "player=5"], "four-deck takes no bet on player and banker together"),
    ],
)
def test_asked_wrongly_is_one_line(variant: str, cards: str, bets: list[str], says: str) -> None:
    options = [word for bet in bets for word in ("--bet", bet)]
    done = deal("--variant", variant, "--cards", cards, "--json", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("punto: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
