"""`punto-server audit`: check that all the money adds up; exit 1 where it does not."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from server.audit import Audit, audit
from server.embedded import DataDirectoryBusy, EmbeddedValkey
from server.settings import BadSetting
from server.store.books import Books
from server.store.driver import Driver
from server.store.tables import Tables

DATA_DEFAULT: Final = Path("data")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    check = commands.add_parser("audit", help="check that all the money adds up (exit 1 if not)")
    place = check.add_mutually_exclusive_group()
    place.add_argument("--data", metavar="DIR", type=Path, help=f"an embedded store, in use or not ({DATA_DEFAULT})")
    place.add_argument("--store", metavar="URL", help="any other store, as for serve")
    check.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Audit; 0 balanced, 1 not. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    data = args.data or DATA_DEFAULT
    if args.store is None and not data.is_dir():
        raise BadSetting(f"--data: no such directory: {data}")
    found = asyncio.run(_audit(args.store, data))
    print(_as_json(found) if args.json else _as_text(found))
    return 1 if found.differences else 0


async def _audit(store: str | None, data: Path) -> Audit:
    async with _store_url(store, data) as url, Driver(url) as driver:
        return await audit(Books(driver), Tables(driver))


@asynccontextmanager
async def _store_url(store: str | None, data: Path) -> AsyncIterator[str]:
    """Give the store's URL; a store in a directory that nobody serves is started for the length of the audit."""
    if store is not None:
        yield store
        return
    embedded = EmbeddedValkey(data)
    try:
        url = await embedded.start()
    except DataDirectoryBusy:
        yield embedded.url_in_use  # a node serves it: ask its store
        return
    try:
        yield url
    finally:
        await embedded.stop()


def _as_json(found: Audit) -> str:
    plain = found._asdict() | {"differences": [difference._asdict() for difference in found.differences]}
    return json.dumps({"balanced": not found.differences, **plain})


def _as_text(found: Audit) -> str:
    lines = [
        f"tables {found.tables}, patrons {found.patrons}",
        f"put in      {found.put_in:>20,}",
        f"wallets     {found.wallets:>20,}",
        f"stacks      {found.stacks:>20,}",
        f"open bets   {found.open_bets:>20,}",
        f"house       {found.house:>20,}",
        f"under way   {found.under_way:>20,}",
    ]
    lines += [f"DIFFERENCE  {difference}" for difference in found.differences]
    return "\n".join([*lines, "NOT BALANCED" if found.differences else "balanced"])
