"""Where shoes come from: a secret from the system's random source, or, in marked open play only, prepared rounds.

The order of a shoe follows from its secret and its cuts (`client_sdk/game/fairness.py`), so a new owner that can open
the secret deals the same cards, and looks first whether they are: by the commitment, the digest of the cuts and the
Merkle root that were told. Nothing here knows a bet.
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from client_sdk.game.cards import CARDS_PER_DECK, Card, UnknownCard, parse_cards
from client_sdk.game.fairness import SECRET_BYTES, Cut, commitment
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.shoe import Shoe
from client_sdk.game.tableau import TooFewCards, deal_hands
from client_sdk.protocol.messages import TableRules
from server.keyring import Keyring, SealBroken
from server.store.records import UNSEALED
from server.table.machine import FreshShoe
from server.table.open_shoe import OpenShoe, shuffled
from server.table.state import TableState

LOST: Final = "lost"
"""Why a shoe is broken off whose cards can't be made again: they came from a file that is not given now."""
CHANGED: Final = "changed"
"""Why a shoe is broken off whose secret an older house kept readable."""
ALTERED: Final = "altered"
"""Why a shoe is broken off of which the store holds something else than was told."""


class ShoeBroken(Exception):
    """The open shoe can't be dealt on, for a `reason` that everybody is told; `secret` as far as it could be opened."""

    def __init__(self, reason: str, secret: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.secret = secret


class BadStackedShoe(ValueError):
    """A line of the file does not hold one whole round."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(line, why)
        self.line = line
        self.why = why

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class StackedRounds:
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

    def shoe(self, number: int) -> Shoe:
        """Make the shoe of a number: it holds one round."""
        return Shoe(number, self._rounds[(number - 1) % len(self._rounds)], None)


class Shoes:
    """The source of a house's shoes."""

    def __init__(self, keyring: Keyring, stacked: StackedRounds | None = None) -> None:
        self._keyring = keyring
        self._stacked = stacked

    def __repr__(self) -> str:
        return f"<Shoes {self._keyring!r} stacked={self._stacked is not None}>"

    def fresh(self, table: str, number: int, rules: TableRules) -> FreshShoe:
        """Make the next shoe of a table. Where its cards were prepared there is no secret to commit to."""
        if self._stacked is not None:
            return FreshShoe(number, len(self._stacked.shoe(number).cards), "", "")
        secret = self._draw_secret(number)
        sealed = self._keyring.seal(secret, table, number)
        return FreshShoe(number, rules.decks * CARDS_PER_DECK, sealed, commitment(secret))

    def open(self, table: str, state: TableState, rules: TableRules, cuts: Sequence[Cut]) -> OpenShoe:
        """Make the open shoe of a table, card for card; before its cuts are frozen it has none.

        Raises `ShoeBroken` where it can't be made or would not be the one that was told, and `SealKeyMissing`.
        """
        assert state.shoe_sealed is not None, "only an open shoe can be made"
        if state.shoe_sealed == "":
            if self._stacked is None:
                raise ShoeBroken(LOST)
            return OpenShoe(b"", self._stacked.shoe(state.shoe))
        if state.shoe_sealed.startswith(UNSEALED):
            raise ShoeBroken(CHANGED, bytes.fromhex(state.shoe_sealed.removeprefix(UNSEALED)))
        try:
            secret = self._keyring.open(state.shoe_sealed, table, state.shoe)
        except SealBroken:
            raise ShoeBroken(ALTERED) from None
        if commitment(secret) != state.shoe_commitment:
            raise ShoeBroken(ALTERED, secret)
        if state.shoe_cuts_digest is None:
            return OpenShoe(secret)
        if cuts_digest(cuts) != state.shoe_cuts_digest:
            raise ShoeBroken(ALTERED, secret)
        shoe = shuffled(secret, rules.decks, state.shoe, rules.cut_card, tuple(cuts))
        if state.shoe_root not in (None, shoe.root):
            raise ShoeBroken(ALTERED, secret)
        return shoe

    def _draw_secret(self, number: int) -> bytes:
        return secrets.token_bytes(SECRET_BYTES)


def _stacked_round(number: int, text: str) -> tuple[Card, ...]:
    try:
        cards = [card if len(card) == 2 else Card(f"{card}s") for card in parse_cards(text)]
        hands = deal_hands(cards)
    except (UnknownCard, TooFewCards) as error:
        raise BadStackedShoe(number, str(error)) from None
    if hands.cards_used != len(cards):
        raise BadStackedShoe(number, f"the round is over after {hands.cards_used} cards, {len(cards)} are given")
    return tuple(cards)
