"""`punto-server log`: what operators did, oldest first: to tables, to patrons and their money, to tokens."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from server.commands.store_place import add_place, open_store
from server.settings import BadSetting
from server.store.operator_acts import OperatorAct, OperatorActs
from server.store.tables import Tables
from server.store.wallets import Wallets


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    log = commands.add_parser("log", help="list what operators did, oldest first: when, to what, who, why")
    add_place(log)
    which = log.add_mutually_exclusive_group()
    which.add_argument("--table", metavar="ID", help="to this table only")
    which.add_argument("--patron", metavar="ID", help="to this patron's wallet and limits only")
    which.add_argument("--tokens", action="store_true", help="revoked tokens only")
    log.add_argument("--json", action="store_true", help="print one JSON object a line")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Print it. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    for act in asyncio.run(_read(args)):
        print(json.dumps(act._asdict()) if args.json else _line(act))
    return 0


async def _read(args: argparse.Namespace) -> list[OperatorAct]:
    async with open_store(args) as store:
        acts = OperatorActs(store.driver)
        if args.table is not None:
            if args.table not in await Tables(store.driver).every():
                raise BadSetting(f"no such table: {args.table}", "table")
            return await acts.of_table(args.table)
        if args.patron is not None:
            if await Wallets(store.driver).read(args.patron) is None:
                raise BadSetting(f"no such patron: {args.patron}", "patron")
            return await acts.of_patron(args.patron)
        return await (acts.of_tokens() if args.tokens else acts.all())


def _line(act: OperatorAct) -> str:
    at = datetime.fromtimestamp(act.at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    more = f" ({act.details})" if act.details else ""
    return f"{at} {act.subject}: {act.verb}{more} by {act.by or 'unknown'}{f': {act.reason}' if act.reason else ''}"
