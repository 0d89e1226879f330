"""Where values come from: defaults, under one TOML file, under the environment, under flags.

Every mistake is a `BadSetting` that names its place as the operator wrote it (`punto.toml: betting_ms`,
`PUNTO_BETTING_MS`, `--betting-ms`), with the nearest known name where a name is not known. A variable `PUNTO_KEY_FILE`
names a file that holds the value of `key`, as container platforms hand out secrets.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from server.options.catalogue import OPTIONS, Option, settings_of
from server.settings import BadSetting, Settings

FILE_BYTES_MAX: Final = 256 * 1024
CONFIG_VARIABLE: Final = "PUNTO_CONFIG"
DEFAULT: Final = "default"
_PREFIX: Final = "PUNTO_"
_FROM_FILE: Final = "_FILE"
_NEAR: Final = 0.75


class Given(NamedTuple):
    """The value of every option, and where it came from: `default`, or the name under which an operator gave it."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    def settings(self, worker: int = 0) -> Settings:
        """Make the settings. Raises `BadSetting`, named as the operator gave it."""
        try:
            return settings_of(self.values, worker)
        except BadSetting as bad:
            origin = self.origins.get(bad.key, DEFAULT)
            raise bad if origin == DEFAULT else bad.named(origin) from None


def gather(flags: Mapping[str, object], environment: Mapping[str, str]) -> Given:
    """Read all sources; `flags` by key, with `config` for the file. Raises `BadSetting`."""
    values = {key: option.default for key, option in OPTIONS.items()}
    origins = dict.fromkeys(OPTIONS, DEFAULT)
    config = flags.get("config") or environment.get(CONFIG_VARIABLE)
    sources = (
        _of_file(Path(str(config))) if config else {},
        _of_environment(environment),
        {key: (OPTIONS[key].flag, value) for key, value in flags.items() if key in OPTIONS},
    )
    for source in sources:
        for key, (name, value) in source.items():
            values[key], origins[key] = _read(OPTIONS[key], name, value), name
    return Given(MappingProxyType(values), MappingProxyType(origins))


def nearest(name: str, known: Iterable[str]) -> str:
    """Find the nearest of the known names; '' where none is near."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=_NEAR)), "")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the known names, as the rest of a sentence."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""


def _read(option: Option, name: str, value: object) -> Any:
    try:
        return option.kind.read(value)
    except ValueError as error:
        problem = "not what is wanted there" if option.is_secret else str(error)
        raise BadSetting(problem, option.key).named(name) from None


def _of_file(path: Path) -> dict[str, tuple[str, object]]:
    try:
        found = tomllib.loads(_text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"{path}: not TOML: {error}") from None
    for key, value in found.items():
        if key not in OPTIONS:
            what = "section" if isinstance(value, dict) else "setting"
            raise BadSetting(f"{path}: {key}: no such {what}{suggestion(key, OPTIONS)}")
    return {key: (f"{path}: {key}", value) for key, value in found.items()}


def _of_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, object]]:
    """Read our variables. A name that is none of ours is a mistake only where it is near one: platforms set others of
    the same beginning (`PUNTO_SERVICE_HOST`)."""
    known = {option.variable: key for key, option in OPTIONS.items()}
    names = [name.removeprefix(_PREFIX) for each in known for name in (each, f"{each}{_FROM_FILE}")]
    found: dict[str, tuple[str, object]] = {}
    for name in sorted(name for name in environment if name.startswith(_PREFIX) and name != CONFIG_VARIABLE):
        key = known.get(name) or known.get(name.removesuffix(_FROM_FILE))
        if key is None:
            if near := nearest(name.removeprefix(_PREFIX), names):
                raise BadSetting(f"{name}: no such variable; did you mean {_PREFIX}{near}?")
            continue
        if key in found:
            raise BadSetting(f"{name}: {key} is given twice in the environment")
        value = environment[name]
        found[key] = (name, value if name in known else _text_of(Path(value), name).strip())
    return found


def _text_of(path: Path, name: str = "") -> str:
    """Read a small text file. Raises `BadSetting`, which names the variable that named the file."""
    place = f"{name}: {path}" if name else str(path)
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > FILE_BYTES_MAX:
                raise BadSetting(f"{place}: more than {FILE_BYTES_MAX} bytes")
            return file.read(FILE_BYTES_MAX).decode()
    except OSError as error:
        raise BadSetting(f"{place}: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, BadSetting):
            raise
        raise BadSetting(f"{place}: not text") from None
