"""The seal over a table's ledger: a chain of SHA-256 that shows any later change of an entry to whoever holds a seal.

    seal(0) = 32 zero bytes
    seal(i) = SHA-256(seal(i - 1) || the bytes of all entries since the last seal, in order)

Entries are whole MessagePack values, so their boundaries can't be moved without changing the bytes. A seal is made
where a round ends; every seat gets it with the round's public event. What entries mean is not known here.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple


class Seal(NamedTuple):
    """`digest` (hex) stands for every entry up to number `sealed_to`."""

    digest: str
    sealed_to: int


FIRST_SEAL: Final = Seal("00" * 32, 0)
"""Before any entry."""


class SealInMaking:
    """Takes entries one by one, so that a long ledger need not lie in memory."""

    def __init__(self, previous: Seal) -> None:
        self._sha256 = hashlib.sha256(bytes.fromhex(previous.digest))
        self.sealed_to = previous.sealed_to

    def add(self, number: int, entry: bytes) -> None:
        """Take the bytes of the next entry."""
        self._sha256.update(entry)
        self.sealed_to = number

    def seal(self) -> Seal:
        """The seal over all that was taken; further entries may follow."""
        return Seal(self._sha256.hexdigest(), self.sealed_to)


def seal_after(previous: Seal, entries: Iterable[tuple[int, bytes]]) -> Seal:
    """Seal the numbered entries that follow the previous seal."""
    making = SealInMaking(previous)
    for number, entry in entries:
        making.add(number, entry)
    return making.seal()
