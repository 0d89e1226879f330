"""Money on its way between a wallet and a table: two slots of the store, so never one script.

Each way is a numbered transfer: the giver debits and keeps {n, amount}; the receiver decides n once and keeps the
answer; the giver closes n by that answer. Whoever finds an open one drives it on, and driving it twice does nothing
twice: the patron's next act at that table, the patron's next hello, or the table's owner (`sweeping.py`). No step is
sent before the one before it was answered. The scripts are `server/store/lua`'s.
"""

import logging
from typing import Final, NamedTuple

from server.store.errors import Refused
from server.store.tables import Tables
from server.store.wallets import BuyIn, Purse, Wallets

log = logging.getLogger(__name__)

PAGE_MAX: Final = 100
WALLETS_PAGE_MAX: Final = 40
"""Wallets read together: the store is busy with them for a few milliseconds."""
BUY_IN_AGE_MS: Final = 10_000
"""A buy-in announced so long ago is looked after: each of its steps takes three seconds at most, or has failed."""


NAMED_MAX: Final = 5
OTHERS_MAX: Final = 8
"""So many transfers of one patron at one table, begun on other sockets meanwhile, are driven on before an own one."""


class Sitter(NamedTuple):
    """Who wants a seat, and where the patron is reached. Without a `connection` nobody is there."""

    patron: str
    name: str
    bot: bool
    node: str
    connection: str


class SatDown(NamedTuple):
    """A seat, as `Tables.sit` gives it, and the wallet behind it once the chips were taken from there."""

    stack: int
    connection_before: str
    is_seated: bool
    purse: Purse


class Cashier:
    """Seats patrons with their chips, and sends the chips home when they leave."""

    def __init__(self, tables: Tables, wallets: Wallets) -> None:
        self._tables = tables
        self._wallets = wallets

    # --- to a table ---------------------------------------------------------------------------------------------------

    async def sit_down(
        self, table: str, sitter: Sitter, request_id: str, buy_in: int, *, take_back: bool = False
    ) -> SatDown:
        """Take a seat with `buy_in` minor units from the wallet (0: only the seat; with `take_back` only one's own).

        Raises `Refused`: UNKNOWN_TABLE, NOT_SEATED, REQUEST_REUSED, EXCLUDED, INSUFFICIENT_WALLET, BUSY, TABLE_CLOSED,
        TABLE_FULL; the money is in the wallet then.
        """
        if buy_in == 0:
            return await self._sit_without_chips(table, sitter, take_back)
        await self._tables.expect_buy_in(table, sitter.patron)
        given = await self._give(table, sitter, request_id, buy_in)
        if given.answer == "ok":  # this very request was carried out before
            return await self._sit_without_chips(table, sitter, take_back=False)
        if given.answer:
            raise Refused(given.answer)
        return await self._carry_in(table, sitter, given.n, given.amount)

    async def _give(self, table: str, sitter: Sitter, request_id: str, buy_in: int) -> BuyIn:
        """Start a buy-in; one of this patron that is under way is driven on first."""
        for _ in range(OTHERS_MAX):
            try:
                return await self._wallets.give_buy_in(sitter.patron, table, request_id, buy_in)
            except Refused as refused:
                if refused.code != "OPEN":
                    raise
                await self._carry_in(table, sitter, refused.number(0), refused.number(1))
        raise Refused("BUSY")

    async def _sit_without_chips(self, table: str, sitter: Sitter, take_back: bool) -> SatDown:
        """Take a seat; chips that were on their way when a node died arrive with it."""
        wallet = await self._wallets.read(sitter.patron, table)
        if wallet is None:  # a store that came back empty: nobody sits there whom it does not know
            raise Refused("UNKNOWN_PATRON")
        if wallet.open_n:
            return await self._carry_in(table, sitter, wallet.open_n, wallet.open_amount)
        seated = await self._tables.sit(table, *sitter, take_back=take_back)
        return SatDown(*seated, Purse(wallet.balance, wallet.limits_version))

    async def _carry_in(self, table: str, sitter: Sitter, n: int, amount: int) -> SatDown:
        try:
            seated = await self._tables.sit(table, *sitter, n, amount)
        except Refused as refused:
            await self._wallets.close_buy_in(sitter.patron, table, n, refused.code)
            raise
        return SatDown(*seated, await self._wallets.close_buy_in(sitter.patron, table, n, "ok"))

    async def carry_in(self, table: str, patron: str) -> None:
        """Drive a buy-in on that stopped half-way, if there is one: the chips come to the patron's seat, or to one that
        is away, or back into the wallet."""
        wallet = await self._wallets.read(patron, table)
        if wallet is None or not wallet.open_n:
            return
        nobody = Sitter(patron, wallet.name, wallet.bot, node="", connection="")
        try:
            await self._carry_in(table, nobody, wallet.open_n, wallet.open_amount)
        except Refused:
            pass  # the money is back

    async def carry_all_in_of(self, patron: str) -> int:
        """Drive on whatever this patron has on its way to tables; returns to how many."""
        tables = await self._wallets.open_buy_ins(patron)
        for table in tables:
            await self.carry_in(table, patron)
        return len(tables)

    async def carry_all_in(self, table: str, age_ms: int = BUY_IN_AGE_MS) -> None:
        """Drive on the buy-ins to a table that were announced so long ago and have stopped half-way."""
        while page := await self._tables.expected_buy_ins(table, age_ms, WALLETS_PAGE_MAX):
            for patron in await self._wallets.open_at(table, [patron for patron, _ in page]):
                await self.carry_in(table, patron)
            await self._tables.forget_buy_ins(table, page)

    # --- to a wallet --------------------------------------------------------------------------------------------------

    async def get_up(
        self, table: str, patron: str, connection: str = "", reason: str = "", request_id: str = ""
    ) -> int | None:
        """Give the seat up and carry the stack home; returns the wallet's balance, or None where bets lie (after the
        round). The same request again gives the same answer, with what the wallet holds then.

        Raises `Refused` NOT_SEATED, SEAT_TAKEN_OVER.
        """
        has_carried = False  # an earlier cash-out that stopped half-way: it may have been this very request's
        for _ in range(OTHERS_MAX):
            try:
                leaving = await self._tables.leave(table, patron, connection, reason, request_id)
            except Refused as refused:
                if refused.code != "NOT_SEATED" or not has_carried:
                    raise
                break
            if leaving.how in ("after_round", "stayed"):
                return None
            if leaving.n:
                await self._carry_home(table, patron, leaving.n, leaving.amount)
                has_carried = True
            if leaving.how == "gone":
                break
        return await self.balance(patron)

    async def carry_all_home(self, table: str) -> None:
        """Drive on the cash-outs of a table that stopped half-way; one without a wallet waits where it is."""
        while page := await self._tables.open_cash_outs(table, PAGE_MAX):
            waiting = []
            for patron, n, amount in page:
                try:
                    await self._carry_home(table, patron, n, amount)
                except Refused:
                    waiting.append(patron)
            if waiting:  # some others may come with the next sweep
                log.error("cash_outs_without_wallet", extra={"table": table, "patrons": ",".join(waiting[:NAMED_MAX])})
                return

    async def _carry_home(self, table: str, patron: str, n: int, amount: int) -> None:
        await self._wallets.take_cash_out(patron, table, n, amount)
        await self._tables.close_cash_out(table, patron, n)

    async def balance(self, patron: str) -> int:
        """Read what the wallet holds. Raises `Refused` UNKNOWN_PATRON."""
        wallet = await self._wallets.read(patron)
        if wallet is None:
            raise Refused("UNKNOWN_PATRON")
        return wallet.balance
