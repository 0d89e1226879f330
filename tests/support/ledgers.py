"""Ledgers made by hand: entries packed as the scripts pack them."""

from typing import Any, Final

import msgpack

from client_sdk.game.seals import FIRST_SEAL, Seal, seal_after

AT_MS: Final = 1_700_000_000_000


def packed(*entry: Any) -> bytes:
    """An entry as `cmsgpack` packs it: one kind of string, whole numbers."""
    made: bytes = msgpack.packb(entry, use_bin_type=False)
    return made


def record(number: int, bets: dict[str, int], payouts: dict[str, int], outcome: str | None) -> bytes:
    """A round as `settling.py` packs it."""
    results = {
        spot: {"stake": stake, "payout": payouts.get(spot, 0), "commission": 0, "result": "win", "capped": 0}
        for spot, stake in bets.items()
    }
    made: bytes = msgpack.packb({"round": number, "outcome": outcome, "bets": bets, "results": results})
    return made


def line(patron: str, number: int, bets: dict[str, int], payouts: dict[str, int], stack: int) -> tuple[Any, ...]:
    """One patron's part of a settlement."""
    stake, payout = sum(bets.values()), sum(payouts.values())
    return (patron, stake, payout, stack, record(number, bets, payouts, "player"))


class LedgerMaker:
    """Grows a ledger; `entries` are numbered from 1."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.seal = FIRST_SEAL

    def enter(self, *entry: Any) -> None:
        self.entries.append(packed(*entry))

    def seal_all(self, number: int = 1) -> Seal:
        """Seal what is there, and set the mark."""
        after = self.seal.sealed_to
        self.seal = seal_after(self.seal, enumerate(self.entries[after:], after + 1))
        self.enter("seal", AT_MS, number, *self.seal)
        return self.seal

    def play(self, number: int = 1) -> None:
        """A round of two patrons, begun with 1,000 each in the first."""
        if number == 1:
            for patron in ("ann", "bob"):
                self.enter("buy_in", AT_MS, patron, 1, 1_000, 1_000)
        won = 10 * (number - 1)
        self.enter("act", AT_MS, "ann", "r1", number, "place", "player", 10, 10, 0, 0, 990 + won)
        self.enter("act", AT_MS, "bob", "r2", number, "place", "banker", 5, 0, 5, 0, 995)
        self.enter("act", AT_MS, "bob", "r3", number, "undo", "banker", 0, 0, -5, 0, 1_000)
        ann = line("ann", number, {"player": 10}, {"player": 20}, 1_010 + won)
        self.enter("settle", AT_MS, number, -10, [ann])
        self.seal_all(number)
