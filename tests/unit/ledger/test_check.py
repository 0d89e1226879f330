"""An export in both formats: read back as written, whole where it is, and every change of it found."""

import json
from collections.abc import Callable

import pytest

from client_sdk.game.seals import FIRST_SEAL, Seal, seal_after
from server.ledger.check import TableCheck, check_rows
from server.ledger.rows import COLUMNS, HEADINGS, WRITERS, BadRow, Format, Row, foot_row, head_row, read_rows, rows_of
from tests.support.ledgers import AT_MS, LedgerMaker, line, packed, record

FORMATS: tuple[Format, ...] = ("jsonl", "csv")


def ledger_of(rounds: int) -> LedgerMaker:
    ledger = LedgerMaker()
    for number in range(1, rounds + 1):
        ledger.play(number)
    return ledger


def sealed(ledger: LedgerMaker, after: int) -> tuple[Seal, list[tuple[int, bytes]]]:
    """What an export after `after` may take: up to the last seal."""
    seal = ledger.seal
    return seal, list(enumerate(ledger.entries, 1))[after : seal.sealed_to]


def section(ledger: LedgerMaker, after: int = 0, table: str = "royal-1") -> list[Row]:
    seal, entries = sealed(ledger, after)
    rows = [row for number, entry in entries for row in rows_of(table, number, entry)]
    return [head_row(table, "books", after), *rows, foot_row(table, seal)]


def written(rows: list[Row], form: Format) -> list[str]:
    """The lines of a file."""
    heading = [HEADINGS[form]] if HEADINGS[form] else []
    return [*heading, *(WRITERS[form](row) for row in rows)]


def checked(rows: list[Row], form: Format = "jsonl") -> list[TableCheck]:
    return check_rows(read_rows(written(rows, form)))[0]


def faults_of(rows: list[Row]) -> list[str]:
    return [fault for table in checked(rows) for fault in table.faults]


@pytest.mark.parametrize("form", FORMATS)
def test_rows_come_back_as_they_went(form: Format) -> None:
    ledger = ledger_of(2)
    ledger.enter("settle", AT_MS, 3, 0, [("bob", 7, 7, 1_000, record(3, {"tie": 7}, {"tie": 7}, None))])
    ledger.enter("cash_out", AT_MS, "ann", 1, 1_020, 0)
    ledger.enter("act", AT_MS, 'o"d,d', "r,1", 3, "clear", "", 0, -5, 0, -10, 15)
    ledger.seal_all()
    rows = section(ledger)
    assert [row for _, row in read_rows(written(rows, form))] == rows
    assert {name for row in rows for name in row} == set(COLUMNS)
    assert [row["outcome"] for row in rows if "outcome" in row] == ["player", "player", "void"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_whole_export_is_whole(form: Format) -> None:
    ledger = ledger_of(3)
    (found,) = checked(section(ledger), form)
    assert found == TableCheck("royal-1", 1, ledger.seal.sealed_to, 3, ledger.seal, [])


def test_sections_of_several_runs_and_tables_are_one_ledger_each() -> None:
    early, late, other = ledger_of(1), ledger_of(3), ledger_of(2)
    after = early.seal.sealed_to
    rows = section(early) + section(other, table="tie-1") + section(late, after)
    found = checked(rows)
    assert [(each.table, each.faults, each.seal) for each in found] == [
        ("royal-1", [], late.seal),
        ("tie-1", [], other.seal),
    ]
    _, digests = check_rows(read_rows(written(rows, "jsonl")))
    assert {early.seal.digest, late.seal.digest, other.seal.digest} <= digests


def test_an_export_that_begins_later_is_checked_from_its_first_seal_on() -> None:
    after = ledger_of(1).seal.sealed_to
    ledger = ledger_of(3)
    (found,) = checked(section(ledger, after))
    assert (found.first, found.seals, found.faults) == (after + 1, 2, [])


# --- changes ----------------------------------------------------------------------------------------------------------


def drop(place: int) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: rows[:place] + rows[place + 1 :]


def edit(place: int, **columns: str | int) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [*rows[:place], rows[place] | columns, *rows[place + 1 :]]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (drop(0), "a row out of place"),
        (drop(3), "entries 3 to 3 are missing"),
        (drop(-1), "ends in the middle"),
        (lambda rows: rows[:5] + rows[4:], "entry 4 comes again"),
        (lambda rows: rows + rows, "from 1 on come again"),
        (lambda rows: rows[:3] + rows, "the section before ends in the middle"),
        (lambda rows: [*rows[:3], rows[4], rows[3], *rows[5:]], "entries 3 to 3 are missing"),
        (edit(3, amount=-11), "not what the entry's bytes say"),
        (edit(3, stack=991), "not what the entry's bytes say"),
        (edit(3, number=30), "entries 3 to 29 are missing"),
        (edit(7, payout=21), "not what the entry's bytes say"),
        (drop(7), "not what the entry's bytes say"),
        (edit(3, entry="////"), "no entry"),
        (edit(3, entry="not base64"), "can't be read"),
        (edit(-1, seal="00" * 32), "is not theirs"),
        (edit(-1, sealed_to=12), "the seal is up to 12"),
    ],
)
def test_a_change_is_found(change: Callable[[list[Row]], list[Row]], fault: str) -> None:
    faults = faults_of(change(section(ledger_of(2))))
    assert any(fault in found for found in faults), faults
    assert all(found.startswith(("line ", "the last section")) for found in faults)


def test_an_edited_entry_is_found_by_the_seal_alone() -> None:
    """Bytes and columns changed together, and money that still adds up: only the seal shows it."""
    ledger = ledger_of(2)
    ledger.entries[2] = packed("act", AT_MS, "ann", "r1", 1, "place", "player", 5, 10, 0, 0, 990)
    faults = faults_of(section(ledger))
    assert len(faults) == 1
    assert "the seal over entries 1 to 6 is not theirs" in faults[0]


def test_a_ledger_that_was_sealed_anew_does_not_have_the_seal_that_a_seat_holds() -> None:
    told = ledger_of(2).seal
    forged = LedgerMaker()
    forged.play(1)
    forged.enter("buy_in", AT_MS, "carl", 1, 7, 7)
    forged.play(2)
    tables, digests = check_rows(read_rows(written(section(forged), "jsonl")))
    assert [table.faults for table in tables] == [[]]
    assert told.digest not in digests


@pytest.mark.parametrize(
    "text",
    [
        '{"table": "royal-1", "kind": "act"',
        '{"table": "royal-1"}\n',
        '{"table": 1, "kind": "act"}\n',
        '{"table": "royal-1", "kind": "act", "number": "1"}\n',
        '{"table": "royal-1", "kind": "act", "number": true}\n',
        '{"table": "royal-1", "kind": "act", "other": 1}\n',
        "[]\n",
        "a,b\n",
        "\n",
    ],
)
def test_what_is_no_row_is_told_with_its_line(text: str) -> None:
    good = json.dumps(head_row("royal-1", "books", 0)) + "\n"
    with pytest.raises(BadRow, match="line 2: "):
        list(read_rows([good, text]))


def test_bytes_that_are_no_entry_are_exported_as_such() -> None:
    ledger = LedgerMaker()
    ledger.play()
    damaged = [b"rubbish", packed("settle", AT_MS, 1, 0, [("ann", 1, 1, 1, b"")])]
    rows = [row for number, entry in enumerate(damaged, 1) for row in rows_of("t", number, entry)]
    assert [row["kind"] for row in rows] == ["unreadable", "unreadable"]
    seal = seal_after(FIRST_SEAL, enumerate(damaged, 1))
    faults = faults_of([head_row("t", "books", 0), *rows, foot_row("t", seal)])
    assert any("entry 1: no entry" in fault for fault in faults)


def test_a_line_of_a_settlement_fits_its_round() -> None:
    ledger = LedgerMaker()
    ledger.play()
    rows = section(ledger)
    settled = [row for row in rows if row["kind"] == "settled"]
    assert settled == [
        {"table": "royal-1", "kind": "settled", "number": 6, "at_ms": AT_MS, "round": 1, "patron": "ann"}
        | {"player": 10, "amount": 20, "stack": 1_010, "outcome": "player", "stake": 10, "payout": 20, "commission": 0}
    ]
    assert line("ann", 1, {"player": 10}, {"player": 20}, 1_010)[:4] == ("ann", 10, 20, 1_010)
