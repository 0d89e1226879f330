"""Who acts and why: every command that changes something in the store says it, for the log of operator acts."""

import argparse
import getpass
from typing import Final

from server.store.operator_acts import Signed

REASON_CHARS_MAX: Final = 100


def add_signature(parser: argparse.ArgumentParser, told: str = "for the log of operator acts") -> None:
    """Add the flags; `told` says who reads the reason."""
    parser.add_argument("--by", metavar="NAME", type=words, help="who acts (the user of this process)")
    parser.add_argument("--reason", metavar="TEXT", type=words, help=told)


def signed(args: argparse.Namespace) -> Signed:
    """Say who acts, and why."""
    return Signed(_who(args), args.reason or "")


def _who(args: argparse.Namespace) -> str:
    try:
        return args.by or getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unknown"


def words(text: str) -> str:
    """Read a few words for people."""
    if not (1 <= len(text) <= REASON_CHARS_MAX and text.isprintable()):
        raise argparse.ArgumentTypeError(f"1 to {REASON_CHARS_MAX} printable characters are wanted")
    return text
