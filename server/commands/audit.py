"""`punto-server audit`: check that all the money adds up; exit 1 where it does not."""

import argparse
import asyncio
import json
from collections.abc import Sequence

from server.audit import Audit, audit
from server.commands.store_place import add_place, open_store
from server.store.books import Books
from server.store.ledgers import Ledgers
from server.store.tables import Tables


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    check = commands.add_parser("audit", help="check that all the money adds up (exit 1 if not)")
    add_place(check)
    check.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Audit; 0 balanced, 1 not. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    found = asyncio.run(_audit(args))
    print(_as_json(found) if args.json else _as_text(found))
    return 1 if found.differences else 0


async def _audit(args: argparse.Namespace) -> Audit:
    async with open_store(args) as store:
        return await audit(Books(store.driver), Tables(store.driver), Ledgers(store.driver))


def _as_json(found: Audit) -> str:
    plain = found._asdict() | {"differences": [difference._asdict() for difference in found.differences]}
    return json.dumps({"balanced": not found.differences, **plain})


def _as_text(found: Audit) -> str:
    lines = [
        f"tables {found.tables}, patrons {found.patrons}, whole ledgers played again {found.replayed}",
        f"put in      {found.put_in:>20,}",
        f"taken out   {found.taken_out:>20,}",
        f"wallets     {found.wallets:>20,}",
        f"stacks      {found.stacks:>20,}",
        f"open bets   {found.open_bets:>20,}",
        f"house       {found.house:>20,}",
        f"under way   {found.under_way:>20,}",
    ]
    lines += [f"DIFFERENCE  {difference}" for difference in found.differences]
    return "\n".join([*lines, "NOT BALANCED" if found.differences else "balanced"])
