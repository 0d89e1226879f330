"""The seals of one table held against its entries, as they come in order.

A seal covers entries that came before its mark, while others may have come in between, so entries wait here until a
seal is told that covers them. Pure.
"""

from client_sdk.game.seals import Seal, SealInMaking


class SealChain:
    """`seal` is the last one that was told; None: the ledger begins in the middle, and the first seal is believed."""

    def __init__(self, start: Seal | None) -> None:
        self.seal = start
        self.checked = 0
        """How many seals were computed and found right."""
        self._waiting: list[tuple[int, bytes]] = []

    def enter(self, number: int, entry: bytes) -> None:
        """Take the bytes of the next entry."""
        self._waiting.append((number, entry))

    def check(self, told: Seal) -> str | None:
        """Compare with what the entries make; returns what is wrong. Later seals are held against this one."""
        before, self.seal = self.seal, told
        if told == before:
            return None
        covered = [each for each in self._waiting if each[0] <= told.sealed_to]
        self._waiting = self._waiting[len(covered) :]
        if before is None:
            return None
        making = SealInMaking(before)
        for number, entry in covered:
            making.add(number, entry)
        if making.seal() != told:
            return f"the seal over entries {before.sealed_to + 1} to {told.sealed_to} is not theirs"
        self.checked += 1
        return None
