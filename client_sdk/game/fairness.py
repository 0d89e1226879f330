"""The shuffle `bac-shoe-v1`: a shoe's order from its secret and the patrons' cuts, exact to the byte.

Anyone who holds the revealed secret computes the same shoe with any HMAC-SHA256, in any language. It must never draw
chance itself: the secret comes in. Read next: `shoe`, which turns the indexes into cards.

All integers are unsigned and big-endian; `||` joins bytes.

    clientMix  SHA-256 over u16 len(id) || id || u16 len(cut) || cut of every cut, in the order they were accepted
    context    "bac-shoe-v1" || 0x00 || u8 decks || u64 shoe number || clientMix
    block(i)   HMAC-SHA256(secret, context || u32 i), i = 0, 1, 2, ...; each gives 8 words of 32 bits
    below(n)   the next word under the largest multiple of n that 32 bits hold, modulo n
    shuffle    a = 0, 1, ..., N-1; for i = N-1 down to 1 exchange a[i] and a[below(i + 1)]; a[0] is dealt first
"""

import hashlib
import hmac
import struct
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final, TypeAlias

from client_sdk.game.cards import CARDS_PER_DECK
from client_sdk.game.errors import GameError

Cut: TypeAlias = tuple[bytes, bytes]
"""A patron's id in UTF-8 and the bytes it put in."""

SECRET_BYTES: Final = 32
DECKS_MAX: Final = 255  # a u8 in the context
SHOE_NUMBER_MAX: Final = 2**64 - 1  # a u64 in the context
CUT_FIELD_BYTES_MAX: Final = 2**16 - 1  # a u16 before each field

_CONSTRUCTION: Final = b"bac-shoe-v1\x00"
_WORD_VALUES: Final = 2**32
_BLOCK_WORDS: Final = struct.Struct(">8I")


class BadShuffleInput(GameError):
    """A value that the construction has no bytes for. It names the field, never the secret."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field, expected)
        self.field = field
        self.expected = expected

    def __str__(self) -> str:
        return f"cannot shuffle: {self.field} must be {self.expected}"


def commitment(secret: bytes) -> str:
    """Return what is published before the cuts are taken: SHA-256 of the secret, 64 lower-case hex digits.

    Raises BadShuffleInput unless the secret has SECRET_BYTES bytes.
    """
    _check_secret(secret)
    return hashlib.sha256(secret).hexdigest()


def client_mix(cuts: Iterable[Cut]) -> bytes:
    """Return the 32 bytes that stand for all cuts, in the order they were accepted; without cuts SHA-256 of nothing.

    Raises BadShuffleInput for an id or a cut longer than CUT_FIELD_BYTES_MAX.
    """
    mix = hashlib.sha256()
    for cut in cuts:
        for field in cut:
            if len(field) > CUT_FIELD_BYTES_MAX:
                raise BadShuffleInput("a cut", f"at most {CUT_FIELD_BYTES_MAX} bytes")
            mix.update(len(field).to_bytes(2, "big") + field)
    return mix.digest()


def shuffle(secret: bytes, decks: int, number: int, cuts: Iterable[Cut] = ()) -> list[int]:
    """Return the card indexes of shoe `number` in deal order, each of 0 to 52 * decks - 1 once.

    Raises BadShuffleInput for a secret, deck count, shoe number or cut outside the bounds named above.
    """
    _check_secret(secret)
    if not 1 <= decks <= DECKS_MAX:
        raise BadShuffleInput("the deck count", f"1 to {DECKS_MAX}")
    if not 0 <= number <= SHOE_NUMBER_MAX:
        raise BadShuffleInput("the shoe number", f"0 to {SHOE_NUMBER_MAX}")
    words = _words(secret, _CONSTRUCTION + struct.pack(">BQ", decks, number) + client_mix(cuts))
    order = list(range(CARDS_PER_DECK * decks))
    for last in range(len(order) - 1, 0, -1):
        chosen = below(last + 1, words)
        order[last], order[chosen] = order[chosen], order[last]
    return order


def below(n: int, words: Iterator[int]) -> int:
    """Return an unbiased number under `n` from the next 32-bit words, 1 <= n <= 2^32.

    Words at or above the largest multiple of n are passed over: plain modulo would favour small numbers.
    """
    limit = _WORD_VALUES - _WORD_VALUES % n
    for word in words:
        if word < limit:
            return word % n
    raise BadShuffleInput("the words", "enough for every draw")


def _words(secret: bytes, context: bytes) -> Iterator[int]:
    for number in count():
        yield from _BLOCK_WORDS.unpack(hmac.digest(secret, context + number.to_bytes(4, "big"), "sha256"))


def _check_secret(secret: bytes) -> None:
    if len(secret) != SECRET_BYTES:
        raise BadShuffleInput("the secret", f"{SECRET_BYTES} bytes")
