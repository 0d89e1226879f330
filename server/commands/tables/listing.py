"""`tables list | log`: how every table runs, and what operators did to them."""

import argparse
from datetime import UTC, datetime

from server.commands.store_place import add_place, open_store
from server.commands.tables.arguments import OneRefused, add_tables
from server.store.errors import Refused
from server.store.operating import OPEN, Operating
from server.store.tables import Tables


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs."""
    tables = verbs.add_parser("list", help="list all tables and how they run")
    add_place(tables)
    tables.set_defaults(act=_list)
    log = verbs.add_parser("log", help="list what operators did, oldest first")
    add_place(log)
    add_tables(log)
    log.set_defaults(act=_log)


async def _list(args: argparse.Namespace) -> list[str]:
    async with open_store(args) as store:
        tables, operating = Tables(store.driver), Operating(store.driver)
        lines = []
        for name in await tables.every():
            view, wishes = (await tables.view(name, None, 0)).view, await operating.wishes(name)
            wanted = "" if wishes.mode == OPEN else f", wanted: {wishes.mode}"
            limits = ", limits of its own" if wishes.rules else ""
            seats = f"{view.crowd.connected} of {view.crowd.seated} seats connected"
            lines.append(f"{name}: {view.rules.variant}, {view.phase}, round {view.round}, {seats}{wanted}{limits}")
        return lines


async def _log(args: argparse.Namespace) -> list[str]:
    async with open_store(args) as store:
        tables, operating = Tables(store.driver), Operating(store.driver)
        names = await tables.every() if args.all else [args.table]
        if not args.all and args.table not in await tables.every():
            raise OneRefused(args.table, Refused("UNKNOWN_TABLE"))
        acts = [(act, name) for name in names for act in await operating.acts(name)]
        return [_line(name, act.at_ms, act.by, act.verb, act.details, act.reason) for act, name in sorted(acts)]


def _line(table: str, at_ms: int, by: str, verb: str, details: str, reason: str) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    more = f" ({details})" if details else ""
    return f"{at} {table} {verb}{more} by {by or 'unknown'}{f': {reason}' if reason else ''}"
