"""`punto-server audit`: does all the money add up?

Each slot is balanced by itself, from one atomic read: what came into a table is on stacks, on spots or the house's;
what a wallet was given is in it or at tables. Then the two sides of every (wallet, table) pair are compared; a
transfer under way explains a difference, nothing else does. Last the ledgers are played again (`replays.py`). It
changes nothing and runs beside a house in play: a pair that differs is read again before it is called a difference.
"""

import asyncio
from typing import Final, NamedTuple

from server.differences import Difference
from server.replays import replay_table, replay_wallet
from server.store.books import Books, TableBook, WalletBook
from server.store.ledgers import Ledgers
from server.store.tables import Tables

READS_MAX: Final = 5
"""A pair that still differs after so many reads, `READ_AGAIN_MS` apart, is a difference."""
READ_AGAIN_MS: Final = 100


class Audit(NamedTuple):
    """What was found. Sums in minor units: put_in - taken_out == wallets + stacks + open_bets + house + under_way where
    all is well. `replayed` tables have their whole ledger, and it makes what lies there."""

    tables: int
    replayed: int
    patrons: int
    put_in: int
    taken_out: int
    wallets: int
    stacks: int
    open_bets: int
    house: int
    under_way: int
    open_transfers: int
    differences: list[Difference]


def balance_table(table: str, book: TableBook) -> list[Difference]:
    """Check one table by itself."""
    held = book.stacks + book.open_bets + book.house
    found = [
        Difference(f"table {table}", "stacks, open bets and house against buy-ins less cash-outs", came - held)
        for came in [book.bought_in - book.cashed_out]
        if came != held
    ]
    for what, total, parts in (
        ("buy-ins against those of its patrons", book.bought_in, book.taken),
        ("cash-outs against those of its patrons", book.cashed_out, book.given),
    ):
        if total != sum(parts.values()):
            found.append(Difference(f"table {table}", what, total - sum(parts.values())))
    return found


def balance_wallet(patron: str, book: WalletBook) -> list[Difference]:
    """Check one wallet by itself."""
    should_hold = book.put_in - book.taken_out - sum(book.given.values()) + sum(book.taken.values())
    if should_hold == book.balance:
        return []
    return [Difference(f"wallet {patron}", "balance against what was put in and moved", should_hold - book.balance)]


def compare_pair(patron: str, table: str, wallet: WalletBook, book: TableBook) -> list[Difference]:
    """Compare what one side gave with what the other took; a transfer that is open may or may not have arrived."""
    found = []
    for what, given, taken, open_amount in (
        ("buy-ins", wallet.given.get(table, 0), book.taken.get(patron, 0), wallet.leaving.get(table, 0)),
        ("cash-outs", book.given.get(patron, 0), wallet.taken.get(table, 0), book.leaving.get(patron, 0)),
    ):
        if given - taken not in (0, open_amount):
            found.append(Difference(f"wallet {patron} and table {table}", what, given - taken))
    return found


async def audit(books: Books, tables: Tables, ledgers: Ledgers) -> Audit:
    """Read the whole store and check it. Raises `StoreError`."""
    table_books: dict[str, TableBook] = {}
    while page := await tables.page(max(table_books) if table_books else None):
        for table in page:
            table_books[table] = await books.table(table)
    wallet_books = {patron: await books.wallet(patron) async for patron in books.patrons()}
    differences: list[Difference] = []
    for table, book in table_books.items():
        differences += balance_table(table, book)
    for patron, wallet in wallet_books.items():
        differences += balance_wallet(patron, wallet)
    under_way = 0
    for patron, table in _pairs(table_books, wallet_books):
        wallet, book, found = await _settled_pair(books, patron, table, wallet_books, table_books)
        differences += found
        under_way += _under_way(patron, table, wallet, book)
    replayed = 0
    for table, book in table_books.items():
        was_whole, found = await replay_table(ledgers, table, book)
        replayed += was_whole
        differences += found
    for patron, wallet in wallet_books.items():
        differences += await replay_wallet(ledgers, patron, wallet)
    return Audit(
        tables=len(table_books),
        replayed=replayed,
        patrons=len(wallet_books),
        put_in=sum(wallet.put_in for wallet in wallet_books.values()),
        taken_out=sum(wallet.taken_out for wallet in wallet_books.values()),
        wallets=sum(wallet.balance for wallet in wallet_books.values()),
        stacks=sum(book.stacks for book in table_books.values()),
        open_bets=sum(book.open_bets for book in table_books.values()),
        house=sum(book.house for book in table_books.values()),
        under_way=under_way,
        open_transfers=sum(len(book.leaving) for book in table_books.values())
        + sum(len(book.leaving) for book in wallet_books.values()),
        differences=differences,
    )


def _pairs(tables: dict[str, TableBook], wallets: dict[str, WalletBook]) -> set[tuple[str, str]]:
    """List every (patron, table) that either side knows."""
    of_tables = {(patron, table) for table, book in tables.items() for patron in (*book.taken, *book.given)}
    of_wallets = {(patron, table) for patron, book in wallets.items() for table in (*book.given, *book.taken)}
    return of_tables | of_wallets


_NO_WALLET: Final = WalletBook(0, 0, 0, {}, {}, {}, 0)
_NO_TABLE: Final = TableBook(0, 0, 0, 0, 0, {}, {}, {}, {}, {}, None)


async def _settled_pair(
    books: Books, patron: str, table: str, wallets: dict[str, WalletBook], tables: dict[str, TableBook]
) -> tuple[WalletBook, TableBook, list[Difference]]:
    """Compare a pair; where it differs, play may have moved on between the two reads, so read both again."""
    wallet, book = wallets.get(patron, _NO_WALLET), tables.get(table, _NO_TABLE)
    found = compare_pair(patron, table, wallet, book)
    for _ in range(READS_MAX):
        if not found or wallet is _NO_WALLET or book is _NO_TABLE:
            break
        await asyncio.sleep(READ_AGAIN_MS / 1000)
        wallet, book = await books.wallet(patron), await books.table(table)
        found = compare_pair(patron, table, wallet, book)
    return wallet, book, found


def _under_way(patron: str, table: str, wallet: WalletBook, book: TableBook) -> int:
    buy_in = wallet.given.get(table, 0) - book.taken.get(patron, 0)
    cash_out = book.given.get(patron, 0) - wallet.taken.get(table, 0)
    return buy_in + cash_out
