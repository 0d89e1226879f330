"""`punto bots`: seats many patrons over the public SDK, has every round checked and tells what was found.

Exit codes: 0 every check held and every bot finished, 1 something did not or the server is out of reach, 2 asked
wrongly, 130 stopped by Ctrl-C after the report so far, with nothing wrong in it. This module reads the words only.
Read next: `runner`.
"""

import argparse
import os
import resource
import secrets
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from client_sdk.bots.chaos import EVERY_S, Chaos, NothingToKill, check_chaos
from client_sdk.bots.orders import CODEC_NAMES, STRATEGY_NAMES, Orders
from client_sdk.commands.arguments import BadArgument, Subparsers, positive_integer
from client_sdk.game.settlement import AMOUNT_MAX

PATRONS_MAX: Final = 20_000
ROUNDS_MAX: Final = 1_000_000
TIMEOUT_S_MAX: Final = 7 * 24 * 3600
FILES_BESIDE_SOCKETS: Final = 64
PROCESSES_MAX: Final = 64
PATRONS_OF_A_PROCESS: Final = 500
"""More patrons than these are worth another process, as long as there are processors."""
RAMP_S_MAX: Final = 24 * 3600
PID_MAX: Final = 2**22

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
    _add_load(parser)


def _add_load(parser: argparse.ArgumentParser) -> None:
    """Say what makes a load of many bots."""
    parser.add_argument("--html", metavar="FILE", help="write the report there too, as one page with plots")
    parser.add_argument(
        "--processes",
        metavar="N",
        help=f"share the bots out over so many (default: one for {PATRONS_OF_A_PROCESS}, at most one a processor)",
    )
    parser.add_argument("--ramp-s", metavar="SECONDS", help="let them come over this time (default: at once)")
    parser.add_argument("--late-joiners", metavar="N", help="so many of them come when the others sit already")
    parser.add_argument("--droppers", metavar="N", help="so many cut their connection now and then, and come back")
    parser.add_argument("--slow-readers", metavar="N", help="so many read nothing for seconds, now and then")
    parser.add_argument("--last-second", action="store_true", help="all bets come in the last second of betting")
    parser.add_argument(
        "--chaos",
        metavar="PID",
        help="kill workers of this punto-server (serve --workers N, on this machine) while the bots play",
    )
    parser.add_argument("--chaos-every-s", metavar="SECONDS", help=f"on average (default: {EVERY_S})")


def run(args: argparse.Namespace) -> int:
    """Run the fleet and print its report. Raises BadArgument for what was asked wrongly."""
    from client_sdk.bots import runner  # only here: the other commands of `punto` start without a client

    orders = orders_of(args)
    paths = [None if name is None else Path(name) for name in (args.json, args.html)]
    for path in paths:
        _check_writable(path)
    chaos = _chaos(args)
    _allow_sockets(len(orders.numbers))
    return runner.play(orders, runner.Reports(*paths), chaos)


def orders_of(args: argparse.Namespace) -> Orders:
    """Read the words of the command line. Raises BadArgument."""
    patrons = positive_integer(args.patrons, "the number of patrons", PATRONS_MAX)
    difficult = [
        _some_of(patrons, text, what)
        for text, what in (
            (args.late_joiners, "late joiners"),
            (args.droppers, "droppers"),
            (args.slow_readers, "slow readers"),
        )
    ]
    if difficult[1] + difficult[2] > patrons:
        raise BadArgument(f"{difficult[1]} droppers and {difficult[2]} slow readers are more than {patrons} patrons")
    return Orders(
        url=_url(args.url),
        patrons=patrons,
        rounds=positive_integer(args.rounds, "the number of rounds", ROUNDS_MAX),
        seed=args.seed if args.seed is not None else secrets.token_hex(4),
        strategy=_one_of(STRATEGY_NAMES, args.strategy, "strategy"),
        codec=_one_of(CODEC_NAMES, args.codec, "codec"),
        tables=_tables(args.tables),
        buy_in=None if args.buy_in is None else positive_integer(args.buy_in, "the buy-in", AMOUNT_MAX),
        presses_ready=args.ready,
        timeout_ms=_timeout_ms(args.timeout),
        processes=_processes(args.processes, patrons),
        ramp_ms=0 if args.ramp_s is None else positive_integer(args.ramp_s, "the ramp in seconds", RAMP_S_MAX) * 1000,
        late_joiners=difficult[0],
        droppers=difficult[1],
        slow_readers=difficult[2],
        last_second=args.last_second,
    )


def _some_of(patrons: int, text: str | None, what: str) -> int:
    return 0 if text is None else positive_integer(text, f"the number of {what}", patrons)


def _processes(text: str | None, patrons: int) -> int:
    if text is None:
        wanted = -(-patrons // PATRONS_OF_A_PROCESS)
        return max(1, min(wanted, os.cpu_count() or 1, PROCESSES_MAX))
    return min(patrons, positive_integer(text, "the number of processes", PROCESSES_MAX))


def _chaos(args: argparse.Namespace) -> Chaos | None:
    """Read whose workers may be killed. Raises BadArgument where it is nobody's that may."""
    if args.chaos is None:
        if args.chaos_every_s is not None:
            raise BadArgument("--chaos-every-s goes with --chaos")
        return None
    every_s = args.chaos_every_s
    chaos = Chaos(
        supervisor=positive_integer(args.chaos, "the id of the process", PID_MAX),
        every_s=EVERY_S if every_s is None else positive_integer(every_s, "the seconds between kills", RAMP_S_MAX),
    )
    try:
        check_chaos(chaos, args.url)
    except NothingToKill as error:
        raise BadArgument(str(error)) from None
    return chaos


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
