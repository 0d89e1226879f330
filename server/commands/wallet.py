"""`punto-server wallet credit|debit|show`: what an operator does to one patron's wallet.

A change goes under an operation id of the operator's choice, so that a command whose answer was lost can be run again:
it is done once, and told again as it was. The newest 1,000 operations of a wallet are known (`operate_wallet.lua`).
Exit 1: refused, nothing was changed.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from client_sdk.protocol.messages import AMOUNT_MAX
from server.commands.signing import add_signature, signed
from server.commands.store_place import add_place, open_store
from server.store.books import Books, WalletBook
from server.store.driver import Driver
from server.store.errors import Refused, StoreAway
from server.store.wallets import WALLET_MAX, Operation, Wallets

PATRON_CHARS_MAX: Final = 128
_OPERATION: Final = re.compile(r"[!-~]{1,64}")
_KINDS: Final[dict[str, Operation]] = {"credit": "credited", "debit": "debited"}
_REASONS: Final = {
    "UNKNOWN_PATRON": "no such patron",
    "OPERATION_REUSED": "this operation id was used for something else",
    "WALLET_TOO_FULL": f"no wallet is filled beyond {WALLET_MAX}, or with more than {AMOUNT_MAX} in all",
    "INSUFFICIENT_WALLET": "the wallet does not hold that much",
}
Told = dict[str, Any]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    wallet = commands.add_parser("wallet", help="put money into a patron's wallet, take it out, or look")
    verbs = wallet.add_subparsers(dest="verb", required=True)
    for verb, meaning in (("credit", "put money in"), ("debit", "take money out"), ("show", "look, change nothing")):
        parser = verbs.add_parser(verb, help=meaning)
        add_place(parser)
        parser.add_argument("--patron", metavar="ID", type=_patron, required=True, help="whose wallet")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        if verb in _KINDS:
            add_signature(parser)
            parser.add_argument("--amount", metavar="N", type=_amount, required=True, help="minor units")
            parser.add_argument(
                "--operation",
                metavar="ID",
                type=_operation,
                required=True,
                help="a name of your choice; run again under it, the command does nothing more",
            )
            parser.add_argument(
                "--confirm-replicas", metavar="K", type=int, default=0, help="replicas that must have it (%(default)s)"
            )


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Do it; 0 done, 1 refused. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    verb = _show if args.verb == "show" else _operate
    try:
        told = asyncio.run(_in_store(args, verb))
    except Refused as refused:
        print(f"punto-server: refused: {_REASONS.get(refused.code, refused.code)}", file=sys.stderr)
        if args.json:
            print(json.dumps({"patron": args.patron, "refused": refused.code}))
        return 1
    except StoreAway as away:
        again = "" if verb is _show else "; it may be done: run it again under the same --operation"
        raise StoreAway(f"{away}{again}") from None
    print(json.dumps(told) if args.json else _as_text(args.verb, told))
    return 0


async def _in_store(args: argparse.Namespace, verb: Callable[[argparse.Namespace, Driver], Awaitable[Told]]) -> Told:
    async with open_store(args) as store:
        return await verb(args, store.driver)


async def _operate(args: argparse.Namespace, driver: Driver) -> Told:
    kind = _KINDS[args.verb]
    done = await Wallets(driver).operate(args.patron, args.operation, kind, args.amount, signed(args))
    return {"patron": args.patron, "operation": args.operation, "amount": args.amount, **done._asdict()}


async def _show(args: argparse.Namespace, driver: Driver) -> Told:
    book, wallet = await Books(driver).wallet(args.patron), await Wallets(driver).read(args.patron)
    assert wallet is not None, "its book was read before"
    return {
        "patron": args.patron,
        "name": wallet.name,
        "bot": wallet.bot,
        "balance": book.balance,
        "put_in": book.put_in,
        "taken_out": book.taken_out,
        "at_tables": {table: amount for table, amount in _at_tables(book).items() if amount},
        "under_way": book.leaving,
    }


def _at_tables(book: WalletBook) -> dict[str, int]:
    """What went to each table and has not come back; what was won or lost there meanwhile is not in it."""
    return {table: book.given.get(table, 0) - book.taken.get(table, 0) for table in book.given.keys() | book.taken}


def _as_text(verb: str, told: Told) -> str:
    if verb != "show":
        before = "" if told["is_new"] else " (done before under this operation id)"
        return f"{_KINDS[verb]} {told['amount']:,}: {told['patron']} has {told['balance']:,}{before}"
    lines = [
        f"{told['patron']}  {told['name']}{'  bot' if told['bot'] else ''}",
        f"balance     {told['balance']:>20,}",
        f"put in      {told['put_in']:>20,}",
        f"taken out   {told['taken_out']:>20,}",
    ]
    lines += [f"at {table}: bought in {amount:,} more than cashed out" for table, amount in told["at_tables"].items()]
    lines += [f"on the way to {table}: {amount:,}" for table, amount in told["under_way"].items()]
    return "\n".join(lines)


def _patron(text: str) -> str:
    if not 1 <= len(text) <= PATRON_CHARS_MAX:
        raise argparse.ArgumentTypeError(f"an id of 1 to {PATRON_CHARS_MAX} characters is wanted")
    return text


def _operation(text: str) -> str:
    if not _OPERATION.fullmatch(text):
        raise argparse.ArgumentTypeError("1 to 64 visible ASCII characters are wanted")
    return text


def _amount(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 1 <= int(text) <= AMOUNT_MAX):
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {AMOUNT_MAX} is wanted, not {text!r}")
    return int(text)
