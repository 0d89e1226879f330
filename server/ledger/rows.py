"""The export of a table's ledger as rows: what each entry says in plain columns, beside the bytes that are sealed.

A section holds what one run of the export took of one table: a row `export`, the entries in order, a row `sealed` with
the seal up to which it goes. An entry is one row; a settlement is followed by a row for each patron in it. JSON lines
leave out what a row does not have, CSV leaves it empty. Pure.
"""

import csv
import io
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from client_sdk.game.seals import Seal
from server.ledger.entries import Act, BadEntry, BuyIn, CashOut, Entry, SealMark, SettledLine, Settlement, unpack_entry

Row: TypeAlias = dict[str, str | int]
Format: TypeAlias = Literal["jsonl", "csv"]
COLUMNS: Final = (
    *("table", "kind", "number", "at_ms", "round", "patron", "amount", "stack"),
    *("verb", "spot", "chip", "player", "banker", "tie", "request_id", "transfer"),
    *("outcome", "stake", "payout", "commission", "house"),
    *("consumer", "after", "seal", "sealed_to", "entry"),
)
_TEXTS: Final = frozenset(
    {"table", "kind", "patron", "verb", "spot", "request_id", "outcome", "consumer", "seal", "entry"}
)
_KINDS: Final = MappingProxyType[type[Entry], str](
    {Act: "act", BuyIn: "buy_in", CashOut: "cash_out", Settlement: "settlement", SealMark: "seal"}
)


class BadRow(ValueError):
    """A line of a file is no row of an export."""


def head_row(table: str, consumer: str, after: int) -> Row:
    """Open a section: what follows comes after entry `after`."""
    return {"table": table, "kind": "export", "consumer": consumer, "after": after}


def foot_row(table: str, seal: Seal) -> Row:
    """Close a section: it goes up to what this seal covers."""
    return {"table": table, "kind": "sealed", "seal": seal.digest, "sealed_to": seal.sealed_to}


def rows_of(table: str, number: int, packed: bytes) -> list[Row]:
    """Make the rows of one entry; the first holds its bytes (base64). Bytes that are no entry are told as such."""
    head: Row = {"table": table, "kind": "unreadable", "number": number}
    bytes_told: Row = {"entry": b64encode(packed).decode()}
    try:
        entry = unpack_entry(packed)
        head |= {"kind": _KINDS[type(entry)], "at_ms": entry.at_ms}
        return [{**head, **_columns_of(entry), **bytes_told}, *_rows_of_lines(head, entry)]
    except BadEntry:
        return [{"table": table, "kind": "unreadable", "number": number, **bytes_told}]


def _rows_of_lines(head: Row, entry: Entry) -> list[Row]:
    if not isinstance(entry, Settlement):
        return []
    return [{**head, "kind": "settled", "round": entry.round, **_columns_of_line(line)} for line in entry.lines]


def _columns_of(entry: Entry) -> Row:
    match entry:
        case Act():
            spots: Row = {spot.value: laid for spot, laid in entry.laid.items()}
            named: Row = {"verb": entry.verb, "spot": entry.spot, "chip": entry.chip, "request_id": entry.request_id}
            what: Row = {"round": entry.round, "patron": entry.patron, "amount": -entry.moved, "stack": entry.stack}
            return what | spots | {name: value for name, value in named.items() if value}
        case BuyIn():
            return {"patron": entry.patron, "amount": entry.amount, "stack": entry.stack, "transfer": entry.n}
        case CashOut():
            return {"patron": entry.patron, "amount": -entry.amount, "stack": entry.stack, "transfer": entry.n}
        case Settlement():
            return {"round": entry.round, "house": entry.house}
        case SealMark():
            return {"round": entry.round, "seal": entry.seal.digest, "sealed_to": entry.seal.sealed_to}


def _columns_of_line(line: SettledLine) -> Row:
    record = line.record
    stakes: Row = {spot.value: stake for spot, stake in record.bets.items()}
    return stakes | {
        "patron": line.patron,
        "amount": line.payout,
        "stack": line.stack,
        "outcome": record.outcome.value if record.outcome else "void",
        "stake": line.stake,
        "payout": line.payout,
        "commission": sum(result.commission for result in record.results.values()),
    }


# --- files ------------------------------------------------------------------------------------------------------------


def _json_line(row: Row) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


def _csv_line(row: Row) -> str:
    out = io.StringIO()
    csv.DictWriter(out, COLUMNS, lineterminator="\n").writerow(row)
    return out.getvalue()


WRITERS: Final = MappingProxyType[Format, Callable[[Row], str]]({"jsonl": _json_line, "csv": _csv_line})
"""A row as one line of a file. No value of a row holds a line break: ids are visible characters."""
HEADINGS: Final = MappingProxyType[Format, str]({"jsonl": "", "csv": ",".join(COLUMNS) + "\n"})
"""What a file begins with."""


def read_rows(lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """Read a file of either format: (number of the line, row). Raises `BadRow`."""
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            raise BadRow(f"line {number}: it ends in the middle")
        if number == 1 and line == HEADINGS["csv"]:
            continue
        yield number, _row_of(number, line)


def _row_of(number: int, line: str) -> Row:
    try:
        row = json.loads(line) if line.startswith("{") else _row_of_csv(line)
    except ValueError:
        raise BadRow(f"line {number}: no row of an export") from None
    if not all(
        name in COLUMNS and type(value) is (str if name in _TEXTS else int) for name, value in row.items()
    ) or not row.keys() >= {"table", "kind"}:
        raise BadRow(f"line {number}: no row of an export")
    return dict(row)


def _row_of_csv(line: str) -> Row:
    values = next(csv.reader([line], strict=True), [])
    named = zip(COLUMNS, values, strict=True)
    return {name: value if name in _TEXTS else int(value) for name, value in named if value != ""}
