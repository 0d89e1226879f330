"""`punto-server serve`: run a node, or several workers on one port."""

import argparse
import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from client_sdk.game.shoe import CUT_CARD_DEFAULT
from server import logs
from server.process import serve
from server.settings import PLAY_MONEY, SEATS_MAX, BadSetting, Pace, Settings, Stakes
from server.shoes import BadStackedShoe, Shoes, ShuffledShoes, StackedShoes
from server.supervisor import READY_LINE, become_worker


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    pace, stakes = Pace(), Stakes()
    run = commands.add_parser("serve", help="run a node with one table for each variant")
    run.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8765", help="address to serve (%(default)s)")
    run.add_argument(
        "--store",
        metavar="URL",
        default="embedded",
        help="embedded, redis://, rediss://, redis+sentinel://, redis+cluster:// (%(default)s)",
    )
    run.add_argument(
        "--data", metavar="DIR", type=_directory, default=Path("data"), help="of the embedded store (%(default)s)"
    )
    run.add_argument("--open", action="store_true", help="admit guests with play money")
    run.add_argument("--play-money", metavar="N", type=int, default=PLAY_MONEY, help="minor units (%(default)s)")
    run.add_argument("--betting-ms", metavar="MS", type=int, default=pace.betting_ms, help="betting time (%(default)s)")
    run.add_argument("--card-ms", metavar="MS", type=int, default=pace.card_ms, help="from card to card (%(default)s)")
    run.add_argument(
        "--result-ms", metavar="MS", type=int, default=pace.result_ms, help="the result stands (%(default)s)"
    )
    run.add_argument(
        "--grace-ms", metavar="MS", type=int, default=pace.grace_ms, help="a lost seat waits (%(default)s)"
    )
    run.add_argument(
        "--cut-card", metavar="N", type=int, default=CUT_CARD_DEFAULT, help="cards behind it (%(default)s)"
    )
    run.add_argument("--seats-max", metavar="N", type=int, default=SEATS_MAX, help="seats at a table (%(default)s)")
    run.add_argument(
        "--chips",
        metavar="N,N,...",
        type=_chips,
        default=stakes.chips,
        help=f"what one act may lay, minor units ({','.join(map(str, stakes.chips))})",
    )
    for flag, value, meaning in (
        ("--minimum", stakes.minimum, "least sum on a spot"),
        ("--maximum", stakes.maximum, "greatest sum of one patron on a side"),
        ("--tie-maximum", stakes.tie_maximum, "greatest sum of one patron on the tie"),
        ("--table-maximum", stakes.table_maximum, "greatest sum of all patrons on a side"),
        ("--win-max", stakes.win_max, "cap on the win of one bet at royal"),
    ):
        run.add_argument(flag, metavar="N", type=int, default=value, help=f"{meaning} (%(default)s)")
    run.add_argument("--stacked-shoe", metavar="FILE", type=Path, help="deal these rounds, one a line (open play only)")
    run.add_argument("--demo-bots", metavar="N", type=int, nargs="?", const=3, default=0, help="bots at each table")
    run.add_argument(
        "--workers", metavar="N", type=int, default=0, help="so many processes on one port (%(default)s: one)"
    )
    run.add_argument("--worker", metavar="N", type=int, default=0, help=argparse.SUPPRESS)
    run.add_argument(
        "--confirm-replicas", metavar="K", type=int, default=0, help="replicas that must have an act about money"
    )
    run.add_argument(
        "--accept-unsafe-store", action="store_true", help="run on a store whose settings could lose money"
    )
    run.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")


def run(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Serve until SIGINT or SIGTERM. Raises `BadSetting` and what `process.serve` raises."""
    settings = _settings(args)
    logs.configure(args.log_level, settings.worker)
    if settings.worker:
        become_worker(settings.worker)
    asyncio.run(serve(settings, argv, lambda address: _say_open(settings, address)))
    return 0


def _directory(text: str) -> Path:
    if not text:  # Path("") would be the present directory
        raise argparse.ArgumentTypeError("a directory is wanted")
    return Path(text)


def _chips(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(chip) for chip in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"amounts with commas between them are wanted, not {text!r}") from None


def _settings(args: argparse.Namespace) -> Settings:
    host, _, port = str(args.listen).rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()):
        raise BadSetting(f"--listen: not HOST:PORT: {args.listen}")
    if args.stacked_shoe is not None and not args.open:
        raise BadSetting("--stacked-shoe: only in open play (--open)")
    return Settings(
        host=host.strip("[]"),
        port=int(port),
        store=args.store,
        data=args.data,
        open_play=args.open,
        play_money=args.play_money,
        pace=Pace(args.betting_ms, args.card_ms, args.result_ms, args.grace_ms),
        stakes=Stakes(args.chips, args.minimum, args.maximum, args.tie_maximum, args.table_maximum, args.win_max),
        cut_card=args.cut_card,
        seats_max=args.seats_max,
        stacked=args.stacked_shoe is not None,
        shoes=_shoes(args.stacked_shoe),
        demo_bots=args.demo_bots,
        workers=args.workers,
        worker=args.worker,
        confirm_replicas=args.confirm_replicas,
        accept_unsafe_store=args.accept_unsafe_store,
    )


def _shoes(path: Path | None) -> Shoes:
    if path is None:
        return ShuffledShoes()
    try:
        return StackedShoes(path.read_text().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"--stacked-shoe: {path}: {error.strerror if isinstance(error, OSError) else 'not text'}"
        ) from None
    except BadStackedShoe as error:
        raise BadSetting(f"--stacked-shoe: {path}: {error}") from None


def _say_open(settings: Settings, address: str) -> None:
    if settings.worker:
        print(READY_LINE, flush=True)  # to the supervisor; people are told by it
        return
    tables = ", ".join(settings.tables())
    print(f"Punto is open at {address}\n  tables  {tables}\n  stop    Ctrl-C", flush=True)
    for note in settings.notes():
        print(f"  note    {note}", flush=True)
    logging.getLogger(__name__).info("serving", extra={"address": address})
