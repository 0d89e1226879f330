"""What nodes of one store tell each other of their settings at the start, so that those that must agree do.

A secret is told as a hash of it, a file as a hash of what it holds.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

from server.options.catalogue import OPTIONS, Option, Same
from server.options.kinds import written
from server.options.sources import Given
from server.settings import Told

_HASH_CHARS: Final = 16


def told(given: Given) -> Told:
    """Pick the settings that have to be the same somewhere."""
    return Told(_picked(given, Same.STORE), _picked(given, Same.NODES))


def _picked(given: Given, same: Same) -> dict[str, str]:
    return {key: _told(option, given.values[key]) for key, option in OPTIONS.items() if option.same is same}


def _told(option: Option, value: Any) -> str:
    if option.is_secret:
        return _hash(written(value).encode())
    if isinstance(value, Path):
        return _hash(value.read_bytes())
    return written(value)


def _hash(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()[:_HASH_CHARS]}"
