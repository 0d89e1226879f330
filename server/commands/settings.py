"""`punto-server settings`: print what a node started this way would run by, and where each value comes from.

The output is a valid TOML file, with secrets masked. Mistakes are told as `serve` tells them, so the command also
checks a file before it is put in place; nothing is opened or started.
"""

import argparse
import os
from collections.abc import Sequence

from server.options.flags import add_flags, flags_of
from server.options.listing import lines_of
from server.options.sources import gather


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags: those of `serve`."""
    add_flags(commands.add_parser("settings", help="print the effective settings and their origin"))


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Print the settings. Raises `BadSetting`."""
    given = gather(flags_of(args), os.environ)
    given.settings()
    print("\n".join(lines_of(given)))
    return 0
