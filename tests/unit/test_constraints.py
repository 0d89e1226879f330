"""constraints.txt pins everything that an install brings, and nothing else decides what a machine gets."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}


def direct() -> set[Requirement]:
    extras = PROJECT["optional-dependencies"]
    return {Requirement(line) for line in [*PROJECT["dependencies"], *extras["server"], *extras["dev"]]}


def installed_closure() -> set[str]:
    """The direct requirements and all that they need on this machine."""
    found: set[str] = set()
    waiting = list(direct())
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        found.add(name)
        for line in requires(name) or []:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                waiting.append(requirement)
    return found


def test_every_line_is_a_pin_or_a_comment() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"|#.*|[\w.-]+==[\w.]+", line), line


def test_every_requirement_is_pinned_within_its_bounds() -> None:
    for requirement in direct():
        assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)]), requirement


def test_what_is_installed_is_what_is_pinned() -> None:
    assert {name: distribution(name).version for name in installed_closure()}.items() <= PINS.items()


def test_nothing_is_pinned_that_nobody_needs() -> None:
    unused = set(PINS) - installed_closure() - {"setuptools"}
    for name in unused:  # needed by another Python or system
        try:
            distribution(name)
        except PackageNotFoundError:
            continue
        raise AssertionError(f"{name} is installed and pinned, but nothing here asks for it")
