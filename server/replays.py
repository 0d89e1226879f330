"""Whether the ledgers tell what lies there: a table's played again from its first entry, a wallet's line by line.

Each is read up to the entry that the book had when it was read, so play may go on. A table's ledger that was trimmed
behind its consumers can't be played again, and is left to them.
"""

from collections.abc import Iterator
from typing import Final

from server.differences import Difference
from server.ledger.copies import is_own, statement_line
from server.ledger.entries import BadEntry
from server.ledger.playback import Playback
from server.ledger.replay import TableReplay
from server.store.books import TableBook, WalletBook
from server.store.ledgers import Ledgers

FAULTS_MAX: Final = 20
"""Of one ledger: what follows from the first of them helps nobody."""


async def replay_table(ledgers: Ledgers, table: str, book: TableBook) -> tuple[bool, list[Difference]]:
    """Play a table's ledger again and compare; says whether it was whole. Raises `StoreError`."""
    if book.entered_to is None:
        return False, []
    playback, faults = Playback(), _Faults(f"ledger of table {table}")
    async for number, packed in ledgers.entries_after(table, 0, book.entered_to):
        if playback.last == 0 and number > 1 and await _is_taken(ledgers, table, number - 1):
            return False, []
        for fault in playback.enter(number, packed):
            faults.note(fault)
    if playback.last < book.entered_to:
        if playback.last == 0 and await _is_taken(ledgers, table, book.entered_to):
            return False, []
        faults.note(f"entries {playback.last + 1} to {book.entered_to} are missing")
    assert playback.replay is not None, "it was played from the first entry"
    return True, faults.found or list(compare_table(table, book, playback.replay))


async def _is_taken(ledgers: Ledgers, table: str, number: int) -> bool:
    """Whether every entry up to a number may have been trimmed: each consumer has them."""
    return number <= min((await ledgers.consumers(table)).values(), default=0)


def compare_table(table: str, book: TableBook, replay: TableReplay) -> Iterator[Difference]:
    """Compare what lies at a table with what its ledger makes."""
    where = f"table {table}"
    for what, there, told in (
        ("buy-ins against the ledger", book.bought_in, replay.bought_in),
        ("cash-outs against the ledger", book.cashed_out, replay.cashed_out),
        ("the house against the ledger", book.house, replay.house),
    ):
        if there != told:
            yield Difference(where, what, told - there)
    bets = {patron: sum(spots.values()) for patron, spots in replay.bets.items()}
    for what, of_patrons, told_of_patrons in (
        ("stack", book.stack_of, replay.stacks),
        ("open bets", book.bets_of, bets),
        ("buy-ins", book.taken, replay.taken),
        ("cash-outs", book.given, replay.given),
    ):
        for patron in sorted(of_patrons.keys() | told_of_patrons.keys()):
            there, told = of_patrons.get(patron, 0), told_of_patrons.get(patron, 0)
            if there != told:
                yield Difference(where, f"{what} of {patron} against the ledger", told - there)


async def replay_wallet(ledgers: Ledgers, patron: str, book: WalletBook) -> list[Difference]:
    """Add the wallet's own lines up, from the first that is kept. Raises `StoreError`."""
    faults, balance, credited, debited, first = _Faults(f"ledger of wallet {patron}"), None, 0, 0, None
    async for number, packed in ledgers.lines_after(patron, 0, book.entered_to):
        first = number if first is None else first
        try:
            if not is_own(packed):
                continue
            line = statement_line(number, packed)
        except BadEntry as error:
            faults.note(f"line {number}: {error}")
            continue
        if balance is not None and balance + line.amount != line.balance:
            faults.note(f"line {number}: the wallet has {balance + line.amount}, the line says {line.balance}")
        balance = line.balance
        credited += line.amount if line.kind in ("put_in", "credited") else 0
        debited -= line.amount if line.kind == "debited" else 0
    if balance is not None and balance != book.balance:
        faults.found.append(Difference(f"wallet {patron}", "balance against its ledger", balance - book.balance))
    if first == 1 and (credited, debited) != (book.put_in, book.taken_out):
        missing = credited - debited - book.put_in + book.taken_out
        faults.found.append(Difference(f"wallet {patron}", "what was put in and taken out against its ledger", missing))
    return faults.found


class _Faults:
    """The first faults of one ledger."""

    def __init__(self, where: str) -> None:
        self.found: list[Difference] = []
        self._where = where

    def note(self, what: str) -> None:
        if len(self.found) < FAULTS_MAX:
            self.found.append(Difference(self._where, what, 0))
