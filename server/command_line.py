"""The flags of `punto-server` and what runs by them. A mistake is one line on stderr and exit 2, never a traceback."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from server.commands import audit, ledger, limits, log, seal_key, serve, settings, tables, token, wallet
from server.embedded import EmbeddedError
from server.options.catalogue import OPTIONS
from server.options.sources import suggestion
from server.settings import BadSetting
from server.shoes import BadStackedShoe
from server.store.errors import StoreError
from server.supervisor import WorkerFailed

EXIT_MISTAKE: Final = 2
LINE_CHARS_MAX: Final = 500
"""A mistake may quote what it found; a whole file of it helps nobody."""
_COMMANDS: Final = {
    "serve": serve,
    "settings": settings,
    "audit": audit,
    "ledger": ledger,
    "limits": limits,
    "log": log,
    "seal-key": seal_key,
    "tables": tables,
    "token": token,
    "wallet": wallet,
}


class _Parser(argparse.ArgumentParser):
    def __init__(self, **how: Any) -> None:
        super().__init__(**how, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        known = [option.flag for option in OPTIONS.values()]
        unknown = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
        raise BadSetting(message + "".join(suggestion(word, known) for word in unknown[:1] if word not in known))


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; returns the exit code."""
    try:
        args = _parser().parse_args(arguments)
        code: int = _COMMANDS[args.command].run(args, arguments)
        return code
    except (BadSetting, BadStackedShoe, EmbeddedError, StoreError, WorkerFailed, OSError, ValueError) as error:
        print(f"punto-server: {_one_line(error)}", file=sys.stderr)
        return EXIT_MISTAKE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="punto-server", description="Baccarat tables over WebSocket.")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in _COMMANDS.values():
        command.add_parser(commands)
    return parser


def _one_line(error: BaseException) -> str:
    line = " ".join((str(error) or type(error).__name__).split())
    return line if len(line) <= LINE_CHARS_MAX else f"{line[:LINE_CHARS_MAX]}..."
