"""Money on its way between a wallet and a table: two slots of the store, so never one script.

Each way is a numbered transfer: the giver debits and keeps {n, amount}; the receiver decides n once and keeps the
answer; the giver closes n by that answer. Whoever finds an open one drives it on, and driving it twice does nothing
twice. No step is sent before the one before it was answered. The scripts are `server/store/lua`'s.
"""

from typing import Final, NamedTuple

from server.store.errors import Refused
from server.store.tables import Seated, Tables
from server.store.wallets import Wallets

PAGE_MAX: Final = 100


class Sitter(NamedTuple):
    """Who wants a seat, and where the patron is reached."""

    patron: str
    name: str
    bot: bool
    node: str
    connection: str


class Cashier:
    """Seats patrons with their chips, and sends the chips home when they leave."""

    def __init__(self, tables: Tables, wallets: Wallets) -> None:
        self._tables = tables
        self._wallets = wallets

    async def sit_down(self, table: str, sitter: Sitter, request_id: str, buy_in: int) -> Seated:
        """Take a seat with `buy_in` minor units from the wallet (0: only the seat).

        Raises `Refused`: REQUEST_REUSED, INSUFFICIENT_WALLET, TABLE_FULL, UNKNOWN_TABLE; the money is back in the
        wallet then.
        """
        if buy_in == 0:
            return await self._sit_without_chips(table, sitter)
        try:
            given = await self._wallets.give_buy_in(sitter.patron, table, request_id, buy_in)
        except Refused as refused:
            if refused.code != "OPEN":
                raise
            n, amount = refused.details
            await self._carry_in(table, sitter, _number(n), _number(amount))
            given = await self._wallets.give_buy_in(sitter.patron, table, request_id, buy_in)
        if given.answer == "ok":  # this very request was carried out before
            return await self._tables.sit(table, *sitter)
        if given.answer:
            raise Refused(given.answer)
        return await self._carry_in(table, sitter, given.n, given.amount)

    async def _sit_without_chips(self, table: str, sitter: Sitter) -> Seated:
        """Take a seat; chips that were on their way when a node died arrive with it."""
        wallet = await self._wallets.read(sitter.patron, table)
        if wallet is None:  # a store that came back empty: nobody sits there whom it does not know
            raise Refused("UNKNOWN_PATRON")
        if wallet.open_n:
            return await self._carry_in(table, sitter, wallet.open_n, wallet.open_amount)
        return await self._tables.sit(table, *sitter)

    async def _carry_in(self, table: str, sitter: Sitter, n: int, amount: int) -> Seated:
        try:
            seated = await self._tables.sit(table, *sitter, n, amount)
        except Refused as refused:
            await self._wallets.close_buy_in(sitter.patron, table, n, refused.code)
            raise
        await self._wallets.close_buy_in(sitter.patron, table, n, "ok")
        return seated

    async def get_up(
        self, table: str, patron: str, connection: str = "", reason: str = "", request_id: str = ""
    ) -> int | None:
        """Give the seat up and carry the stack home; returns the wallet's balance, or None where bets lie (after the
        round). The same request again gives the same answer, with what the wallet holds then.

        Raises `Refused` NOT_SEATED, SEAT_TAKEN_OVER.
        """
        leaving = await self._tables.leave(table, patron, connection, reason, request_id)
        if leaving.how == "open":  # an earlier cash-out stopped half-way
            await self._carry_home(table, patron, leaving.n, leaving.amount)
            try:
                leaving = await self._tables.leave(table, patron, connection, reason, request_id)
            except Refused as refused:
                if refused.code != "NOT_SEATED":
                    raise
                return await self.balance(patron)
        if leaving.how in ("after_round", "stayed"):
            return None
        if leaving.n:
            await self._carry_home(table, patron, leaving.n, leaving.amount)
        return await self.balance(patron)

    async def carry_all_home(self, table: str) -> None:
        """Drive on the cash-outs of a table that stopped half-way."""
        while page := await self._tables.open_cash_outs(table, PAGE_MAX):
            for patron, n, amount in page:
                await self._carry_home(table, patron, n, amount)

    async def _carry_home(self, table: str, patron: str, n: int, amount: int) -> None:
        await self._wallets.take_cash_out(patron, table, n, amount)
        await self._tables.close_cash_out(table, patron, n)

    async def balance(self, patron: str) -> int:
        """Read what the wallet holds. Raises `Refused` UNKNOWN_PATRON."""
        wallet = await self._wallets.read(patron)
        if wallet is None:
            raise Refused("UNKNOWN_PATRON")
        return wallet.balance


def _number(value: object) -> int:
    assert isinstance(value, int), "the script answers with numbers"
    return value
