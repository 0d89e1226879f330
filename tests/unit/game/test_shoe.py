"""A shoe: burn, cut card, last round; played out against known shoes; never a card too few."""

from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.cards import RANKS, Card, hand_total, parse_cards
from client_sdk.game.shoe import (
    BURNED_MAX,
    CUT_CARD_DEFAULT,
    CUT_CARD_MIN,
    CutCardMisplaced,
    Shoe,
    play_out,
    shuffled_shoe,
)
from client_sdk.game.tableau import TooFewCards
from client_sdk.game.variants import VARIANTS


def shoe_of(cards: str, cut_card: int | None = CUT_CARD_MIN) -> Shoe:
    return Shoe(number=1, cards=tuple(parse_cards(cards)), cut_card=cut_card)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_known_shoes_played_out(shuffle_vectors: Any, number: int) -> None:
    vector = shuffle_vectors[number]
    played = vector["playedOut"]
    cuts = [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]
    secret = bytes.fromhex(vector["serverSeed"])
    shoe = shuffled_shoe(secret, vector["decks"], vector["shoeNumber"], played["cutCardFromEnd"], cuts)
    rounds = list(play_out(shoe))
    assert [card.upper() for card in shoe.cards[: shoe.burned]] == played["burned"]
    assert len(rounds) == played["rounds"]
    assert "".join(hands.outcome[0].upper() for hands in rounds) == played["outcomes"]
    assert shoe.burned + sum(hands.cards_used for hands in rounds) == played["cardsUsed"]
    for hands, expected in zip(rounds, played["firstThreeRounds"], strict=False):
        assert [card.upper() for card in hands.player] == expected["player"]
        assert [card.upper() for card in hands.banker] == expected["banker"]
        assert hand_total(hands.player) == expected["playerTotal"]
        assert hand_total(hands.banker) == expected["bankerTotal"]


@pytest.mark.parametrize("rank", RANKS)
def test_the_burn_is_the_first_card_and_as_many_as_it_counts(rank: str) -> None:
    burned = {"A": 2, "T": 11, "J": 11, "Q": 11, "K": 11}.get(rank) or 1 + int(rank)
    cards = rank + " 5" * 40
    assert shoe_of(cards).burned == burned <= BURNED_MAX
    assert shoe_of(cards, cut_card=None).burned == 0


def test_a_round_that_ends_at_the_cut_card_ends_past_it() -> None:
    shoe = shoe_of("5 " * 52, cut_card=14)
    assert [shoe.is_past_cut_card(position) for position in (0, 37, 38, 39, 52)] == [False, False, True, True, True]
    assert not any(shoe_of("5 " * 52, cut_card=None).is_past_cut_card(position) for position in (0, 52))
    assert len(shoe) == 52


@pytest.mark.parametrize("into_round", [2, 4, 5])
def test_bl_035_a_cut_inside_a_round_lets_it_finish_and_one_more(into_round: int) -> None:
    """BL-035: the cut card on the second, fourth and fifth card of a round; that round is dealt out, then the last."""
    burned, rounds_before = 2, 3
    position = burned + 6 * rounds_before + into_round
    cards = (Card("A"), *[Card("T")] * 51)  # burns two; each round of tens takes six cards
    shoe = Shoe(number=1, cards=cards, cut_card=len(cards) - position)
    assert len(list(play_out(shoe))) == rounds_before + 2


def test_without_a_cut_card_a_shoe_is_one_round() -> None:
    shoe = shoe_of("9 9 T T 5 5 5 5", cut_card=None)
    rounds = list(play_out(shoe))
    assert [hands.cards_used for hands in rounds] == [4]
    assert rounds[0].player == ("9", "T")


def test_bl_032_and_bl_033_the_lowest_cut_card_never_runs_out() -> None:
    """BL-032, BL-033: rounds of six cards, every size and burn, cut card lowest: always whole, never below zero."""
    for size in range(CUT_CARD_MIN + BURNED_MAX + 1, 130):
        for first in "A23456789T":
            shoe = Shoe(number=1, cards=(Card(first), *[Card("T")] * (size - 1)), cut_card=CUT_CARD_MIN)
            used = shoe.burned + sum(hands.cards_used for hands in play_out(shoe))
            assert 0 <= size - used <= CUT_CARD_MIN


@settings(deadline=None)
@given(
    cards=st.lists(st.sampled_from(RANKS), min_size=CUT_CARD_MIN + BURNED_MAX + 1, max_size=120),
    above_minimum=st.integers(0, 30),
)
def test_any_shoe_is_played_out_by_the_procedure(cards: list[str], above_minimum: int) -> None:
    cut_card = min(CUT_CARD_MIN + above_minimum, len(cards) - BURNED_MAX - 1)
    shoe = Shoe(number=1, cards=tuple(map(Card, cards)), cut_card=cut_card)
    positions = [shoe.burned]
    for hands in play_out(shoe):
        positions.append(positions[-1] + hands.cards_used)
    assert all(4 <= after - before <= 6 for before, after in pairwise(positions))
    assert positions[-1] <= len(shoe)
    past = [shoe.is_past_cut_card(position) for position in positions]
    assert past.count(True) == 2
    assert past[-2:] == [True, True]


@pytest.mark.parametrize("cut_card", [0, 10, -14, 52, 41, 400])
def test_a_cut_card_that_leaves_no_room(cut_card: int) -> None:
    with pytest.raises(CutCardMisplaced) as refused:
        shoe_of("5 " * 52, cut_card)
    assert (refused.value.cut_card, refused.value.shoe_cards) == (cut_card, 52)
    assert str(refused.value).startswith("the cut card must lie 11 to 40 cards from the end of 52 cards")


def test_the_outermost_cut_cards() -> None:
    assert shoe_of("5 " * 52, 11).cut_card == 11
    assert shoe_of("5 " * 52, 40).cut_card == 40


def test_every_shoe_holds_every_card_of_its_decks() -> None:
    for variant in VARIANTS.values():
        cut_card = None if variant.shuffles_every_round else CUT_CARD_DEFAULT
        shoe = shuffled_shoe(sha256(b"whole").digest(), variant.decks, 7, cut_card)
        assert (shoe.number, len(shoe)) == (7, 52 * variant.decks)
        assert all(shoe.cards.count(card) == variant.decks for card in set(shoe.cards))
        assert len(set(shoe.cards)) == 52


def test_the_mean_life_of_a_shoe() -> None:
    """Eight decks, cut card 14 from the end: 81.28 rounds in the mean, deviation 1.62, 73 to 90 ever seen."""
    secret = sha256(b"life of a shoe").digest()
    lives = [len(list(play_out(shuffled_shoe(secret, 8, number, CUT_CARD_DEFAULT)))) for number in range(600)]
    assert all(73 <= rounds <= 90 for rounds in lives)
    assert abs(sum(lives) / len(lives) - 81.281) < 4 * 1.62 / len(lives) ** 0.5


def test_a_forced_shoe_may_run_out() -> None:
    with pytest.raises(TooFewCards):
        list(play_out(shoe_of("2 T 2 6", cut_card=None)))
