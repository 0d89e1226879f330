"""How one value is read, whether it came as a TOML value or as the text of a variable or flag.

Pure. A reader raises ValueError with a sentence that says what is wanted; who called it names the option.
"""

import json
import re
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple

SHOWN_CHARS_MAX: Final = 80
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}")


class Kind(NamedTuple):
    """A kind of value: the word for it in the help ('' a switch), its reader, and what a flag without a value means."""

    metavar: str
    read: Callable[[object], Any]
    choices: tuple[str, ...] = ()
    bare: str = ""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def whole(metavar: str, least: int, most: int, *, unit: str = "", bare: str = "") -> Kind:
    """A whole number between two bounds, both allowed. `bare`: what the flag means where no number follows."""

    def read(value: object) -> int:
        number = _number(value)
        if not least <= number <= most:
            raise ValueError(f"{number} is not between {least} and {most}{f' {unit}' if unit else ''}")
        return number

    return Kind(metavar, read, bare=bare)


def amounts() -> Kind:
    """Whole numbers: a list, or text with commas between them."""

    def read(value: object) -> tuple[int, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        try:
            return tuple(_number(part) for part in parts if parts)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            raise ValueError(f"amounts with commas between them are wanted, not {shown(value)}") from None

    return Kind("N,N,...", read)


def origins() -> Kind:
    """Origins of pages (`https://play.example`), or `*` for any: a list, or text with commas between them."""
    return _texts("ORIGIN,...", "origins such as https://play.example", _origin)


def networks() -> Kind:
    """Addresses and networks (`10.0.0.0/8`): a list, or text with commas between them."""
    return _texts("NETWORK,...", "addresses or networks such as 10.0.0.0/8", lambda text: str(ip_network(text)))


def _texts(metavar: str, wanted: str, read_one: Callable[[str], str]) -> Kind:
    def read(value: object) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise ValueError(f"{wanted} are wanted, not {shown(value)}")
        try:
            return tuple(read_one(part.strip()) for part in parts if part.strip())
        except ValueError:
            raise ValueError(f"{wanted} are wanted, not {shown(value)}") from None

    return Kind(metavar, read)


def _origin(text: str) -> str:
    """Read an origin as browsers send it: scheme, host and perhaps a port, in lower case, and nothing else."""
    if text != "*" and not re.fullmatch(r"https?://[a-z0-9.:\[\]-]+", text.lower()):
        raise ValueError(text)
    return text.lower()


def switch() -> Kind:
    """On or off."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ValueError(f"{shown(value)} is neither true nor false")

    return Kind("", read)


def text(metavar: str, pattern: str = r".+", wanted: str = "text") -> Kind:
    """One line of text that a pattern matches whole."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or not re.fullmatch(pattern, value):
            raise ValueError(f"{wanted} is wanted, not {shown(value)}")
        return value

    return Kind(metavar, read)


def one_of(metavar: str, *choices: str) -> Kind:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{shown(value)} is none of {', '.join(choices)}")
        return value

    return Kind(metavar, read, choices)


def path(metavar: str) -> Kind:
    """A path; the empty one would be the present directory, and is refused."""

    def read(value: object) -> Path:
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError(f"a path is wanted, not {shown(value)}")
        return Path(value)

    return Kind(metavar, read)


def address(*, may_be_off: bool = False) -> Kind:
    """Host and port; an IPv6 host stands in brackets. With `may_be_off` the word `off` means none."""

    def read(value: object) -> Address | None:
        if may_be_off and value == "off":
            return None
        host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        if not host or not (port.isascii() and port.isdecimal()):
            raise ValueError(f"not HOST:PORT: {shown(value)}")
        if len(port) > 5 or int(port) > 65_535:
            raise ValueError(f"no such port: {port[:SHOWN_CHARS_MAX]}")
        return Address(host.strip("[]"), int(port))

    return Kind("HOST:PORT", read)


def written(value: object) -> str:
    """Write a value as TOML has it."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Address() | Path() | str():
            return json.dumps(str(value), ensure_ascii=False)
        case None:
            return '"off"'
        case Sequence():
            return f"[{', '.join(written(part) for part in value)}]"
        case _:
            raise TypeError(f"not written: {type(value).__name__}")


def shown(value: object) -> str:
    """Quote what was given, but no more than helps."""
    quoted = repr(value)
    return quoted if len(quoted) <= SHOWN_CHARS_MAX else f"{quoted[:SHOWN_CHARS_MAX]}..."


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    raise ValueError(f"a whole number is wanted, not {shown(value)}")
