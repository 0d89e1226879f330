"""`punto-server ledger export|check|forget`: the tables' ledgers for somebody else's books.

`export` takes what was sealed since the consumer's last run and notes how far it came once it is on the disk; `check`
reads such a file anywhere, without a store; `forget` lets the house trim its ledgers without waiting for a consumer.
Exit 1: the export does not hold together, or entries were missing in the store.
"""

import argparse
import asyncio
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from server.commands.signing import add_signature, signed
from server.commands.store_place import add_place, open_store
from server.export_file import open_output
from server.exporting import Exported, cut_what_was_not_noted, export_table
from server.ledger.check import TableCheck, check_rows
from server.ledger.rows import BadRow, read_rows
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.tables import Tables

_CONSUMER: Final = re.compile(r"[!-~]{1,64}")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    verbs = commands.add_parser("ledger", help="export the tables' ledgers, and check an export").add_subparsers(
        dest="verb", required=True
    )
    export = verbs.add_parser("export", help="write what was sealed since the consumer's last run")
    forget = verbs.add_parser("forget", help="wait for a consumer no longer: what only it lacks may be trimmed")
    for parser in (export, forget):
        add_place(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--table", metavar="ID", help="one table")
        which.add_argument("--all", action="store_true", help="every table")
        parser.add_argument("--consumer", metavar="NAME", type=_consumer, required=True, help="whose position counts")
    add_signature(forget)
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl", help="(%(default)s)")
    export.add_argument("--output", metavar="FILE", type=Path, help="go on in this file (default: standard output)")
    check = verbs.add_parser("check", help="check an export: nothing missing, nothing doubled, seals that fit")
    check.add_argument("file", metavar="FILE", type=Path)
    check.add_argument(
        "--seal", metavar="HEX", action="append", default=[], help="a seal that a table told: it must be there"
    )


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Do it; 0 well, 1 not whole. Raises `BadSetting`, `EmbeddedError`, `StoreError`, OSError."""
    match args.verb:
        case "check":
            return _check(args.file, args.seal)
        case "forget":
            return asyncio.run(_forget(args))
        case _:
            return asyncio.run(_export(args))


async def _export(args: argparse.Namespace) -> int:
    missing = 0
    with open_output(args.output, args.format) as output:
        async with open_store(args) as store:
            ledgers = Ledgers(store.driver)
            await cut_what_was_not_noted(ledgers, output)
            async for table in _tables(args, store.driver):
                exported = await export_table(ledgers, table, args.consumer, output)
                print(_as_text(exported), file=sys.stderr)
                missing += exported.missing
    return 1 if missing else 0


async def _forget(args: argparse.Namespace) -> int:
    async with open_store(args) as store:
        async for table in _tables(args, store.driver):
            was_known = await Ledgers(store.driver).forget_consumer(table, args.consumer, signed(args))
            print(f"{table}: {'forgotten' if was_known else 'was not known'}", file=sys.stderr)
    return 0


async def _tables(args: argparse.Namespace, driver: Driver) -> AsyncIterator[str]:
    if not args.all:
        yield args.table
        return
    after = None
    while page := await Tables(driver).page(after):
        for table in page:
            yield table
        after = page[-1]


def _check(path: Path, seals: Sequence[str]) -> int:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            tables, digests = check_rows(read_rows(file))
    except (BadRow, UnicodeDecodeError) as error:
        print(f"{path}: {error}")
        return 1
    faults = 0
    for table in tables:
        print(_check_as_text(table))
        for fault in table.faults:
            print(f"  FAULT  {fault}")
        faults += len(table.faults)
    for seal in seals:
        if seal.lower() not in digests:
            print(f"FAULT  no entries make the seal {seal}")
            faults += 1
    print("NOT WHOLE" if faults else "whole")
    return 1 if faults else 0


def _consumer(text: str) -> str:
    if not _CONSUMER.fullmatch(text):
        raise argparse.ArgumentTypeError("1 to 64 visible ASCII characters are wanted")
    return text


def _as_text(exported: Exported) -> str:
    told = f"{exported.table}: "
    if exported.first is None:
        told += "nothing new"
    else:
        told += f"entries {exported.first} to {exported.seal.sealed_to}, seal {exported.seal.digest}"
    if exported.trimmed:
        told += f"; {exported.trimmed} entries were trimmed before"
    return told + (f"; {exported.missing} ENTRIES ARE MISSING" if exported.missing else "")


def _check_as_text(table: TableCheck) -> str:
    if table.first is None or table.seal is None:
        return f"{table.table}: no entries"
    return f"{table.table}: entries {table.first} to {table.last}, {table.seals} seals, the last {table.seal.digest}"
