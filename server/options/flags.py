"""The options as flags of a command. What is read here is text; `sources.py` makes values of it."""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from server.options.catalogue import OPTIONS, Option
from server.options.kinds import Address


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and a flag for each option. A flag that is not given leaves nothing behind."""
    parser.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="a TOML file with any of these")
    add_some(parser, OPTIONS)


def add_some(parser: argparse.ArgumentParser, keys: Iterable[str]) -> None:
    """Add the flags of these options."""
    for key in keys:
        _add(parser, OPTIONS[key])


def flags_of(args: argparse.Namespace) -> Mapping[str, object]:
    """Pick what was given on the command line: option -> text (True or False for a switch)."""
    return {key: value for key, value in vars(args).items() if key in OPTIONS or key == "config"}


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    default, kind = argparse.SUPPRESS, option.kind
    if not kind.metavar:
        parser.add_argument(option.flag, action=argparse.BooleanOptionalAction, default=default, help=option.means)
    elif kind.bare:
        words = f"{option.means}; {kind.bare} without a number ({_shown(option)})"
        parser.add_argument(option.flag, metavar="N", nargs="?", const=kind.bare, default=default, help=words)
    else:
        words = option.means if option.default in (None, ()) else f"{option.means} ({_shown(option)})"
        parser.add_argument(option.flag, metavar=kind.metavar, default=default, help=words)


def _shown(option: Option) -> str:
    match option.default:
        case Address() | Path() | str() | int() as value:
            return str(value)
        case values:
            return ",".join(map(str, values))
