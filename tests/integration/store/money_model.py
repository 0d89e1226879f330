"""What every patron must have, written down plainly beside a store in play: what was put in and taken out, and what the
rules make of each bet that was settled. It reads keys with a client of its own and knows no script."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgpack

from client_sdk.game.tableau import Outcome
from server.store import keys
from tests.integration.store.checks import Ledger
from tests.support import plain_rules

VARIANTS: Final = ("royal", "red-lounge")
HOUSES: Final = ("royal-1", "red-lounge-1")
"""Whose rules the second calculation goes by, for the tables in their order."""
MINIMUM, MAXIMUM, MAXIMUM_TIE = 10, 100, 50
Bets = dict[str, int]


class MoneyModel:
    """The model. `look` after each call that may have changed the store."""

    def __init__(self, ledger: Ledger, tables: Sequence[str], patrons: Sequence[str]) -> None:
        self._ledger = ledger
        self._tables = tables
        self._patrons = patrons
        self._decided: dict[tuple[str, int], dict[str, int]] = {}
        """By round: what each patron wins by it, as soon as its bets are settled."""

    async def look(self) -> None:
        """Hold what lies in the store against what must."""
        read = [await _Read.of(self._ledger, table) for table in self._tables]
        for house, at in zip(HOUSES, read, strict=True):
            self._decide(at, house)
            for bets in at.layouts.values():
                _check_limits(bets)
        for patron in self._patrons:
            wallet = await self._ledger.hash_of(keys.wallet_key(patron))
            balance, put_in, taken_out = (int(wallet.get(name, b"0")) for name in ("balance", "put_in", "taken_out"))
            has = balance + sum(at.holds(patron, wallet) for at in read)
            won = sum(self._won(at, patron) for at in read)
            assert balance >= 0
            assert has == put_in - taken_out + won, f"{patron} has {has}, not {put_in} - {taken_out} + {won}"

    def _decide(self, at: "_Read", house: str) -> None:
        """Note what a round brings, at the first sight of its outcome: no bet can have been settled before it."""
        key = (at.table, at.round)
        if at.head["phase"] != b"settling" or key in self._decided:
            return
        state = msgpack.unpackb(at.head["state"])
        outcome = None if state.get("is_void") else Outcome(state["outcome"]).value
        self._decided[key] = {patron: _gain(house, bets, outcome) for patron, bets in at.layouts.items()}

    def _won(self, at: "_Read", patron: str) -> int:
        return sum(
            gains.get(patron, 0)
            for (table, number), gains in self._decided.items()
            if table == at.table and not (number == at.round and patron in at.layouts)
        )


class _Read(NamedTuple):
    """A table as it lies there."""

    table: str
    head: dict[str, bytes]
    layouts: dict[str, Bets]
    stacks: dict[str, int]
    transfers: dict[str, bytes]
    outgoing: dict[str, bytes]

    @classmethod
    async def of(cls, ledger: Ledger, table: str) -> "_Read":
        key = keys.table_key(table)
        return cls(
            table,
            await ledger.hash_of(key),
            await ledger.layouts(table),
            await ledger.numbers_of(f"{key}:stacks"),
            await ledger.hash_of(f"{key}:transfers"),
            await ledger.hash_of(f"{key}:outgoing"),
        )

    @property
    def round(self) -> int:
        return int(self.head["round"])

    def holds(self, patron: str, wallet: dict[str, bytes]) -> int:
        """Everything of this patron that lies here, or is on the way between wallet and table."""
        stack = self.stacks.get(patron, 0)
        assert stack >= 0
        there = stack + sum(self.layouts.get(patron, {}).values())
        n, decided = int(wallet.get(f"out:{self.table}", b"0")), int(self.transfers.get(f"in:{patron}", b"0"))
        assert decided <= n, "no chips come that were not given"
        was_taken = decided == n and self.transfers.get(f"in_answer:{patron}") == b"ok"
        if n and wallet[f"out_answer:{self.table}"] == b"" and not was_taken:
            there += int(wallet[f"out_amount:{self.table}"])
        if patron in self.outgoing:
            out, amount = msgpack.unpackb(self.outgoing[patron])
            there += amount if int(wallet.get(f"in:{self.table}", b"0")) < out else 0
        return there


def _check_limits(bets: Bets) -> None:
    for spot, amount in bets.items():
        assert MINIMUM <= amount <= (MAXIMUM_TIE if spot == "tie" else MAXIMUM), bets


def _gain(house: str, bets: Bets, outcome: str | None) -> int:
    if outcome is None:
        return 0
    lines: Any = plain_rules.results(house, bets, outcome)
    return sum(line["payout"] - line["stake"] for line in lines.values())
