"""`punto bots`: seats many patrons over the public SDK, has every round checked and tells what was found.

Exit codes: 0 every check held and every bot finished, 1 something did not or the server is out of reach, 2 asked
wrongly, 130 stopped by Ctrl-C after the report so far. This module reads the words only. Read next: `runner`.
"""

import argparse
import resource
import secrets
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from client_sdk.bots.orders import CODEC_NAMES, STRATEGY_NAMES, Orders
from client_sdk.commands.arguments import BadArgument, Subparsers, positive_integer
from client_sdk.game.settlement import AMOUNT_MAX

PATRONS_MAX: Final = 20_000
ROUNDS_MAX: Final = 1_000_000
TIMEOUT_S_MAX: Final = 7 * 24 * 3600
FILES_BESIDE_SOCKETS: Final = 64

Name = TypeVar("Name", bound=str)


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto bots` takes."""
    parser = subparsers.add_parser("bots", help="seat many bots at a server's tables and check everything they see")
    parser.add_argument("--url", required=True, metavar="URL", help="ws://HOST:PORT or wss://HOST:PORT")
    parser.add_argument("--patrons", required=True, metavar="N", help="how many bots to seat")
    parser.add_argument("--rounds", required=True, metavar="N", help="how many rounds each of them bets on")
    parser.add_argument("--tables", metavar="ID,ID", help="at which tables (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write the report there too, as one JSON object")
    parser.add_argument("--strategy", default="mixed", metavar="NAME", help=f"one of {', '.join(STRATEGY_NAMES)}")
    parser.add_argument("--codec", default="msgpack", metavar="NAME", help=f"one of {', '.join(CODEC_NAMES)}")
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
    from client_sdk.bots import runner  # only here: the other commands of `punto` start without a client

    orders = orders_of(args)
    json_path = None if args.json is None else Path(args.json)
    _check_writable(json_path)
    _allow_sockets(orders.patrons)
    return runner.play(orders, json_path)


def orders_of(args: argparse.Namespace) -> Orders:
    """Read the words of the command line. Raises BadArgument."""
    return Orders(
        url=_url(args.url),
        patrons=positive_integer(args.patrons, "the number of patrons", PATRONS_MAX),
        rounds=positive_integer(args.rounds, "the number of rounds", ROUNDS_MAX),
        seed=args.seed if args.seed is not None else secrets.token_hex(4),
        strategy=_one_of(STRATEGY_NAMES, args.strategy, "strategy"),
        codec=_one_of(CODEC_NAMES, args.codec, "codec"),
        tables=_tables(args.tables),
        buy_in=None if args.buy_in is None else positive_integer(args.buy_in, "the buy-in", AMOUNT_MAX),
        presses_ready=args.ready,
        timeout_ms=_timeout_ms(args.timeout),
    )


def _one_of(known: tuple[Name, ...], text: str, what: str) -> Name:
    for name in known:
        if name == text:
            return name
    raise BadArgument(f"unknown {what} {text!r}: there are {', '.join(known)}")


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


def _check_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written now, not after an hour of play."""
    if path is None:
        return
    try:
        path.open("a").close()
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
