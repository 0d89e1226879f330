"""`tables list`: how every table runs."""

import argparse

from server.commands.store_place import add_place, open_store
from server.store.operating import OPEN, Operating
from server.store.tables import Tables


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb."""
    tables = verbs.add_parser("list", help="list all tables and how they run")
    add_place(tables)
    tables.set_defaults(act=_list)


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
