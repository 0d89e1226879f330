"""Reads the words that several commands take, and refuses them in one line.

It must never print or exit: a refusal is raised as BadArgument and `client_sdk.cli` reports it. Read next: `deal`.
"""

import argparse
import re
from typing import Final, TypeAlias

from client_sdk.game.variants import VARIANTS

# argparse keeps the type of `add_subparsers()` private; the name is for annotations only.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# No sign, no space, no underscore, no digit of another script, all of which int() takes; zeros in front do no harm.
_DIGITS: Final = re.compile(r"[0-9]{1,20}", re.ASCII)


class BadArgument(ValueError):
    """A word on the command line that the command cannot take. The sentence is made by who knows the word."""


def positive_integer(text: str, what: str, maximum: int) -> int:
    """Return the integer that `text` writes in plain digits, 1 to `maximum`. Raises BadArgument, which names `what`."""
    if _DIGITS.fullmatch(text) is None or not 1 <= int(text) <= maximum:
        raise BadArgument(f"{what} must be an integer from 1 to {maximum}, not {text!r}")
    return int(text)


def add_variant(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the house. Its value stays text: `variant_named` reads it."""
    parser.add_argument("--variant", required=True, metavar="NAME", help=f"one of {', '.join(VARIANTS)}")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses between a text for people and one JSON object for programs."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
