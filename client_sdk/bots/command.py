"""`punto bots`: seats many patrons over the public SDK, has every round checked and tells what was found.

Exit codes: 0 every check held and every bot finished, 1 something did not or the server is out of reach, 2 asked
wrongly, 130 stopped by Ctrl-C after the report so far. Read next: `fleet`.
"""

import argparse
import asyncio
import resource
import secrets
import signal
import sys
from typing import Final
from urllib.parse import urlsplit

from client_sdk.bots.fleet import Fleet, NoRoom, Orders
from client_sdk.bots.progress import show_progress
from client_sdk.bots.report import as_json, as_text
from client_sdk.bots.strategies import STRATEGIES
from client_sdk.commands.arguments import BadArgument, Subparsers, positive_integer
from client_sdk.exceptions import PuntoError
from client_sdk.game.settlement import AMOUNT_MAX

PATRONS_MAX: Final = 20_000
ROUNDS_MAX: Final = 1_000_000
TIMEOUT_S_MAX: Final = 7 * 24 * 3600
FILES_BESIDE_SOCKETS: Final = 64
CODECS: Final = ("msgpack", "json", "mixed")

_CLEAN: Final = 0
_NOT_CLEAN: Final = 1
_INTERRUPTED: Final = 130


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto bots` takes."""
    parser = subparsers.add_parser("bots", help="seat many bots at a server's tables and check everything they see")
    parser.add_argument("--url", required=True, metavar="URL", help="ws://HOST:PORT or wss://HOST:PORT")
    parser.add_argument("--patrons", required=True, metavar="N", help="how many bots to seat")
    parser.add_argument("--rounds", required=True, metavar="N", help="how many rounds each of them bets on")
    parser.add_argument("--tables", metavar="ID,ID", help="at which tables (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write the report there too, as one JSON object")
    parser.add_argument("--strategy", default="mixed", metavar="NAME", help=f"one of {', '.join(STRATEGIES)}")
    parser.add_argument("--codec", default="msgpack", metavar="NAME", help=f"one of {', '.join(CODECS)}")
    parser.add_argument(
        "--buy-in", metavar="N", help="chips to sit down with, in minor units (default: 100 small bets)"
    )
    parser.add_argument("--seed", metavar="TEXT", help="the same bets for the same text, as far as timing allows")
    parser.add_argument(
        "--ready",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="press ready after betting, so that rounds go fast; tables where others sit wait for them all the same",
    )
    parser.add_argument("--timeout", metavar="SECONDS", help="give up after this time (default: by the tables' timers)")


def run(args: argparse.Namespace) -> int:
    """Run the fleet and print its report. Raises BadArgument for what was asked wrongly."""
    orders = orders_of(args)
    _check_writable(args.json)
    _allow_sockets(orders.patrons)
    fleet = Fleet(orders)
    try:
        is_interrupted = asyncio.run(_play(fleet))
    except (PuntoError, NoRoom) as error:
        print("punto:", " ".join(str(error).split()), file=sys.stderr)
        return _NOT_CLEAN
    print("\n".join(as_text(fleet.tally)), flush=True)
    if args.json is not None:
        with open(args.json, "w", encoding="utf-8") as file:
            file.write(as_json(fleet.tally) + "\n")
    if is_interrupted:
        return _INTERRUPTED
    if not fleet.tally.is_clean:
        print(f"punto: not clean; the bets were those of --seed {orders.seed}", file=sys.stderr)
        return _NOT_CLEAN
    return _CLEAN


def orders_of(args: argparse.Namespace) -> Orders:
    """Read the words of the command line. Raises BadArgument."""
    strategy = STRATEGIES.get(args.strategy)
    if strategy is None:
        raise BadArgument(f"unknown strategy {args.strategy!r}: there are {', '.join(STRATEGIES)}")
    if args.codec not in CODECS:
        raise BadArgument(f"unknown codec {args.codec!r}: there are {', '.join(CODECS)}")
    return Orders(
        url=_url(args.url),
        patrons=positive_integer(args.patrons, "the number of patrons", PATRONS_MAX),
        rounds=positive_integer(args.rounds, "the number of rounds", ROUNDS_MAX),
        strategy=strategy,
        codec=args.codec,
        seed=args.seed if args.seed is not None else secrets.token_hex(4),
        tables=_tables(args.tables),
        buy_in=None if args.buy_in is None else positive_integer(args.buy_in, "the buy-in", AMOUNT_MAX),
        presses_ready=args.ready,
        acts_late=args.strategy == "busy",
        timeout_ms=_timeout_ms(args.timeout),
    )


async def _play(fleet: Fleet) -> bool:
    """Run the fleet with its progress shown, and return whether Ctrl-C ended it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    progress = asyncio.create_task(show_progress(fleet, sys.stderr))
    try:
        await fleet.run(stop)
    finally:
        progress.cancel()
        await asyncio.gather(progress, return_exceptions=True)
    return stop.is_set()


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_right = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_right = False
    if not is_right:
        raise BadArgument(f"the URL must be ws://HOST:PORT or wss://HOST:PORT, not {text!r}")
    return text


def _tables(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    tables = tuple(text.split(","))
    if not all(tables):
        raise BadArgument(f"the tables must be ids with commas between them, not {text!r}")
    return tables


def _timeout_ms(text: str | None) -> int | None:
    return None if text is None else positive_integer(text, "the timeout in seconds", TIMEOUT_S_MAX) * 1000


def _check_writable(path: str | None) -> None:
    """Refuse a file that cannot be written now, not after an hour of play."""
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise BadArgument(f"cannot write {path}: {error.strerror}") from None


def _allow_sockets(patrons: int) -> None:
    """Raise this process's limit of open files as far as its bots need. Raises BadArgument where it may not."""
    needed = patrons + FILES_BESIDE_SOCKETS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadArgument(f"{patrons} patrons need {needed} open files, this process may have {hard} (see ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
