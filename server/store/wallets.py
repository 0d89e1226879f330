"""The verbs of a wallet, each beside the Lua script of its name. How they make a transfer is in `server/cashier.py`."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from server.store import keys
from server.store.driver import Answer, Driver, Script
from server.store.errors import Refused
from server.store.operator_acts import UNSIGNED, Signed

_SCRIPTS: Final = {
    name: Script(name, "_wallet", moves_money=name not in ("read_wallet", "open_buy_ins"))
    for name in (
        *("create_wallet", "read_wallet", "operate_wallet"),
        *("give_buy_in", "open_buy_ins", "close_buy_in", "take_cash_out"),
    )
}
WALLET_MAX: Final = 10**15
"""The operator fills no wallet beyond this, so that what is won with it stays below 2^53 (`operate_wallet.lua`)."""
Operation = Literal["credited", "debited"]


class Wallet(NamedTuple):
    """A wallet as read; `token_sha256` is hex, `open_n` the buy-in under way at the table asked about (0 none),
    `open_count` how many there are at all tables where none was asked about."""

    balance: int
    name: str
    bot: bool
    token_sha256: str
    limits_version: int
    open_n: int
    open_amount: int
    open_count: int


class Purse(NamedTuple):
    """What a wallet holds, and how often its patron's limits were changed (0: there never were any)."""

    balance: int
    limits_version: int


class BuyIn(NamedTuple):
    """A buy-in that was given. `answer` is '' while open, else what the table decided."""

    n: int
    amount: int
    answer: str


class Operated(NamedTuple):
    """What the operator did to a wallet. Not `is_new`: it was done before under the same operation id."""

    balance: int
    at_ms: int
    is_new: bool


class Wallets:
    """All wallets of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _run(self, name: str, patron: str, *args: str | bytes | int) -> Answer:
        return await self._driver.run(_SCRIPTS[name], keys.wallet_keys(patron), args)

    async def create(self, patron: str, name: str, bot: bool, token_sha256: str, play_money: int) -> int:
        """Open a guest's wallet and put its play money in, once. Raises `Refused` WALLET_EXISTS."""
        return int((await self._run("create_wallet", patron, name, int(bot), token_sha256, play_money))[1])

    async def read(self, patron: str, table: str = "") -> Wallet | None:
        """Read a wallet; None where there is none."""
        try:
            return _wallet(await self._run("read_wallet", patron, table))
        except Refused:
            return None

    async def open_at(self, table: str, patrons: Sequence[str]) -> list[str]:
        """Name those of these patrons whose buy-in to a table is under way."""
        calls = [(keys.wallet_keys(patron), (table,)) for patron in patrons]
        answers = await self._driver.run_many(_SCRIPTS["read_wallet"], calls)
        wallets = (None if answer is None or isinstance(answer, Refused) else _wallet(answer) for answer in answers)
        return [patron for patron, wallet in zip(patrons, wallets, strict=True) if wallet is not None and wallet.open_n]

    async def give_buy_in(self, patron: str, table: str, request_id: str, amount: int) -> BuyIn:
        """Start a buy-in.

        Raises `Refused` UNKNOWN_PATRON, REQUEST_REUSED, OPEN (details: n, amount), EXCLUDED, INSUFFICIENT_WALLET.
        """
        _, n, given, answer = await self._run("give_buy_in", patron, table, request_id, amount)
        return BuyIn(n, given, answer.decode())

    async def open_buy_ins(self, patron: str) -> list[str]:
        """List the tables to which a buy-in is under way. Raises `Refused` UNKNOWN_PATRON."""
        return [table.decode() for table in (await self._run("open_buy_ins", patron))[1:]]

    async def close_buy_in(self, patron: str, table: str, n: int, answer: str) -> Purse:
        """Close a buy-in by the table's answer."""
        _, balance, limits_version = await self._run("close_buy_in", patron, table, n, answer)
        return Purse(balance, limits_version)

    async def take_cash_out(self, patron: str, table: str, n: int, amount: int) -> int:
        """Take a cash-out, once; returns the balance."""
        return int((await self._run("take_cash_out", patron, table, n, amount))[1])

    async def operate(
        self, patron: str, operation: str, kind: Operation, amount: int, signed: Signed = UNSIGNED
    ) -> Operated:
        """Put money into a wallet or take it out, once for each operation id; the newest 1,000 of a wallet are known.

        Raises `Refused` UNKNOWN_PATRON, OPERATION_REUSED, INSUFFICIENT_WALLET, WALLET_TOO_FULL.
        """
        _, balance, at_ms, is_new = await self._run("operate_wallet", patron, operation, kind, amount, *signed)
        return Operated(balance, at_ms, bool(is_new))


def _wallet(answer: Answer) -> Wallet:
    _, balance, name, bot, token, *rest = answer
    return Wallet(balance, name.decode(), bot == b"1", token.decode(), *rest)
