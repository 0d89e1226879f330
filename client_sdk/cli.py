"""The command `punto`: finds the command, runs it, and turns what went wrong into one line and an exit code.

Exit codes: 0 done, 1 a check failed, a house did not answer or the output could not be written, 2 asked wrongly, 130
and 141 ended by Ctrl-C or by a reader that went away (silently, as 128 and the signal's number). It must never hold
what a command does; those are the modules of `client_sdk.commands`. Read next: `client_sdk.commands.deal`.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, Protocol

from client_sdk.bots import command as bots
from client_sdk.commands import deal, odds, replay, roads, shoe, simulate, verify
from client_sdk.commands.arguments import BadArgument, Subparsers
from client_sdk.commands.house import NotAnswered
from client_sdk.game.errors import GameError

_DONE: Final = 0
_NOT_DONE: Final = 1
_ASKED_WRONGLY: Final = 2
_INTERRUPTED: Final = 130
_READER_GONE: Final = 141


class Command(Protocol):
    """What a command module offers."""

    def add_parser(self, subparsers: Subparsers) -> None:
        """Add the command's parser under its name."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit code."""


COMMANDS: Final[Mapping[str, Command]] = {
    "deal": deal,
    "odds": odds,
    "simulate": simulate,
    "roads": roads,
    "replay": replay,
    "shoe": shoe,
    "verify": verify,
    "bots": bots,
}


class _OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints are one line like everybody else's, and which takes options by their full name only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        raise BadArgument(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `punto` with these arguments (the process's own for None) and return the exit code.

    Raises SystemExit only for `--help`.
    """
    try:
        args = _parser().parse_args(argv)
        code = COMMANDS[args.command].run(args)
        print(end="", flush=True)  # so that a reader who went away is noticed here, not while the process ends
    except (BadArgument, GameError) as error:
        return _complain(str(error), _ASKED_WRONGLY)
    except NotAnswered as error:
        return _complain(str(error), _NOT_DONE)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return _READER_GONE
    except OSError as error:
        _abandon_output()
        return _complain(str(error), _NOT_DONE)
    return code


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _OneLineParser(prog="punto", description="Baccarat as a Punto table plays it.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        command.add_parser(subparsers)
    return parser


def _complain(message: str, code: int) -> int:
    print("punto:", " ".join(message.split()), file=sys.stderr)
    return code


def _abandon_output() -> None:
    """Send what is still buffered nowhere, or the interpreter complains about it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
