"""The effective settings as text: each with where it came from, no secret shown. The text is a valid TOML file."""

import re
from typing import Final

from server.options.catalogue import OPTIONS, Option
from server.options.kinds import written
from server.options.sources import Given

MASKED: Final = "***"
_CREDENTIALS: Final = re.compile(r"(?<=://).*@")
_QUERY: Final = re.compile(r"\?.*")


def lines_of(given: Given) -> list[str]:
    """List all options, a line each: `key = value  # origin`."""
    rows = [(_assignment(option, given.values[key]), given.origins[key]) for key, option in OPTIONS.items()]
    width = max(len(row) for row, _ in rows)
    return [f"{row:{width}}  # {origin}" for row, origin in rows]


def _assignment(option: Option, value: object) -> str:
    if value is None and option.default is None:
        return f"# {option.key} is not set"
    return f"{option.key} = {written(masked(option, value))}"


def masked(option: Option, value: object) -> object:
    """Hide a secret, and what lets somebody into a store within its URL."""
    if option.is_secret and value is not None:
        return MASKED
    return masked_url(value) if option.key == "store" and isinstance(value, str) else value


def masked_url(url: str) -> str:
    """Hide user and password of a URL, and all that follows a question mark: it may hold them too."""
    return _QUERY.sub(f"?{MASKED}", _CREDENTIALS.sub(f"{MASKED}@", url))
