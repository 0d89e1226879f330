"""`punto-server`: the operator's command line. A mistake is one line on stderr and exit 2, never a traceback."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from server.commands import audit, serve
from server.embedded import EmbeddedError
from server.settings import BadSetting
from server.shoes import BadStackedShoe
from server.store.errors import StoreError
from server.supervisor import WorkerFailed

EXIT_MISTAKE: Final = 2
_RUN: Final[dict[str, Callable[[argparse.Namespace, Sequence[str]], int]]] = {"serve": serve.run, "audit": audit.run}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadSetting(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `punto-server`; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        args = _parser().parse_args(arguments)
        return _RUN[args.command](args, arguments)
    except (BadSetting, BadStackedShoe, EmbeddedError, StoreError, WorkerFailed, OSError, ValueError) as error:
        print(f"punto-server: {_one_line(error)}", file=sys.stderr)
        return EXIT_MISTAKE
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="punto-server", description="Baccarat tables over WebSocket.")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (serve, audit):
        command.add_parser(commands)
    return parser


def _one_line(error: BaseException) -> str:
    return " ".join((str(error) or type(error).__name__).split())


if __name__ == "__main__":
    sys.exit(main())
