"""Reads what a command is given as a file, or on standard input, up to a bound.

It must never say what the content means. Read next: `verify`, `replay`.
"""

import sys
from typing import Final

from client_sdk.commands.arguments import BadArgument

FILE_BYTES_MAX: Final = 16 * 2**20

STANDARD_INPUT: Final = "-"


def read_file(path: str) -> bytes:
    """Return the whole content. Raises BadArgument for what can't be read or is larger than FILE_BYTES_MAX."""
    try:
        with open(path, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise BadArgument(f"cannot read {path!r}: {error}") from None
    return _bounded(content, path)


def read_file_or_input(path: str) -> bytes:
    """The same, where STANDARD_INPUT names the standard input."""
    if path != STANDARD_INPUT:
        return read_file(path)
    return _bounded(sys.stdin.buffer.read(FILE_BYTES_MAX + 1), path)


def _bounded(content: bytes, path: str) -> bytes:
    if len(content) > FILE_BYTES_MAX:
        raise BadArgument(f"{path!r} is larger than {FILE_BYTES_MAX} bytes")
    return content
