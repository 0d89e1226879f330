"""`tables restored`: the store holds an older copy of its data. Seats may know what it does not, so every table begins
a new life: an undecided round does not count, and its shoe, of which more cards may have been seen, is revealed.

Nodes that were there all the time find that out by themselves (`hub.py`). Those that were started after the copy was
put in can't: an older copy looks like a house that was closed for a while.
"""

import argparse
import asyncio
import secrets
from functools import partial
from typing import Final

from client_sdk.protocol.messages import AMOUNT_MAX
from server.commands.signing import signed
from server.commands.store_place import OpenStore, open_store
from server.commands.tables.arguments import OneRefused, add_tables, add_who, comes_true
from server.store.errors import Refused
from server.store.operating import Operating
from server.store.tables import Tables

_CLOSED: Final = "closed"


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb."""
    parser = verbs.add_parser("restored", help="say that the store was given an older copy of its data")
    add_who(parser)
    add_tables(parser)
    parser.set_defaults(act=_restored)


async def _restored(args: argparse.Namespace) -> list[str]:
    async with open_store(args) as store:
        names = await Tables(store.driver).every() if args.all else [args.table]
        return list(await asyncio.gather(*(_one(store, name, args) for name in names)))


async def _one(store: OpenStore, table: str, args: argparse.Namespace) -> str:
    tables = Tables(store.driver)
    try:
        view = (await tables.view(table, None, 0)).view
        if view.phase == _CLOSED:
            return f"passed over: {table} is closed"
        life = secrets.token_hex(8)
        await tables.report_loss(table, view.incarnation, AMOUNT_MAX, life)
        await Operating(store.driver).operate(table, signed(args), "restored")
    except Refused as refused:
        raise OneRefused(table, refused) from None
    if store.is_served and await comes_true(partial(_is_answered, tables, table)):
        return f"begun anew: {table}"
    return f"noted: {table} is begun anew by the next node that deals it, before anything else"


async def _is_answered(tables: Tables, table: str) -> bool:
    return not await tables.loss_waits(table)
