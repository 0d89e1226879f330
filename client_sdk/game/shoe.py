"""A shoe: its cards in deal order, the burn in front and the cut card near the end.

A shoe never changes; how far it is dealt is a position (cards taken so far, burned ones included) that the caller
keeps. It must never choose an order itself: `fairness` does, from a secret that comes in. Read next: `fairness`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from client_sdk.game.cards import Card, card_of_index, card_value
from client_sdk.game.errors import GameError
from client_sdk.game.fairness import Cut, shuffle
from client_sdk.game.tableau import CARDS_PER_ROUND_MAX, Hands, deal_hands

CUT_CARD_MIN: Final = 11
"""The fewest cards behind the cut card: a round that ends just before it leaves 12, and two more rounds may take 12."""

CUT_CARD_DEFAULT: Final = 14

BURNED_MAX: Final = 11


class CutCardMisplaced(GameError):
    """A cut card that leaves too few cards behind it to finish, or too few before it to begin."""

    def __init__(self, cut_card: int, shoe_cards: int) -> None:
        super().__init__(cut_card, shoe_cards)
        self.cut_card = cut_card
        self.shoe_cards = shoe_cards

    def __str__(self) -> str:
        cut_card_max = self.shoe_cards - BURNED_MAX - 1
        return (
            f"the cut card must lie {CUT_CARD_MIN} to {cut_card_max} cards from the end"
            f" of {self.shoe_cards} cards, not {self.cut_card}"
        )


@dataclass(frozen=True, slots=True)
class Shoe:
    """The cards from one shuffle to the next.

    `number` counts the shoes of a table. `cut_card` is how many cards lie behind the cut card; None means that the
    cards are shuffled anew for every round: one round, no burn, no cut card. Raises CutCardMisplaced.
    """

    number: int
    cards: tuple[Card, ...]
    cut_card: int | None

    def __post_init__(self) -> None:
        if self.cut_card is not None and not CUT_CARD_MIN <= self.cut_card < len(self.cards) - BURNED_MAX:
            raise CutCardMisplaced(self.cut_card, len(self.cards))

    def __len__(self) -> int:
        """How many cards the full shoe holds, whatever was dealt."""
        return len(self.cards)

    @property
    def burned(self) -> int:
        """How many cards are burned before the first round: the first, shown, and as many as it counts (0 as 10)."""
        if self.cut_card is None:
            return 0
        return 1 + (card_value(self.cards[0]) or 10)

    def is_past_cut_card(self, position: int) -> bool:
        """Return whether a round that ends at `position` ends at or beyond the cut card; never, without one.

        After the first round of which this is true exactly one more is dealt.
        """
        return self.cut_card is not None and position >= len(self.cards) - self.cut_card


def shuffled_shoe(
    secret: bytes, variant_decks: int, number: int, cut_card: int | None, cuts: Iterable[Cut] = ()
) -> Shoe:
    """Return shoe `number` in the order that secret and cuts give it (`bac-shoe-v1`).

    Raises CutCardMisplaced, and BadShuffleInput for what the construction cannot take.
    """
    indexes = shuffle(secret, variant_decks, number, cuts)
    return Shoe(number=number, cards=tuple(map(card_of_index, indexes)), cut_card=cut_card)


def play_out(shoe: Shoe) -> Iterator[Hands]:
    """Deal the whole shoe and yield its rounds: burn, rounds up to the cut card, one last round.

    Without a cut card the shoe gives one round. Raises TooFewCards where a forced shoe has too few for that.
    """
    position = shoe.burned
    is_last = shoe.cut_card is None
    while True:
        hands = deal_hands(shoe.cards[position : position + CARDS_PER_ROUND_MAX])
        position += hands.cards_used
        yield hands
        if is_last:
            return
        is_last = shoe.is_past_cut_card(position)
