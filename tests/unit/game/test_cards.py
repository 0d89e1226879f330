"""Cards: every spelling, every value, every index."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.cards import (
    RANKS,
    SUITS,
    Card,
    UnknownCard,
    card_of_index,
    card_value,
    hand_total,
    parse_card,
    parse_cards,
)
from client_sdk.game.errors import GameError

EVERY_CARD = [rank + suit for rank in RANKS for suit in SUITS]


@pytest.mark.parametrize(
    ("text", "card"),
    [("9h", "9h"), ("9H", "9h"), ("9S", "9s"), ("T", "T"), ("t", "T"), ("10", "T"), ("10h", "Th"), ("10H", "Th")],
)
def test_spellings(text: str, card: str) -> None:
    assert parse_card(text) == card


@pytest.mark.parametrize("card", [*EVERY_CARD, *RANKS])
def test_every_card_is_read_in_either_case(card: str) -> None:
    assert parse_card(card) == parse_card(card.upper()) == parse_card(card.lower()) == card


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1", "0", "11", "1h", "h", "h9", "9x", "9hh", "A2", " 9h", "9h ", "9h\n", "10x", "100"),
        *("9\u017f", "\u212a", "\uff19h"),  # a long s, a Kelvin sign, a full-width nine
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UnknownCard) as refused:
        parse_card(text)
    assert refused.value.text == text
    assert isinstance(refused.value, GameError)
    assert "\n" not in str(refused.value)


@settings(deadline=None)
@given(st.text(max_size=4))
def test_what_is_read_is_always_one_of_ours(text: str) -> None:
    try:
        card = parse_card(text)
    except UnknownCard:
        return
    assert card in EVERY_CARD or card in RANKS


def test_cards_are_separated_by_spaces_or_commas() -> None:
    assert parse_cards("2 T,9h, 10s  ad") == ["2", "T", "9h", "Ts", "Ad"]
    assert parse_cards("") == parse_cards(" , ") == []
    with pytest.raises(UnknownCard):
        parse_cards("2 T 9h 1")


def test_values() -> None:
    assert [card_value(Card(rank)) for rank in "A23456789TJQK"] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0]
    assert all(card_value(Card(card)) == card_value(Card(card[0])) for card in EVERY_CARD)


@pytest.mark.parametrize(
    ("cards", "total"),
    [("4 2 6", 2), ("5 6 8", 3 + 6), ("7 3", 0), ("T T T", 0), ("9 9", 8), ("9 9 9", 7), ("K Q", 0), ("A", 1), ("", 0)],
)
def test_totals_are_the_last_digit(cards: str, total: int) -> None:
    assert hand_total(parse_cards(cards)) == total


def test_card_indexes_run_by_suit_then_rank_then_deck() -> None:
    assert [card_of_index(index) for index in range(52)] == [rank + suit for suit in SUITS for rank in RANKS]
    assert all(card_of_index(index) == card_of_index(index % 52) for index in range(416))
    with pytest.raises(UnknownCard):
        card_of_index(-1)
