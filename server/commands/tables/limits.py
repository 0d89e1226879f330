"""`tables limits`: change the limits and times of one table from its next round on, or give it the house's again."""

import argparse

from msgspec.structs import replace

from client_sdk.game.variants import variant_named
from client_sdk.protocol.messages import TableRules
from server.commands.signing import signed
from server.commands.store_place import open_store
from server.commands.tables.arguments import OneRefused, add_table, add_who
from server.options.catalogue import OPTIONS
from server.options.flags import add_some
from server.options.sources import gather
from server.options.table_limits import LIMIT_KEYS, limits_given, limits_of, refuse_impossible, values_of
from server.settings import BadSetting
from server.store.errors import Refused
from server.store.operating import HOUSE_RULES, Operating
from server.store.tables import Tables


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb."""
    parser = verbs.add_parser("limits", help="change a table's limits and times from its next round on")
    add_who(parser)
    add_table(parser)
    add_some(parser, LIMIT_KEYS)
    parser.add_argument("--house", action="store_true", help="by the house's settings again")
    parser.set_defaults(act=_limits)


async def _limits(args: argparse.Namespace) -> list[str]:
    changes = limits_given(args)
    if bool(changes) is args.house:
        raise BadSetting("limits to change are wanted, or --house")
    async with open_store(args) as store:
        try:
            before = (await Tables(store.driver).view(args.table, None, 0)).view.rules
            operating = Operating(store.driver)
            own = (await operating.wishes(args.table)).rules
            rules = HOUSE_RULES if args.house else _changed(own or before, changes)
            details = "house" if args.house else " ".join(f"{key}={value}" for key, value in changes.items())
            await operating.operate(args.table, signed(args), "limits", rules=rules, details=details)
        except Refused as refused:
            raise OneRefused(args.table, refused) from None
    return [f"changed: {args.table}, from its next round on: {details}"]


def _changed(before: TableRules, changes: dict[str, object]) -> TableRules:
    values = {**values_of(before), **{key: gather({key: value}, {}).values[key] for key, value in changes.items()}}
    assert values.keys() <= OPTIONS.keys(), "they are options"
    rules = limits_of(values).rules(variant_named(before.variant), stacked=before.stacked)
    return refuse_impossible(replace(rules, decks=before.decks))
