"""`tables void`: let an undecided round not count; every stake comes back, once.

The wish is noted at the table, and from then on nothing else can become of the round (`ask_void.lua`). Whichever node
owns the table carries it out at once, or the next owner before anything else.
"""

import argparse
import asyncio
from typing import Any

import msgpack

from server.commands.signing import signed
from server.commands.store_place import open_store
from server.commands.tables.arguments import (
    LOOK_MS,
    WAIT_MS_MAX,
    OneRefused,
    add_table,
    add_who,
    round_number,
)
from server.store.errors import Refused
from server.store.tables import Tables

Event = dict[str, Any]


def add_parsers(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb."""
    void = verbs.add_parser("void", help="let an undecided round not count (exit 1 if it is decided or over)")
    add_who(void)
    add_table(void)
    void.add_argument("--round", metavar="N", type=round_number, required=True, help="its open round")
    void.set_defaults(act=_void)


async def _void(args: argparse.Namespace) -> list[str]:
    try:
        return [await _asked_and_told(args)]
    except Refused as refused:
        raise OneRefused(args.table, refused, _why(args, refused)) from None


async def _asked_and_told(args: argparse.Namespace) -> str:
    what = f"round {args.round} at {args.table}"
    async with open_store(args) as store:
        tables = Tables(store.driver)
        by, reason = signed(args)
        asked = await tables.ask_void(args.table, args.round, reason, by)
        if not store.is_served:
            return f"noted: {what} is made void by the next node that serves this store, before anything else"
        told = await _wait(tables, args.table, args.round, asked.after_seq)
    if "round_settled" in told:
        settled = told["round_settled"]
        return f"voided: {what}; {settled['settled']} patrons got {settled['paid']:,} back"
    if "round_voided" in told:
        return f"voided: {what}; the stakes are still on their way back"
    return f"noted: no node deals {args.table} at the moment; the next one makes round {args.round} void at once"


async def _wait(tables: Tables, table: str, round_number: int, after_seq: int) -> dict[str, Event]:
    """Wait until the table has told that the round is void and settled, but not for ever; returns both events."""
    told: dict[str, Event] = {}
    try:
        async with asyncio.timeout(WAIT_MS_MAX / 1000):
            while "round_settled" not in told:
                for seq, packed in await tables.events_after(table, after_seq):
                    after_seq, event = seq, msgpack.unpackb(packed)
                    if event.get("round") == round_number and event["type"] in ("round_voided", "round_settled"):
                        told[event["type"]] = event
                await asyncio.sleep(LOOK_MS / 1000)
    except TimeoutError:
        pass
    return told


def _why(args: argparse.Namespace, refused: Refused) -> str:
    match refused.code, refused.details:
        case "ROUND_OVER", (_, int(at_table)):
            return f"round {args.round} is not the one at {args.table}, which is round {at_table}"
        case "ROUND_DECIDED", _:
            return f"round {args.round} at {args.table} is decided already"
        case code, _:
            return code
