"""`tables open`: open a new table of one of the variants, or a closed one again."""

import argparse
import os
import secrets

from client_sdk.game.variants import VARIANTS, variant_named
from client_sdk.protocol.messages import TableRules
from server.commands.signing import signed
from server.commands.store_place import open_store
from server.commands.tables.arguments import OneRefused, add_table, add_who, reached
from server.options.flags import add_some
from server.options.sources import gather
from server.options.table_limits import LIMIT_KEYS, limits_given, limits_of, refuse_impossible
from server.settings import BadSetting
from server.store.driver import Driver
from server.store.errors import Refused
from server.store.nodes import Nodes
from server.store.operating import CLOSED, OPEN, Operating
from server.store.tables import Tables


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb. Limits that are not given are those of the node's own file and environment."""
    parser = verbs.add_parser("open", help="open a new table, or a closed one again")
    add_who(parser)
    add_table(parser)
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="the house's rules, for a new table")
    add_some(parser, LIMIT_KEYS)
    parser.set_defaults(act=_open)


async def _open(args: argparse.Namespace) -> list[str]:
    async with open_store(args) as store:
        tables = Tables(store.driver)
        if args.table not in await tables.every():
            await _create(args, tables, store.driver)
        elif limits_given(args) or args.variant:
            raise BadSetting(f"{args.table} is there already: `tables limits` changes its limits", "table")
        try:
            await Operating(store.driver).operate(args.table, signed(args), "open", mode=OPEN)
        except Refused as refused:
            raise OneRefused(args.table, refused) from None
        if store.is_served and await reached(tables, args.table, lambda view: view.phase != "closed"):
            return [f"opened: {args.table}"]
        return [f"noted: {args.table} is opened by the next node that serves this store"]


async def _create(args: argparse.Namespace, tables: Tables, driver: Driver) -> None:
    """Put a new table there, closed: it opens with the act that is logged."""
    if args.variant is None:
        raise BadSetting(f"is needed for a new table, and there is none called {args.table}", "variant")
    rules = _rules(args)
    run_id = await Nodes(driver).run_id_of(args.table)
    await tables.create(args.table, rules, secrets.token_hex(8), run_id, mode=CLOSED)


def _rules(args: argparse.Namespace) -> TableRules:
    given = gather({"config": args.config, **limits_given(args)}, os.environ)
    return refuse_impossible(limits_of(given.values).rules(variant_named(args.variant)))
