"""Sources of shoes for tests: sealed by a key that everybody knows, by chance, by a seed, or from prepared lines."""

import hashlib
from collections.abc import Sequence
from typing import ClassVar, Final

from client_sdk.game.fairness import Cut
from client_sdk.protocol.messages import TableRules
from server.keyring import Keyring
from server.shoes import Shoes, StackedRounds
from server.table.open_shoe import OpenShoe
from server.table.state import TableState

KEYRING: Final = Keyring([bytes(range(32))])


def shuffled_shoes() -> Shoes:
    """Shoes of secrets from the system's chance."""
    return Shoes(KEYRING)


def stacked_shoes(lines: Sequence[str]) -> Shoes:
    """Shoes of one prepared round each."""
    return Shoes(KEYRING, StackedRounds(lines))


class _SameSeals(Keyring):
    """Seals a secret the same way each time, so that two runs of one seed can be compared."""

    _seals: ClassVar[dict[tuple[bytes, str, int], str]] = {}

    def seal(self, secret: bytes, table: str, shoe: int) -> str:
        return self._seals.setdefault((secret, table, shoe), super().seal(secret, table, shoe))


class SeededShoes(Shoes):
    """Shuffled shoes whose secrets follow from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(_SameSeals([bytes(range(32))]))
        self._seed = seed
        self._opened: dict[tuple[object, ...], OpenShoe] = {}

    def open(self, table: str, state: TableState, rules: TableRules, cuts: Sequence[Cut]) -> OpenShoe:
        """Make each shoe once: a test may have it taken over after every step."""
        key = (state.shoe_sealed, state.shoe_cuts_digest, state.shoe_root, rules.decks, rules.cut_card, tuple(cuts))
        if key not in self._opened:
            self._opened = {key: super().open(table, state, rules, cuts)}
        return self._opened[key]

    def _draw_secret(self, number: int) -> bytes:
        return hashlib.sha256(f"{self._seed} {number}".encode()).digest()


def opened(shoes: Shoes, table: str, state: TableState, rules: TableRules, cuts: Sequence[Cut] = ()) -> OpenShoe | None:
    """The open shoe as a new owner makes it; None where none is open."""
    return shoes.open(table, state, rules, cuts) if state.has_shoe else None
