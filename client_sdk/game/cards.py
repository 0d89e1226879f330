"""Cards: how they are written and what they count.

A card is a string of rank and suit (`9h`, `Td`), or its rank alone where the suit does not matter. This module must
never know hands as player's or banker's, nor who draws. Read next: `tableau`.
"""

import re
from collections.abc import Iterable
from typing import Final, NewType

from client_sdk.game.errors import GameError

Card = NewType("Card", str)

RANKS: Final = "A23456789TJQK"
SUITS: Final = "cdhs"
CARDS_PER_DECK: Final = len(RANKS) * len(SUITS)

# The punto banco count: ace 1, two to nine their face, ten and pictures 0.
_VALUES: Final = {rank: number if number < 10 else 0 for number, rank in enumerate(RANKS, start=1)}

# Index c of a deck: suit by suit, each from ace to king, as the shuffle `bac-shoe-v1` numbers them.
_ONE_DECK: Final = tuple(Card(rank + suit) for suit in SUITS for rank in RANKS)

# ASCII only: without it "ſ" (long s) would pass for the suit s, and the Kelvin sign for a king.
_SPELLING: Final = re.compile(r"([A2-9TJQK]|10)([CDHS]?)", re.ASCII | re.IGNORECASE)


class UnknownCard(GameError):
    """A text or an index that names no card."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"unknown card {self.text!r}: write a rank (A 2-9 T J Q K, or 10) and if you like a suit (c d h s)"


def parse_card(text: str) -> Card:
    """Return the card that `text` names, in our spelling: `10H` and `th` are both `Th`, `t` is `T`.

    Raises UnknownCard for anything else, surrounding space included.
    """
    spelling = _SPELLING.fullmatch(text)
    if spelling is None:
        raise UnknownCard(text)
    rank, suit = spelling.groups()
    return Card(("T" if rank == "10" else rank.upper()) + suit.lower())


def parse_cards(text: str) -> list[Card]:
    """Return the cards of a text that separates them by spaces or commas; an empty text has none.

    Raises UnknownCard for the first word that is no card.
    """
    return [parse_card(word) for word in text.replace(",", " ").split()]


def card_value(card: Card) -> int:
    """Return what the card counts, 0 to 9: ten, jack, queen and king are 0, whoever asks."""
    return _VALUES[card[0]]


def hand_total(cards: Iterable[Card]) -> int:
    """Return the total of a hand, 0 to 9: the last digit of the sum of its cards."""
    return sum(_VALUES[card[0]] for card in cards) % 10


def card_of_index(index: int) -> Card:
    """Return the card that a shuffled shoe numbers `index`, counted through the decks from 0 (`bac-shoe-v1`).

    Raises UnknownCard for a negative index.
    """
    if index < 0:
        raise UnknownCard(str(index))
    return _ONE_DECK[index % CARDS_PER_DECK]
