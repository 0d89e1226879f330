"""`punto-server tables`: what an operator does to tables of a house in play, from any machine that reaches its store.

A wish is noted in the store, with who wanted it and when, and carried out by whichever node owns the table: at once, or
between two rounds, or by the next owner before anything else. Exit 1: refused, nothing was changed.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from server.commands.tables import change, limits, listing, opening, restored, void
from server.commands.tables.arguments import OneRefused
from server.settings import BadSetting

_VERBS = (listing, opening, change, limits, void, restored)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's verbs and their flags."""
    verbs = commands.add_parser("tables", help="act on tables").add_subparsers(dest="verb", required=True)
    for module in _VERBS:
        module.add_parsers(verbs)


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Carry a verb out and print what came of it, a line for each table; 0 done or noted, 1 refused. Raises
    `BadSetting`, `EmbeddedError`, `StoreError`."""
    try:
        for line in asyncio.run(args.act(args)):
            print(line)
    except OneRefused as refused:
        if refused.code == "UNKNOWN_TABLE":
            raise BadSetting(f"no such table: {refused.table}", "table") from None
        print(f"punto-server: refused: {refused}", file=sys.stderr)
        return 1
    return 0
