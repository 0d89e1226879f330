"""The chain of seals, computed a second time by hand, and what a change of one byte does to it."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.seals import FIRST_SEAL, Seal, SealInMaking, seal_after

entries = st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=12)


def numbered(packed: list[bytes], after: int = 0) -> list[tuple[int, bytes]]:
    return list(enumerate(packed, after + 1))


def test_the_first_seal_is_32_zero_bytes() -> None:
    assert (FIRST_SEAL.digest, FIRST_SEAL.sealed_to) == ("00" * 32, 0)
    assert seal_after(FIRST_SEAL, []) == FIRST_SEAL._replace(digest=hashlib.sha256(bytes(32)).hexdigest())


def test_a_seal_is_the_hash_of_the_one_before_and_the_entries() -> None:
    first = seal_after(FIRST_SEAL, numbered([b"one", b"two"]))
    assert first == Seal(hashlib.sha256(bytes(32) + b"onetwo").hexdigest(), 2)
    second = seal_after(first, numbered([b"three"], 2))
    assert second == Seal(hashlib.sha256(bytes.fromhex(first.digest) + b"three").hexdigest(), 3)


@settings(deadline=None, derandomize=True)
@given(packed=entries, cut=st.integers(0, 12))
def test_taken_one_by_one_or_at_once_it_is_the_same(packed: list[bytes], cut: int) -> None:
    making = SealInMaking(FIRST_SEAL)
    for number, entry in numbered(packed[:cut]):
        making.add(number, entry)
    making.seal()  # looking changes nothing
    for number, entry in numbered(packed[cut:], len(packed[:cut])):
        making.add(number, entry)
    assert making.seal() == seal_after(FIRST_SEAL, numbered(packed))


@settings(deadline=None, derandomize=True)
@given(packed=entries, data=st.data())
def test_any_change_makes_another_seal(packed: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(packed) - 1))
    bit = data.draw(st.integers(0, len(packed[at]) * 8 - 1))
    edited = bytearray(packed[at])
    edited[bit // 8] ^= 1 << bit % 8
    before = seal_after(FIRST_SEAL, numbered(packed))
    after = seal_after(FIRST_SEAL, numbered([*packed[:at], bytes(edited), *packed[at + 1 :]]))
    assert after != before
    later = [(len(packed) + 1, b"later")]
    assert seal_after(after, later) != seal_after(before, later)


def test_a_seal_is_no_sum_of_its_parts() -> None:
    with pytest.raises(ValueError, match="non-hexadecimal"):
        SealInMaking(Seal("no hex", 1))
