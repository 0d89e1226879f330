"""`tables pause | resume | drain | close`: how a table is to run from now on. `--all` means every table of the house.

`pause --all --now` is the kill switch: no table opens a round any more, and every round that is not decided is void.
"""

import argparse
import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from client_sdk.protocol.messages import TableView
from server.commands.signing import signed
from server.commands.store_place import open_store
from server.commands.tables.arguments import OneRefused, add_tables, add_who, reached
from server.store.errors import Refused
from server.store.operating import CLOSED, DRAINING, OPEN, PAUSED, Asked, Operating
from server.store.tables import Tables


class _Verb(NamedTuple):
    """A verb: how the table runs after it, what is told when it does and until then, and how it shows."""

    mode: str
    help: str
    done: str
    noted: str
    is_so: Callable[[TableView], bool]


def _shows(*phases: str) -> Callable[[TableView], bool]:
    return lambda view: view.phase in phases


_AFTER_ROUND: Final = "when its round is over"
_VERBS: Final = {
    "pause": _Verb(PAUSED, "open no round after this one", "paused", _AFTER_ROUND, _shows("paused")),
    "resume": _Verb(
        OPEN,
        "open rounds again",
        "resumed",
        "once a node deals it",
        _shows("idle", "betting", "dealing", "settling"),
    ),
    "drain": _Verb(
        DRAINING, "let nobody sit down; close it when the last seat is free", "draining", "", lambda _: True
    ),
    "close": _Verb(CLOSED, "free every seat after this round, and close it", "closed", _AFTER_ROUND, _shows("closed")),
}


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs."""
    for name, verb in _VERBS.items():
        parser = verbs.add_parser(name, help=verb.help)
        add_who(parser)
        add_tables(parser)
        parser.add_argument("--now", action="store_true", help="a round that is not decided is void")
        parser.set_defaults(act=_change)


async def _change(args: argparse.Namespace) -> list[str]:
    async with open_store(args) as store:
        tables, operating = Tables(store.driver), Operating(store.driver)
        names = await tables.every() if args.all else [args.table]
        asked = {name: await _ask(operating, name, args) for name in names}
        wanted = [name for name, answer in asked.items() if answer is not None]
        outcomes = await asyncio.gather(
            *(_outcome(tables, name, args, asked[name], store.is_served) for name in wanted)
        )
        return list(outcomes)


async def _ask(operating: Operating, table: str, args: argparse.Namespace) -> Asked | None:
    """Note the wish. Where all tables are meant, one that is closed already is passed over."""
    mode = _VERBS[args.verb].mode
    try:
        return await operating.operate(
            table,
            signed(args),
            args.verb,
            mode=mode,
            voids=args.now,
            details="now" if args.now else "",
        )
    except Refused as refused:
        if args.all and refused.code in ("TABLE_CLOSED", "UNKNOWN_TABLE"):
            return None
        raise OneRefused(table, refused) from None


async def _outcome(tables: Tables, table: str, args: argparse.Namespace, asked: Asked | None, is_served: bool) -> str:
    verb = _VERBS[args.verb]
    void = f"; round {asked.void_round} is void" if asked is not None and asked.void_round else ""
    if not is_served:
        return f"noted: {table} is {verb.done} by the next node that serves this store{void}"
    if await reached(tables, table, verb.is_so):
        return f"{verb.done}: {table}{void}"
    return f"noted: {table} is {verb.done} {verb.noted}{void}"
