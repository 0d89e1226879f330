"""`punto-server`: the operator's command line. A mistake is one line on stderr and exit 2, never a traceback."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from client_sdk.game.shoe import CUT_CARD_DEFAULT
from server import logs
from server.embedded import EmbeddedError
from server.process import serve
from server.settings import PLAY_MONEY, BadSetting, Pace, Settings
from server.shoes import BadStackedShoe, Shoes, ShuffledShoes, StackedShoes
from server.store.errors import StoreError
from server.supervisor import WorkerFailed, become_worker

EXIT_BAD_START = 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadSetting(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `punto-server`; returns the exit code."""
    try:
        args = _parser().parse_args(argv)
        settings = _settings(args)
        logs.configure(args.log_level)
        if settings.worker:
            become_worker(settings.worker)
        arguments = sys.argv[1:] if argv is None else list(argv)
        asyncio.run(serve(settings, arguments, lambda address: _say_open(settings, address)))
    except (BadSetting, BadStackedShoe, EmbeddedError, StoreError, WorkerFailed, OSError, ValueError) as error:
        print(f"punto-server: {_one_line(error)}", file=sys.stderr)
        return EXIT_BAD_START
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="punto-server", description="Baccarat tables over WebSocket.")
    commands = parser.add_subparsers(dest="command", required=True)
    pace = Pace()
    run = commands.add_parser("serve", help="run a node with one table for each variant")
    run.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8765", help="address to serve (%(default)s)")
    run.add_argument(
        "--store",
        metavar="URL",
        default="embedded",
        help="embedded, redis://, rediss://, redis+sentinel://, redis+cluster:// (%(default)s)",
    )
    run.add_argument(
        "--data", metavar="DIR", type=Path, default=Path("data"), help="of the embedded store (%(default)s)"
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
    run.add_argument("--stacked-shoe", metavar="FILE", type=Path, help="deal these rounds, one a line (open play only)")
    run.add_argument("--demo-bots", metavar="N", type=int, nargs="?", const=3, default=0, help="bots at each table")
    run.add_argument(
        "--workers", metavar="N", type=int, default=0, help="so many processes on one port (%(default)s: one)"
    )
    run.add_argument("--worker", metavar="N", type=int, default=0, help=argparse.SUPPRESS)
    run.add_argument(
        "--confirm-replicas", metavar="K", type=int, default=0, help="replicas that must have an act about money"
    )
    run.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    return parser


def _settings(args: argparse.Namespace) -> Settings:
    host, _, port = str(args.listen).rpartition(":")
    if not host or not port.isdecimal():
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
        cut_card=args.cut_card,
        stacked=args.stacked_shoe is not None,
        shoes=_shoes(args.stacked_shoe),
        demo_bots=args.demo_bots,
        workers=args.workers,
        worker=args.worker,
        confirm_replicas=args.confirm_replicas,
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
    tables = ", ".join(settings.tables())
    print(f"Punto is open at {address}\n  tables  {tables}\n  stop    Ctrl-C", flush=True)
    if settings.stacked:
        print("  note    the shoes are stacked: the cards come from a file", flush=True)
    logging.getLogger(__name__).info("serving", extra={"address": address})


def _one_line(error: BaseException) -> str:
    return " ".join((str(error) or type(error).__name__).split())


if __name__ == "__main__":
    sys.exit(main())
