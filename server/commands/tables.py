"""`punto-server tables void`: let an undecided round not count; every stake comes back, once.

The wish is noted at the table, and from then on nothing else can become of the round (`ask_void.lua`). Whichever node
owns the table carries it out at once, or the next owner before anything else. Exit 1: refused, nothing was changed.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgpack
import msgspec

from client_sdk.protocol.messages import AMOUNT_MAX, TableId
from server.commands.store_place import add_place, open_store
from server.settings import BadSetting
from server.store.errors import Refused
from server.store.tables import Tables

REASON_CHARS_MAX: Final = 100
WAIT_MS_MAX: Final = 10_000
"""A table whose owner has died has the next one, and all stakes back, well within this time."""
LOOK_MS: Final = 50
Event = dict[str, Any]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    tables = commands.add_parser("tables", help="act on a table")
    verbs = tables.add_subparsers(dest="verb", required=True)
    void = verbs.add_parser("void", help="let an undecided round not count (exit 1 if it is decided or over)")
    add_place(void)
    void.add_argument("--table", metavar="ID", type=_table, required=True, help="which table")
    void.add_argument("--round", metavar="N", type=_round, required=True, help="its open round")
    void.add_argument("--reason", metavar="TEXT", type=_reason, help="told to everybody at the table")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Have a round made void and wait for it; 0 void or noted, 1 refused. Raises `BadSetting`, `EmbeddedError`,
    `StoreError`."""
    try:
        print(asyncio.run(_void(args)))
    except Refused as refused:
        if refused.code == "UNKNOWN_TABLE":
            raise BadSetting(f"--table: no such table: {args.table}") from None
        print(f"punto-server: refused: {_why(args, refused)}", file=sys.stderr)
        return 1
    return 0


async def _void(args: argparse.Namespace) -> str:
    what = f"round {args.round} at {args.table}"
    async with open_store(args) as store:
        tables = Tables(store.driver)
        asked = await tables.ask_void(args.table, args.round, args.reason or "")
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


def _table(text: str) -> str:
    try:
        return msgspec.convert(text, TableId)
    except msgspec.ValidationError:
        raise argparse.ArgumentTypeError(f"not a table's id: {text!r}") from None


def _round(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 1 <= int(text) <= AMOUNT_MAX):
        raise argparse.ArgumentTypeError(f"not a round's number: {text!r}")
    return int(text)


def _reason(text: str) -> str:
    if not (1 <= len(text) <= REASON_CHARS_MAX and text.isprintable()):
        raise argparse.ArgumentTypeError(f"1 to {REASON_CHARS_MAX} printable characters are wanted")
    return text
