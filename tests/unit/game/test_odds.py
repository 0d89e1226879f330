"""Exact odds against those of other programs, what misread rules would have given, and live rounds beside them."""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from typing import Any

import pytest

from client_sdk.game import odds, tableau
from client_sdk.game.cards import Card, hand_total
from client_sdk.game.odds import count_rounds, house_edge, pair_probability, probability, rtp
from client_sdk.game.settlement import ForbiddenBet
from client_sdk.game.shoe import CUT_CARD_DEFAULT, play_out, shuffled_shoe
from client_sdk.game.tableau import Outcome, Side
from client_sdk.game.variants import VARIANTS, Spot, variant_named

DECKS = pytest.mark.parametrize("decks", [1, 2, 4, 6, 8])
PAYS = {
    ("player", 500): "1:1",
    ("player", 400): "1:1",
    ("banker", 500): "1:1 less 5% of the win",
    ("banker", 400): "1:1 less 4% of the win",
    ("tie", 8): "8:1 (the same as 9 for 1)",
    ("tie", 9): "9:1",
}
NATURALS = {
    "none": (False, False),
    "player_only": (True, False),
    "banker_only": (False, True),
    "both": (True, True),
}


@DECKS
def test_exact_counts(odds_vectors: Any, decks: int) -> None:
    expected = odds_vectors["decks"][str(decks)]
    counts = count_rounds(decks)
    assert counts.total == expected["combinations"]["total"] < 2**53
    assert {o.value: ways for o, ways in counts.by_outcome().items()} == {
        outcome.value: expected["combinations"][outcome.value] for outcome in Outcome
    }
    by_cards = counts.by(lambda shape: (shape.outcome.value, str(shape.cards)))
    assert by_cards == {
        (outcome, cards): ways for outcome, row in expected["outcomeByCards"].items() for cards, ways in row.items()
    }
    by_naturals = counts.by(lambda shape: (shape.player_natural, shape.banker_natural))
    assert by_naturals == {NATURALS[name]: ways for name, ways in expected["natural"]["combinations"].items()}
    assert pair_probability(decks) == Fraction(expected["pairs"]["playerPairExact"])


def expected_bet(vectors: Any, name: str, spot: Spot) -> Any:
    variant = variant_named(name)
    pays = PAYS[spot.value, variant.tie_pays if spot is Spot.TIE and variant.tie_pays else variant.commission_bp]
    bets = vectors["bets"][str(variant.decks)]
    return next(bet for bet in bets if bet["bet"] == spot and bet["pays"] == pays)


@pytest.mark.parametrize(("name", "spot"), [(name, spot) for name, v in VARIANTS.items() for spot in v.spots])
def test_every_bet_of_every_variant(odds_vectors: Any, name: str, spot: Spot) -> None:
    variant, expected = variant_named(name), expected_bet(odds_vectors, name, spot)
    assert rtp(variant, spot) == Fraction(expected["rtpExact"])
    assert round(float(rtp(variant, spot)), 12) == expected["rtp"]
    assert round(float(probability(variant, spot)), 12) == expected["winProbability"]
    assert round(float(house_edge(variant, spot)), 12) == expected["houseEdge"]
    assert house_edge(variant, spot) > 0


def test_a_bet_that_is_not_taken_has_no_odds() -> None:
    for ask in (probability, rtp, house_edge):
        with pytest.raises(ForbiddenBet):
            ask(variant_named("stand-off"), Spot.TIE)


def test_the_stated_return_is_the_mean_of_two_bets(odds_vectors: Any) -> None:
    royal = variant_named("royal")
    mean = (rtp(royal, Spot.PLAYER) + rtp(royal, Spot.BANKER)) / 2
    assert round(float(100 * mean), 4) == odds_vectors["rtp9885"]["meanPercentByDecks"]["8"]
    assert royal.stated_rtp == str(odds_vectors["rtp9885"]["stated"]) == f"{float(100 * mean):.2f}"


def test_bl_006_banker_wins_more_often_than_player() -> None:
    """BL-006: the shares of a fresh shoe, by decks, to the printed digits."""
    printed = {8: (0.4586, 0.4462, 0.0952), 4: (0.4588, 0.4463, 0.0949), 1: (0.4596, 0.4468, 0.0936)}
    for decks, shares in printed.items():
        counts = count_rounds(decks)
        by_outcome = counts.by_outcome()
        for outcome, share in zip((Outcome.BANKER, Outcome.PLAYER, Outcome.TIE), shares, strict=True):
            assert round(by_outcome[outcome] / counts.total, 4) == share


# How rule sheets with gaps and slips could be read to the letter, as replacements of the two questions of the tableau.
_player_draws, _banker_draws, _next_side = tableau.player_draws, tableau.banker_draws, tableau.next_side


def _stands_low(banker_total: int, third: int | None) -> bool:
    return _banker_draws(banker_total, third) and not (third is None and banker_total <= 2)


def _stands_middle(banker_total: int, third: int | None) -> bool:
    return _banker_draws(banker_total, third) and not (third is None and 3 <= banker_total <= 6)


def _draws_on_six(banker_total: int, third: int | None) -> bool:
    return _banker_draws(banker_total, third) or (third is None and banker_total == 6)


def _draws_against_a_natural(player_total: int, banker_total: int) -> bool:
    return _player_draws(player_total, 0)


def _looks_at_the_total(player: Sequence[Card], banker: Sequence[Card]) -> Side | None:
    if (len(player), len(banker)) == (3, 2) and hand_total(player) in (6, 7):
        return Side.BANKER if _banker_draws(hand_total(banker), None) else None
    return _next_side(player, banker)


MISREADINGS: dict[str, dict[str, Callable[..., Any]]] = {
    "M1": {"banker_draws": _stands_low},
    "M2": {"player_draws": _draws_against_a_natural},
    "M3": {"banker_draws": _stands_low, "player_draws": _draws_against_a_natural},
    "M4": {"banker_draws": _stands_middle},
    "M5": {"banker_draws": _draws_on_six},
    "M6": {"next_side": _looks_at_the_total},
}


@pytest.mark.parametrize("misreading", MISREADINGS)
def test_a_misread_tableau_moves_the_digits(
    odds_vectors: Any, misreading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The enumeration asks the very tableau that deals: change that, and it gives what the misreading would cost."""
    row = next(row for row in odds_vectors["misreadings"] if row["id"] == misreading and row["decks"] == 1)
    right = count_rounds(1).by_outcome()
    for name, replacement in MISREADINGS[misreading].items():
        monkeypatch.setattr(odds if name == "next_side" else tableau, name, replacement)
    misread = {outcome.value: ways for outcome, ways in count_rounds.__wrapped__(1).by_outcome().items()}
    assert misread == row["combinations"]
    assert misread != right


@pytest.mark.parametrize(("name", "rounds"), [("royal", 60_000), ("four-deck", 10_000), ("red-lounge", 30_000)])
def test_bl_006_live_rounds_come_as_often_as_they_should(odds_vectors: Any, name: str, rounds: int) -> None:
    """BL-006, dealt: fixed shoes, every count within four sigma, both chi-squares under their 1 in 10,000 bound."""
    variant = variant_named(name)
    chances = {event: row["p"] for event, row in odds_vectors["liveTest"]["table"][str(variant.decks)].items()}
    seen = live_counts(name, rounds)
    for event, p in chances.items():
        assert abs(seen[event] - rounds * p) < 4 * (rounds * p * (1 - p)) ** 0.5, event
    for events in (("banker", "player", "tie"), ("cards4", "cards5", "cards6")):
        assert sum((seen[event] - rounds * chances[event]) ** 2 / (rounds * chances[event]) for event in events) < 18.42


def live_counts(name: str, rounds: int) -> Counter[str]:
    variant = variant_named(name)
    cut_card = None if variant.shuffles_every_round else CUT_CARD_DEFAULT
    secret = sha256(b"live rounds").digest()
    shoes = (shuffled_shoe(secret, variant.decks, number, cut_card) for number in range(rounds))
    seen: Counter[str] = Counter()
    for hands in islice((hands for shoe in shoes for hands in play_out(shoe)), rounds):
        seen[hands.outcome.value] += 1
        seen[f"cards{hands.cards_used}"] += 1
        seen["anyNatural"] += tableau.is_natural(hands.player) or tableau.is_natural(hands.banker)
        seen["playerPair"] += hands.player[0][0] == hands.player[1][0]
        seen["bankerPair"] += hands.banker[0][0] == hands.banker[1][0]
    return seen
