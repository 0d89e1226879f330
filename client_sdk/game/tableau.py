"""The tableau: which hand receives the next card, and which hand wins.

The drawing rules are held once, as the grid casinos print; dealing, odds and every text that explains the rules read
this grid. This module must never see a bet: the cards are the same whatever is bet. Read next: `shoe` for where the
cards come from, `settlement` for what an outcome pays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from client_sdk.game.cards import Card, card_value, hand_total
from client_sdk.game.errors import GameError

NATURAL_MIN: Final = 8
"""The least two-card total that is a natural."""

CARDS_PER_ROUND_MAX: Final = 6

# D draws, S stands. A natural on either side ends the deal before any of these rows is read.
PLAYER_ROW: Final = "DDDDDDSSSS"
"""What the player does on a two-card total, by position 0 to 9."""

BANKER_WHEN_PLAYER_STOOD: Final = "DDDDDDSSSS"
"""What the banker does on a two-card total, by position 0 to 9, after the player stood."""

BANKER_WHEN_PLAYER_DREW: Final = (
    # player's third card counts
    # 0123456789
    "DDDDDDDDDD",  # banker 0
    "DDDDDDDDDD",  # banker 1
    "DDDDDDDDDD",  # banker 2
    "DDDDDDDDSD",  # banker 3
    "SSDDDDDDSS",  # banker 4
    "SSSSDDDDSS",  # banker 5
    "SSSSSSDDSS",  # banker 6
    "SSSSSSSSSS",  # banker 7
    "SSSSSSSSSS",  # banker 8
    "SSSSSSSSSS",  # banker 9
)
"""What the banker does after the player drew: a row per banker total, a position per value of the player's third."""


class Side(StrEnum):
    """The two hands of cards."""

    PLAYER = "player"
    BANKER = "banker"


class Outcome(StrEnum):
    """How a round ends."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class TooFewCards(GameError):
    """The cards ran out before both hands were complete."""

    def __init__(self, cards_given: int) -> None:
        super().__init__(cards_given)
        self.cards_given = cards_given

    def __str__(self) -> str:
        return f"too few cards: {self.cards_given} do not complete the round"


class ImpossibleHands(GameError):
    """Hands whose sizes no deal in the order P B P B, P3, B3 leads to."""

    def __init__(self, player_cards: int, banker_cards: int) -> None:
        super().__init__(player_cards, banker_cards)
        self.player_cards = player_cards
        self.banker_cards = banker_cards

    def __str__(self) -> str:
        return f"no deal gives the player {self.player_cards} cards and the banker {self.banker_cards}"


def player_draws(player_total: int, banker_total: int) -> bool:
    """Return whether the player takes a third card, from both two-card totals (0 to 9).

    Draws on 0 to 5, unless the banker holds a natural: a natural on either side ends the deal.
    """
    return banker_total < NATURAL_MIN and PLAYER_ROW[player_total] == "D"


def banker_draws(banker_total: int, player_third_value: int | None) -> bool:
    """Return whether the banker takes a third card, where neither side holds a natural.

    `player_third_value` is what the player's third card counts (0 to 9), None when the player stood. The banker looks
    at that card, never at the player's total. Source: the standard punto banco tableau.
    """
    if player_third_value is None:
        return BANKER_WHEN_PLAYER_STOOD[banker_total] == "D"
    return BANKER_WHEN_PLAYER_DREW[banker_total][player_third_value] == "D"


def is_natural(hand: Sequence[Card]) -> bool:
    """Return whether the hand is a natural: 8 or 9 on two cards. Three cards never are, whatever they total."""
    return len(hand) == 2 and hand_total(hand) >= NATURAL_MIN


def next_side(player: Sequence[Card], banker: Sequence[Card]) -> Side | None:
    """Return who receives the next card, None when both hands are complete.

    The order is P B P B, then the player's third, then the banker's. The hands are taken to be dealt by these rules so
    far; sizes that no deal gives raise ImpossibleHands.
    """
    match len(player), len(banker):
        case (0, 0) | (1, 1):
            return Side.PLAYER
        case (1, 0) | (2, 1):
            return Side.BANKER
        case (2, 2):
            return _first_third_card(player, banker)
        case (3, 2):
            return Side.BANKER if banker_draws(hand_total(banker), card_value(player[2])) else None
        case (2, 3) | (3, 3):
            return None
        case (player_cards, banker_cards):
            raise ImpossibleHands(player_cards, banker_cards)


def _first_third_card(player: Sequence[Card], banker: Sequence[Card]) -> Side | None:
    """Return who draws first once both sides hold two cards: the player, else the banker, else nobody."""
    player_total, banker_total = hand_total(player), hand_total(banker)
    if player_draws(player_total, banker_total):
        return Side.PLAYER
    if player_total >= NATURAL_MIN or banker_total >= NATURAL_MIN:
        return None
    return Side.BANKER if banker_draws(banker_total, None) else None


def decide(player: Sequence[Card], banker: Sequence[Card]) -> Outcome:
    """Return the outcome of two complete hands: the higher total wins, a natural 9 over a natural 8 too."""
    player_total, banker_total = hand_total(player), hand_total(banker)
    if player_total == banker_total:
        return Outcome.TIE
    return Outcome.PLAYER if player_total > banker_total else Outcome.BANKER


@dataclass(frozen=True, slots=True)
class Hands:
    """Both complete hands of a round, each in the order it was dealt."""

    player: tuple[Card, ...]
    banker: tuple[Card, ...]

    @property
    def outcome(self) -> Outcome:
        """Which side won, or a tie."""
        return decide(self.player, self.banker)

    @property
    def cards_used(self) -> int:
        """How many cards the round took from the shoe, 4 to 6."""
        return len(self.player) + len(self.banker)


def deal_hands(cards: Iterable[Card]) -> Hands:
    """Deal one round from the front of `cards` and return both hands; cards beyond the last needed are left untouched.

    Raises TooFewCards when they run out first.
    """
    player: list[Card] = []
    banker: list[Card] = []
    source = iter(cards)
    while (side := next_side(player, banker)) is not None:
        card = next(source, None)
        if card is None:
            raise TooFewCards(len(player) + len(banker))
        (player if side is Side.PLAYER else banker).append(card)
    return Hands(tuple(player), tuple(banker))
