"""A table's ledger as it comes, entry by entry: what it makes, and whether each entry and each seal follows from those
before. Pure."""

from collections.abc import Iterator

from client_sdk.game.seals import FIRST_SEAL
from server.ledger.chain import SealChain
from server.ledger.entries import BadEntry, SealMark, unpack_entry
from server.ledger.replay import TableReplay


class Playback:
    """Begins after entry `after`. From the first entry on everything is checked; where it begins later, the first seal
    is believed, and stacks are not known."""

    def __init__(self, after: int = 0) -> None:
        self.replay = TableReplay() if after == 0 else None
        self.chain = SealChain(FIRST_SEAL if after == 0 else None)
        self.last = after

    def enter(self, number: int, packed: bytes) -> Iterator[str]:
        """Take the next entry; gives what is wrong with it."""
        if number != self.last + 1:
            yield f"entries {self.last + 1} to {number - 1} are missing"
        self.last = number
        try:
            entry = unpack_entry(packed)
        except BadEntry as error:
            yield f"entry {number}: {error}"
        else:
            faults = self.replay.enter(entry) if self.replay is not None else []
            if isinstance(entry, SealMark) and (fault := self.chain.check(entry.seal)):
                faults = [*faults, fault]
            yield from (f"entry {number}: {fault}" for fault in faults)
        self.chain.enter(number, packed)
