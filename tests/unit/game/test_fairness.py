"""The shuffle, byte by byte against shoes that two other programs computed, and its bounds and evenness."""

import hashlib
import hmac
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import BadShuffleInput, Cut, below, client_mix, commitment, shuffle

SECRET = bytes(range(32))
VECTORS = pytest.mark.parametrize("number", [0, 1, 2], ids=["two cuts", "six decks", "a rejected word"])


def cuts_of(vector: Any) -> list[Cut]:
    return [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]


def order_of(vector: Any) -> list[int]:
    return shuffle(bytes.fromhex(vector["serverSeed"]), vector["decks"], vector["shoeNumber"], cuts_of(vector))


@VECTORS
def test_commitment_and_client_mix(shuffle_vectors: Any, number: int) -> None:
    vector = shuffle_vectors[number]
    assert commitment(bytes.fromhex(vector["serverSeed"])) == vector["commitment"]
    assert client_mix(cuts_of(vector)).hex() == vector["clientMix"]


@VECTORS
def test_shoes_to_the_byte(shuffle_vectors: Any, number: int) -> None:
    vector = shuffle_vectors[number]
    order = order_of(vector)
    assert order[:10] == vector["firstTenCardIndexes"]
    assert [card_of_index(index).upper() for index in order[:10]] == vector["firstTenCards"]
    assert [card_of_index(index).upper() for index in order[-3:]] == vector["lastThreeCards"]
    shoe_bytes = b"".join(struct.pack(">H", index) for index in order)
    assert hashlib.sha256(shoe_bytes).hexdigest() == vector["shoeSha256"]


def test_the_rejected_word_is_passed_over(shuffle_vectors: Any) -> None:
    """Plain modulo would take the word and give another shoe from that draw on."""
    vector = shuffle_vectors[2]
    assert vector["wordsRejected"] == 1
    assert len(order_of(vector)) == 416
    assert plain_modulo(vector) != order_of(vector)


def plain_modulo(vector: Any) -> list[int]:
    context = b"bac-shoe-v1\x00" + struct.pack(">BQ", vector["decks"], vector["shoeNumber"])
    context += bytes.fromhex(vector["clientMix"])
    blocks = (hmac.digest(SECRET, context + struct.pack(">I", i), "sha256") for i in range(52))
    words = [word for block in blocks for word in struct.unpack(">8I", block)]
    order = list(range(416))
    for word, last in zip(words, range(415, 0, -1), strict=False):
        order[last], order[word % (last + 1)] = order[word % (last + 1)], order[last]
    return order


@pytest.mark.parametrize(
    ("n", "first_rejected", "largest_result"),
    [(7, 4294967292, 6), (416, 4294967040, 415)],
)
def test_draws_are_unbiased(n: int, first_rejected: int, largest_result: int) -> None:
    assert below(n, iter([first_rejected - 1])) == largest_result
    assert below(n, iter([first_rejected, 2**32 - 1, 5])) == 5


def test_powers_of_two_reject_no_word() -> None:
    assert below(256, iter([2**32 - 1])) == 255
    assert below(1, iter([2**32 - 1])) == 0


def test_too_few_words_are_refused() -> None:
    with pytest.raises(BadShuffleInput):
        below(7, iter([2**32 - 1]))


def test_a_shoe_is_a_permutation_that_depends_on_every_input() -> None:
    cuts: list[Cut] = [(b"alice", b"cut-one!"), (b"bob", b"cut-two!")]
    shoes = [
        shuffle(SECRET, 1, 1),
        shuffle(SECRET[::-1], 1, 1),
        shuffle(SECRET, 1, 2),
        shuffle(SECRET, 1, 1, cuts),
        shuffle(SECRET, 1, 1, cuts[::-1]),
        shuffle(SECRET, 1, 1, cuts[:1]),
        shuffle(SECRET, 1, 1, [(b"alicec", b"ut-one!"), cuts[1]]),
    ]
    assert all(sorted(shoe) == list(range(52)) for shoe in shoes)
    assert len({tuple(shoe) for shoe in shoes}) == len(shoes)
    assert [index for index in shuffle(SECRET, 2, 1) if index < 52] != shoes[0]


@pytest.mark.parametrize(
    ("secret", "decks", "number", "cuts"),
    [
        (SECRET[:31], 8, 1, []),
        (SECRET + b"\x00", 8, 1, []),
        (b"", 8, 1, []),
        (SECRET, 0, 1, []),
        (SECRET, 256, 1, []),
        (SECRET, 8, -1, []),
        (SECRET, 8, 2**64, []),
        (SECRET, 8, 1, [(b"x" * 65536, b"cut")]),
        (SECRET, 8, 1, [(b"alice", b"x" * 65536)]),
    ],
)
def test_what_the_construction_has_no_bytes_for(secret: bytes, decks: int, number: int, cuts: list[Cut]) -> None:
    with pytest.raises(BadShuffleInput) as refused:
        shuffle(secret, decks, number, cuts)
    assert secret.hex() not in str(refused.value) or not secret
    assert sorted(shuffle(SECRET, 1, 2**64 - 1, [(b"", b"x" * 65535)])) == list(range(52))


def test_bl_036_no_place_is_favoured() -> None:
    """BL-036: which card lands in places 1, 2 and 52, over 20,000 fresh decks; chi-square under its 0.1 % bound."""
    shoes = list(fresh_shoes(20_000))
    expected = len(shoes) / 52
    for place in (0, 1, 51):
        seen = Counter(shoe[place] for shoe in shoes)
        chi_square = sum((seen[index] - expected) ** 2 / expected for index in range(52))
        assert chi_square < 87.97, place  # 51 degrees of freedom


def test_bl_038_no_two_shoes_share_an_order() -> None:
    """BL-038: shoes of one secret differ by their number alone, in their first cards already."""
    assert len({tuple(shoe[:20]) for shoe in fresh_shoes(2_000)}) == 2_000


def fresh_shoes(shoes: int) -> Iterator[list[int]]:
    return (shuffle(SECRET, 1, number) for number in range(shoes))
