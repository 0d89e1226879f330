"""An export checked: no entry missing or doubled, rows that are what their bytes say, money that adds up, seals that
fit. Pure.

Whoever holds a seal that the table once told can ask for it by its digest: an export that was changed, with all later
seals computed anew, is whole in itself but does not have that one.
"""

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from client_sdk.game.seals import Seal
from server.ledger.playback import Playback
from server.ledger.rows import Row, rows_of

FAULTS_MAX: Final = 20
"""Of one table; what follows from the first of them helps nobody."""


@dataclass(slots=True)
class TableCheck:
    """What an export holds of one table. `first` is None where it holds no entry."""

    table: str
    first: int | None = None
    last: int = 0
    seals: int = 0
    seal: Seal | None = None
    faults: list[str] = field(default_factory=list)


def check_rows(rows: Iterable[tuple[int, Row]]) -> tuple[list[TableCheck], set[str]]:
    """Check the numbered rows of a file; returns what it holds by table, and the digests of all seals that fit."""
    checkers: dict[str, _Checker] = {}
    digests: set[str] = set()
    for line, row in rows:
        checker = checkers.setdefault(str(row["table"]), _Checker(str(row["table"]), digests))
        checker.take(line, row)
    return [checker.result() for checker in checkers.values()], digests


class _Checker:
    """Takes the rows of one table in order."""

    def __init__(self, table: str, digests: set[str]) -> None:
        self._found = TableCheck(table)
        self._digests = digests
        self._playback: Playback | None = None
        self._is_open = False
        self._expected: list[Row] = []

    def take(self, line: int, row: Row) -> None:
        """Take the next row."""
        if self._expected:
            if row == self._expected.pop(0):
                return
            self._expected.clear()
            self._note(f"line {line}: it is not what the entry's bytes say")
        match row:
            case {"kind": "export", "after": int(after)}:
                self._open(line, after)
            case {"kind": "sealed", "seal": str(digest), "sealed_to": int(sealed_to)} if self._is_open:
                self._close(line, Seal(digest, sealed_to))
            case {"number": int(number), "entry": str(encoded)} if self._is_open:
                self._enter(line, row, number, encoded)
            case _:
                self._note(f"line {line}: a row out of place")

    def result(self) -> TableCheck:
        """What was found, all rows having been taken."""
        if self._is_open or self._expected:
            self._note("the last section ends in the middle")
        if self._playback is not None:
            self._found.last = self._playback.last
            self._found.seals = self._playback.chain.checked
            self._found.seal = self._playback.chain.seal
        return self._found

    def _open(self, line: int, after: int) -> None:
        if self._is_open:
            self._note(f"line {line}: the section before ends in the middle")
        if self._playback is None:
            self._playback = Playback(after)
        elif after < self._playback.last:
            self._note(f"line {line}: entries from {after + 1} on come again")
        self._is_open = True

    def _enter(self, line: int, row: Row, number: int, encoded: str) -> None:
        assert self._playback is not None, "a section was opened"
        if number <= self._playback.last:
            self._note(f"line {line}: entry {number} comes again")
            return
        try:
            packed = b64decode(encoded, validate=True)
        except ValueError:
            self._note(f"line {line}: bytes that can't be read")
            return
        expected, *self._expected = rows_of(self._found.table, number, packed)
        if row != expected:
            self._note(f"line {line}: it is not what the entry's bytes say")
        for fault in self._playback.enter(number, packed):
            self._note(f"line {line}: {fault}")
        self._remember_seal()
        self._found.first = number if self._found.first is None else self._found.first

    def _close(self, line: int, seal: Seal) -> None:
        assert self._playback is not None, "a section was opened"
        self._is_open = False
        if seal.sealed_to != self._playback.last:
            self._note(f"line {line}: the seal is up to {seal.sealed_to}, the entries go to {self._playback.last}")
        if fault := self._playback.chain.check(seal):
            self._note(f"line {line}: {fault}")
        self._remember_seal()

    def _remember_seal(self) -> None:
        seal = self._playback.chain.seal if self._playback is not None else None
        if seal is not None:
            self._digests.add(seal.digest)

    def _note(self, fault: str) -> None:
        if len(self._found.faults) < FAULTS_MAX:
            self._found.faults.append(fault)
