"""The salted Merkle tree over a shoe, exact to the byte: a root before the first card, and a proof for each card.

A card's proof is its number in the shoe, its salt and its path to the root; it tells nothing of the other cards. This
module must never draw chance: salts follow from the shoe's secret. Read next: `proofs`, which checks rounds and shoes.

All integers are unsigned and big-endian; `||` joins bytes.

    salt(i)    the first 16 bytes of HMAC-SHA256(secret, "bac-salt-v1" || 0x00 || u8 decks || u64 shoe number || u32 i)
    leaf(i)    SHA-256(0x00 || u32 i || u16 index of the card at position i || salt(i))
    node       SHA-256(0x01 || left || right), level by level in pairs; an unpaired last node goes up unchanged
"""

import hashlib
import hmac
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

SALT_BYTES: Final = 16
HASH_BYTES: Final = 32

_CONSTRUCTION: Final = b"bac-salt-v1\x00"
_SALTED: Final = struct.Struct(">BQI")
_LEAF: Final = struct.Struct(">cIH")
_LEAF_TAG: Final = b"\x00"
_NODE_TAG: Final = b"\x01"

Level: TypeAlias = tuple[bytes, ...]
"""Hashes from left to right, in pairs under the next level."""


@dataclass(frozen=True, slots=True)
class CardProof:
    """What proves the card at a position that both sides know.

    `index` is the card's number in the shoe (`cards.card_of_index` names the card); `path` holds the sibling hashes
    from the leaf up, without those levels where the node goes up unchanged.
    """

    index: int
    salt: bytes
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ShoeTree:
    """The tree over a shoe's order. It holds the whole order: never send more of it than a root or a proof."""

    order: tuple[int, ...]
    salts: tuple[bytes, ...]
    levels: tuple[Level, ...]

    def __repr__(self) -> str:
        return f"ShoeTree({len(self.order)} cards, root={self.root.hex()})"

    @property
    def root(self) -> bytes:
        """The hash that binds every card to its position."""
        return self.levels[-1][0]

    def proof(self, position: int) -> CardProof:
        """Return the proof of the card at `position`, counted from the first card of the shoe, a burned one."""
        assert 0 <= position < len(self.order), "only a card of this shoe is proved"
        path = []
        at = position
        for level in self.levels[:-1]:
            if at ^ 1 < len(level):
                path.append(level[at ^ 1])
            at //= 2
        return CardProof(self.order[position], self.salts[position], tuple(path))


def shoe_tree(secret: bytes, decks: int, number: int, order: Sequence[int]) -> ShoeTree:
    """Return the tree over `order`, the card indexes that `fairness.shuffle` gave for this secret, decks and number."""
    salts = tuple(_salt(secret, decks, number, position) for position in range(len(order)))
    leaves = tuple(_leaf(position, index, salts[position]) for position, index in enumerate(order))
    return ShoeTree(tuple(order), salts, tuple(_levels(leaves)))


def root_of_proof(proof: CardProof, position: int, cards: int) -> bytes | None:
    """Return the root that a proof leads to, for a shoe of that many cards.

    None for a proof of another form: a position or index that the shoe does not have, or a salt or path of another
    length.
    """
    is_card = 0 <= position < cards and 0 <= proof.index < cards
    if not is_card or len(proof.salt) != SALT_BYTES or any(len(sibling) != HASH_BYTES for sibling in proof.path):
        return None
    node = _leaf(position, proof.index, proof.salt)
    siblings = iter(proof.path)
    while cards > 1:
        if position ^ 1 < cards:
            sibling = next(siblings, None)
            if sibling is None:
                return None
            node = _node(sibling, node) if position % 2 else _node(node, sibling)
        position, cards = position // 2, (cards + 1) // 2
    return None if next(siblings, None) else node


def _levels(level: Level) -> Iterator[Level]:
    """Yield the leaves, then every level above them up to the root alone."""
    yield level
    while len(level) > 1:
        pairs = tuple(_node(left, right) for left, right in zip(level[::2], level[1::2], strict=False))
        level = (*pairs, level[-1]) if len(level) % 2 else pairs
        yield level


def _salt(secret: bytes, decks: int, number: int, position: int) -> bytes:
    return hmac.digest(secret, _CONSTRUCTION + _SALTED.pack(decks, number, position), "sha256")[:SALT_BYTES]


def _leaf(position: int, index: int, salt: bytes) -> bytes:
    return hashlib.sha256(_LEAF.pack(_LEAF_TAG, position, index) + salt).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE_TAG + left + right).digest()
