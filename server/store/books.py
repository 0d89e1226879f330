"""What an audit reads: everything that a table or a wallet has counted, each slot at one instant. Writes nothing."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgpack

from server.store import keys
from server.store.driver import Driver, Script

_TABLE: Final = Script("audit_table", "_table")
_WALLET: Final = Script("audit_wallet", "_wallet")
SCAN_COUNT: Final = 500


class TableBook(NamedTuple):
    """A table's money, minor units. By patron: `taken` was bought in, `given` cashed out, `leaving` is on its way
    home."""

    bought_in: int
    cashed_out: int
    house: int
    stacks: int
    open_bets: int
    taken: dict[str, int]
    given: dict[str, int]
    leaving: dict[str, int]
    stack_of: dict[str, int]
    bets_of: dict[str, int]
    entered_to: int | None
    """The last entry of its ledger; None where the table is older than its ledger."""


class WalletBook(NamedTuple):
    """A wallet's money, minor units: what the operator has put in and taken out, and by table what was `given` (bought
    in) and `taken` (cashed out), and what is `leaving` for it."""

    balance: int
    put_in: int
    taken_out: int
    given: dict[str, int]
    taken: dict[str, int]
    leaving: dict[str, int]
    entered_to: int


class Books:
    """The books of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def table(self, table: str) -> TableBook:
        """Read a table's book. Raises `Refused` UNKNOWN_TABLE."""
        answer = await self._driver.run(_TABLE, keys.table_keys(table))
        bought_in, cashed_out, house, *packed, entered_to = answer[2:]
        stack_of, bets_of, transfers, leaving = (msgpack.unpackb(each) or {} for each in packed)
        return TableBook(
            bought_in,
            cashed_out,
            house,
            sum(stack_of.values()),
            sum(bets_of.values()),
            {patron: taken for patron, (taken, _) in transfers.items()},
            {patron: given for patron, (_, given) in transfers.items()},
            leaving,
            stack_of,
            bets_of,
            entered_to if entered_to >= 0 else None,
        )

    async def wallet(self, patron: str) -> WalletBook:
        """Read a wallet's book. Raises `Refused` UNKNOWN_PATRON."""
        _, balance, put_in, taken_out, entered_to, *flat = await self._driver.run(_WALLET, keys.wallet_keys(patron))
        kept: dict[str, dict[str, str]] = {"out_total": {}, "in_total": {}, "out_amount": {}, "out_answer": {}}
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            kind, _, table = name.decode().partition(":")
            kept[kind][table] = value.decode()
        return WalletBook(
            balance,
            put_in,
            taken_out,
            {table: int(total) for table, total in kept["out_total"].items()},
            {table: int(total) for table, total in kept["in_total"].items()},
            {table: int(kept["out_amount"][table]) for table, answer in kept["out_answer"].items() if answer == ""},
            entered_to,
        )

    async def patrons(self) -> AsyncIterator[str]:
        """List everybody who has a wallet, each once."""
        seen: set[str] = set()
        async for key in self._driver.scan(keys.WALLETS_PATTERN, SCAN_COUNT):
            patron = unquote(key.removeprefix(keys.WALLETS_PREFIX).removesuffix("}"))
            if patron not in seen:
                seen.add(patron)
                yield patron
