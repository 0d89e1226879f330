"""`punto-server limits show|set`: what an operator does about one patron's limits on play.

The house's limits stand beside the patron's own, and the stricter counts; the patron's own are not touched here. They
hold at every table when the command returns.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from client_sdk.protocol.messages import AMOUNT_MAX, LIMIT_MS_MAX
from server.commands.signing import add_signature, signed
from server.commands.store_place import add_place, open_store
from server.options.kinds import whole
from server.patron_limits import PatronLimits
from server.store.driver import Driver
from server.store.errors import Refused
from server.store.ledgers import Ledgers
from server.store.limits import LimitBook, Limits, Wanted
from server.tokens import PATRON_FORM

Told = dict[str, Any]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    limits = commands.add_parser("limits", help="a patron's limits on stakes, losses and time; exclusion from play")
    verbs = limits.add_subparsers(dest="verb", required=True)
    for verb, meaning in (("show", "look"), ("set", "set the house's limits for this patron; 0 takes one away")):
        parser = verbs.add_parser(verb, help=meaning)
        add_place(parser)
        parser.add_argument("--patron", metavar="ID", type=_patron, required=True, help="whose")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        if verb == "set":
            add_signature(parser)
            parser.add_argument("--stake-per-day", metavar="N", type=_number(AMOUNT_MAX), help="minor units")
            parser.add_argument("--loss-per-day", metavar="N", type=_number(AMOUNT_MAX), help="minor units")
            parser.add_argument("--session-ms", metavar="MS", type=_number(LIMIT_MS_MAX), help="from the first bet on")
            parser.add_argument("--exclude-ms", metavar="MS", type=_number(LIMIT_MS_MAX), help="from now on")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Do it; 0 done, 1 refused. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    try:
        told = asyncio.run(_in_store(args))
    except Refused as refused:
        reason = "no such patron" if refused.code == "UNKNOWN_PATRON" else refused.code
        print(f"punto-server: refused: {reason}", file=sys.stderr)
        return 1
    print(json.dumps(told) if args.json else "\n".join(f"{name:22}{value}" for name, value in told.items()))
    return 0


async def _in_store(args: argparse.Namespace) -> Told:
    async with open_store(args) as store:
        return await _do(args, store.driver)


async def _do(args: argparse.Namespace, driver: Driver) -> Told:
    limits = PatronLimits(LimitBook(driver), Ledgers(driver), loosen_ms=0, break_ms=0)
    if args.verb == "show":
        return _told(args.patron, await limits.read(args.patron))
    until_ms = args.exclude_ms
    if until_ms:
        until_ms += (await limits.peek(args.patron)).now_ms
    wanted = Wanted(args.stake_per_day, args.loss_per_day, args.session_ms, None, until_ms)
    return _told(args.patron, await limits.set(args.patron, "house", wanted, signed(args)))


def _told(patron: str, limits: Limits) -> Told:
    sides = {"own": limits.own, "house": limits.house}
    return {
        "patron": patron,
        **{f"{side}_{name}": value for side, values in sides.items() for name, value in values._asdict().items()},
        "own_excluded_until_ms": limits.own_excluded_until_ms,
        "house_excluded_until_ms": limits.house_excluded_until_ms,
        "session_until_ms": limits.session_until_ms,
        "staked_today": limits.staked,
        "lost_today": limits.lost,
        "at_ms": limits.now_ms,
    }


def _patron(text: str) -> str:
    if not PATRON_FORM.fullmatch(text):
        raise argparse.ArgumentTypeError("1 to 64 visible ASCII characters are wanted")
    return text


def _number(most: int) -> Any:
    read = whole("N", 0, most).read

    def read_flag(text: str) -> int:
        try:
            return int(read(text))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read_flag
