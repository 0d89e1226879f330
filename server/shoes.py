"""Where shoes come from: a secret from the system's random source, or, in marked open play only, a file of stacked
rounds.

The order of a shoe follows from its secret (`client_sdk/game/fairness.py`), so a new owner that holds the secret deals
the same cards. Nothing here knows a bet.
"""

import secrets
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from client_sdk.game.cards import Card, UnknownCard, parse_cards
from client_sdk.game.fairness import commitment
from client_sdk.game.shoe import Shoe, shuffled_shoe
from client_sdk.game.tableau import TooFewCards, deal_hands
from client_sdk.protocol.messages import TableRules
from server.table.state import TableState

SECRET_BYTES = 32


class FreshShoe(NamedTuple):
    """A shoe that is about to be opened."""

    shoe: Shoe
    secret: bytes
    commitment: str


class Shoes(Protocol):
    """A source of shoes."""

    def fresh(self, number: int, rules: TableRules) -> FreshShoe:
        """Make the next shoe of a table."""
        ...

    def reopen(self, state: TableState, rules: TableRules) -> Shoe:
        """Make the open shoe of a table again, card for card. Raises `ShoeLost` where this source can't."""
        ...


class ShoeLost(Exception):
    """The open shoe can't be made again: it was stacked from a file that is not given now."""


class ShuffledShoes:
    """Shoes of `bac-shoe-v1`, each from a secret of its own."""

    def fresh(self, number: int, rules: TableRules) -> FreshShoe:
        """Draw a secret and shuffle by it."""
        secret = secrets.token_bytes(SECRET_BYTES)
        return FreshShoe(_shuffled(secret, number, rules), secret, commitment(secret))

    def reopen(self, state: TableState, rules: TableRules) -> Shoe:
        """Shuffle again by the secret that the table keeps."""
        if rules.stacked:
            raise ShoeLost
        return _reshuffled(state, rules)


def _reshuffled(state: TableState, rules: TableRules) -> Shoe:
    assert state.shoe_secret is not None, "only an open shoe can be made again"
    return _shuffled(bytes.fromhex(state.shoe_secret), state.shoe, rules)


def _shuffled(secret: bytes, number: int, rules: TableRules) -> Shoe:
    return shuffled_shoe(secret, rules.decks, number, rules.cut_card)


class BadStackedShoe(ValueError):
    """A line of the file does not hold one whole round."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(line, why)
        self.line = line
        self.why = why

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class StackedShoes:
    """Rounds from a file, one a line in deal order, from the first to the last and around again. For trying things
    out."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the rounds; blank lines and those that begin with # are passed over. Raises `BadStackedShoe`."""
        self._rounds = [
            _stacked_round(number, text)
            for number, text in enumerate(lines, start=1)
            if text.strip() and not text.lstrip().startswith("#")
        ]
        if not self._rounds:
            raise BadStackedShoe(1, "the file holds no round")

    def fresh(self, number: int, rules: TableRules) -> FreshShoe:
        """Take the next line; there is no secret to commit to, and the table's rules say `stacked`."""
        return FreshShoe(self._shoe(number), b"", "")

    def reopen(self, state: TableState, rules: TableRules) -> Shoe:
        """Take the same line again; a shoe that was opened before the file was given is made by its own secret."""
        if not rules.stacked:
            return _reshuffled(state, rules)
        return self._shoe(state.shoe)

    def _shoe(self, number: int) -> Shoe:
        return Shoe(number, self._rounds[(number - 1) % len(self._rounds)], None)


def _stacked_round(number: int, text: str) -> tuple[Card, ...]:
    try:
        cards = [card if len(card) == 2 else Card(f"{card}s") for card in parse_cards(text)]
        hands = deal_hands(cards)
    except (UnknownCard, TooFewCards) as error:
        raise BadStackedShoe(number, str(error)) from None
    if hands.cards_used != len(cards):
        raise BadStackedShoe(number, f"the round is over after {hands.cards_used} cards, {len(cards)} are given")
    return tuple(cards)
