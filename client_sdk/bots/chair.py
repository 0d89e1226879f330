"""Takes a bot's seat and gives it up, with the chips that go to and fro between wallet and stack.

Each transfer is checked at both ends. What happens on the seat is `seat`'s and `bettor`'s. Read next: `bot`.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from client_sdk.bots.acts import house_of
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.seat import Seat
from client_sdk.bots.strategies import cheapest_bet
from client_sdk.client import Client
from client_sdk.exceptions import (
    Disconnected,
    InsufficientWallet,
    NotNow,
    NotSeated,
    PuntoError,
    Refused,
    TableFull,
    TimedOut,
)
from client_sdk.protocol.messages import TableRules, TableSummary
from client_sdk.table import Table

BUY_IN_BETS: Final = 100
"""The stack that a bot sits down with unless told otherwise, in smallest bets."""
LEAVE_MS_MAX: Final = 2_000
"""How long a bot that is stopped waits for its seat to be given up."""


class Chair:
    """One bot's way into and out of a seat."""

    def __init__(self, client: Client, plan: Plan, tally: Tally) -> None:
        self._client = client
        self._plan = plan
        self._tally = tally

    async def sit_down(self, tables: Sequence[TableSummary]) -> Table:
        """Sit down at the first of these tables that has a seat. Raises TableFull where none has, and PuntoError."""
        refusal: TableFull | None = None
        for summary in tables:
            wallet = self._client.wallet
            buy_in = self._buy_in_of(summary.rules)
            try:
                table = await self._client.join(summary.table, buy_in=buy_in)
            except TableFull as full:
                refusal = full
                continue
            self._check_wallet(table, wallet - buy_in)
            self._check_stack(table, buy_in, f"sat down with {buy_in}")
            return table
        assert refusal is not None, "a fleet has at least one table"
        raise refusal

    async def buy_more(self, table: Table, seat: Seat) -> None:
        """Fill the stack up from the wallet, if there is anything in it."""
        ledger, wallet = seat.ledger, self._client.wallet
        before, buy_in = ledger.holding.stack, self._buy_in_of(table.mirror.rules)
        if not buy_in or not ledger.is_sure:
            return
        ledger.begin_buy_in(buy_in)
        try:
            await self._client.join(table.id, buy_in=buy_in)
        except InsufficientWallet:
            self._find(Kind.STACK, table, f"a wallet told as {wallet} does not hold {buy_in}")
            ledger.end_buy_in(before)
            return
        except (NotNow, TimedOut, Disconnected):
            self._tally.unanswered += 1
            return
        self._check_wallet(table, wallet - buy_in)
        self._check_stack(table, before + buy_in, f"added {buy_in} to {before}")
        ledger.end_buy_in(table.mirror.stack)

    async def ask_what_lies(self, table: Table, seat: Seat) -> None:
        """Ask the table what the seat holds, because an answer was lost; as long as bets are taken, since later the
        table may be ahead of what the seat has heard."""
        round = seat.ledger.round
        try:
            await self._client.join(table.id, buy_in=0)
        except (Refused, TimedOut, Disconnected):
            return  # it is asked again in the next round
        mirror = table.mirror
        if mirror.you is not None and mirror.phase == "betting" and mirror.round == round == seat.ledger.round:
            self._tally.add(seat.ledger.told(mirror.you, round))

    async def sit_again(self, table: Table, seat: Seat) -> None:
        """Take a seat again after it was freed, where there is money to play with."""
        if self.is_out_of_money(seat):
            return
        try:
            await self._client.join(table.id, buy_in=self._buy_in_of(table.mirror.rules))
        except (NotNow, TimedOut, Disconnected):
            self._tally.unanswered += 1
            return
        except Refused as error:
            self._find(Kind.REFUSED, table, f"the seat could not be taken again: {error}")
            return
        you = table.mirror.you
        if you is not None:
            seat.is_seated = True
            seat.ledger.rebase(you, seat.ledger.round)

    async def get_up(self, table: Table, seat: Seat) -> None:
        """Give the seat up; the wallet must then hold what it held and what lay at the table."""
        if not table.is_seated:
            return
        wallet, holding, is_sure = self._client.wallet, seat.ledger.holding, seat.ledger.is_sure
        try:
            left = await table.leave()
        except (NotSeated, NotNow, TimedOut, Disconnected):
            return  # it was freed meanwhile, or will be after the grace time
        if left.wallet is not None and is_sure:
            self._check_wallet(table, wallet + holding.total)

    def is_out_of_money(self, seat: Seat) -> bool:
        """Return whether neither stack nor wallet pays for a bet, and none lies."""
        holding = seat.ledger.holding
        return not holding.layout.acts and holding.stack + self._client.wallet < cheapest_bet(seat.house)

    def _buy_in_of(self, rules: TableRules) -> int:
        wanted = self._plan.buy_in
        return min(self._client.wallet, BUY_IN_BETS * cheapest_bet(house_of(rules)) if wanted is None else wanted)

    def _check_wallet(self, table: Table, wanted: int) -> None:
        if self._client.wallet != wanted:
            self._find(Kind.STACK, table, f"the wallet is {self._client.wallet}, not {wanted}")

    def _check_stack(self, table: Table, wanted: int, why: str) -> None:
        if table.mirror.stack != wanted:
            self._find(Kind.STACK, table, f"{why}, the stack is {table.mirror.stack}, not {wanted}")

    def _find(self, kind: Kind, table: Table, detail: str) -> None:
        self._tally.add([Mismatch(kind, table.id, table.mirror.round, detail, seat=self._plan.name)])


async def leave_at_once(table: Table) -> None:
    """Give a seat up on the way out; where that takes long the grace time does it."""
    try:
        async with asyncio.timeout(LEAVE_MS_MAX / 1000):
            await table.leave()
    except (PuntoError, TimeoutError):
        pass
