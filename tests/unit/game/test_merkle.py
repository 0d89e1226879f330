"""The tree over a shoe: roots of other programs, a tree built by hand, every proof, and no proof with a bit changed."""

import hashlib
import hmac
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.fairness import shuffle
from client_sdk.game.merkle import HASH_BYTES, SALT_BYTES, CardProof, root_of_proof, shoe_tree

SECRET = bytes(range(32))
ORDER = tuple(shuffle(SECRET, 1, 3))
TREE = shoe_tree(SECRET, 1, 3, ORDER)


def root_by_hand(secret: bytes, decks: int, number: int, order: list[int]) -> bytes:
    """The root by halves: the left one as large as a full tree that leaves something for the right."""
    message = b"bac-salt-v1\x00" + struct.pack(">BQ", decks, number)
    leaves = [
        hashlib.sha256(
            b"\x00"
            + struct.pack(">I", position)
            + struct.pack(">H", index)
            + hmac.new(secret, message + struct.pack(">I", position), "sha256").digest()[:16]
        ).digest()
        for position, index in enumerate(order)
    ]

    def over(nodes: list[bytes]) -> bytes:
        if len(nodes) == 1:
            return nodes[0]
        left = 1
        while 2 * left < len(nodes):
            left *= 2
        return hashlib.sha256(b"\x01" + over(nodes[:left]) + over(nodes[left:])).digest()

    return over(leaves)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_roots_to_the_byte(shuffle_vectors: Any, number: int) -> None:
    vector = shuffle_vectors[number]
    secret, decks, shoe_number = bytes.fromhex(vector["serverSeed"]), vector["decks"], vector["shoeNumber"]
    cuts = [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]
    order = shuffle(secret, decks, shoe_number, cuts)
    tree = shoe_tree(secret, decks, shoe_number, order)
    assert tree.root.hex() == vector["merkleRoot"]
    for position, index in enumerate(order):
        proof = tree.proof(position)
        assert proof.index == index
        assert root_of_proof(proof, position, len(order)) == tree.root


def test_trees_of_every_size() -> None:
    """An unpaired last node goes up unchanged, on whatever level it stands."""
    for size in range(1, 70):
        order = list(range(size))[::-1]
        tree = shoe_tree(SECRET, 2, 9, order)
        assert tree.root == root_by_hand(SECRET, 2, 9, order)
        for position in range(size):
            assert root_of_proof(tree.proof(position), position, size) == tree.root


def test_an_unpaired_card_has_a_shorter_path() -> None:
    tree = shoe_tree(SECRET, 1, 1, range(5))
    assert [len(tree.proof(position).path) for position in range(5)] == [3, 3, 3, 3, 1]


def test_everything_that_goes_in_moves_the_root() -> None:
    roots = {
        TREE.root,
        shoe_tree(SECRET[::-1], 1, 3, ORDER).root,
        shoe_tree(SECRET, 2, 3, ORDER).root,
        shoe_tree(SECRET, 1, 4, ORDER).root,
        shoe_tree(SECRET, 1, 3, ORDER[::-1]).root,
        shoe_tree(SECRET, 1, 3, (ORDER[1], ORDER[0], *ORDER[2:])).root,
        shoe_tree(SECRET, 1, 3, ORDER[:-1]).root,
    }
    assert len(roots) == 7


def test_a_tree_tells_its_root_and_no_card() -> None:
    assert repr(TREE) == f"ShoeTree(52 cards, root={TREE.root.hex()})"
    assert len({proof.salt for proof in map(TREE.proof, range(52))}) == 52


def flipped(value: bytes, bit: int) -> bytes:
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@settings(deadline=None)
@given(st.integers(0, 51), st.integers(0, 8 * SALT_BYTES - 1), st.integers(0, 8 * HASH_BYTES - 1), st.data())
def test_no_proof_with_a_bit_changed_leads_to_the_root(
    position: int, salt_bit: int, path_bit: int, data: st.DataObject
) -> None:
    proof = TREE.proof(position)
    sibling = data.draw(st.integers(0, len(proof.path) - 1))
    path = list(proof.path)
    path[sibling] = flipped(path[sibling], path_bit)
    index_bit = data.draw(st.integers(0, 15))
    other = data.draw(st.integers(0, 51).filter(lambda other: other != position))
    assert root_of_proof(proof, position, 52) == TREE.root
    assert root_of_proof(replace(proof, salt=flipped(proof.salt, salt_bit)), position, 52) != TREE.root
    assert root_of_proof(replace(proof, path=tuple(path)), position, 52) != TREE.root
    assert root_of_proof(replace(proof, index=proof.index ^ (1 << index_bit)), position, 52) != TREE.root
    assert root_of_proof(proof, other, 52) != TREE.root


PROOF = TREE.proof(10)


@pytest.mark.parametrize(
    ("proof", "position"),
    [
        (PROOF, -1),
        (PROOF, 52),
        (replace(PROOF, index=-1), 10),
        (replace(PROOF, index=52), 10),
        (replace(PROOF, index=2**16), 10),
        (replace(PROOF, salt=PROOF.salt[:-1]), 10),
        (replace(PROOF, salt=PROOF.salt + b"\x00"), 10),
        (replace(PROOF, salt=b""), 10),
        (replace(PROOF, path=()), 10),
        (replace(PROOF, path=PROOF.path[:-1]), 10),
        (replace(PROOF, path=(*PROOF.path, TREE.root)), 10),
        (replace(PROOF, path=(PROOF.path[0][:-1], *PROOF.path[1:])), 10),
        (replace(PROOF, path=(b"", *PROOF.path)), 10),
        (PROOF, 51),
    ],
)
def test_a_proof_of_another_form_leads_nowhere(proof: CardProof, position: int) -> None:
    assert root_of_proof(proof, position, 52) is None


def test_leaves_and_nodes_are_hashed_apart() -> None:
    """Else the two hashes under a node could be passed off as a card."""
    tree = shoe_tree(SECRET, 1, 3, range(2))
    left, right = tree.levels[0]
    assert tree.root == hashlib.sha256(b"\x01" + left + right).digest()
    assert len({left, right, tree.root, *(hashlib.sha256(tag + left + right).digest() for tag in (b"", b"\x00"))}) == 5
