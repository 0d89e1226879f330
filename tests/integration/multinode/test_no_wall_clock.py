"""BL-084: a node whose wall clock is off by a minute must behave as any other; no node may ask its wall clock at all.

Only the store's clock counts, and between its answers the machine's monotonic one (`server/clock.py`). Log lines carry
the wall clock, which the logging library reads by itself.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WALL_CLOCKS = frozenset(
    {
        *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime", "time.strftime"),
        *("time.clock_gettime", "time.clock_gettime_ns"),
        *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    }
)


def wall_clocks_in(source: str) -> Iterator[str]:
    """Every use of a wall clock, by its full name, however it was imported."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and (full := _full_name(node, names)) in WALL_CLOCKS:
            yield full


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_full_name(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""


MAY_READ = {
    "server/commands/token.py": "says in a token when it was signed; no node reads that",
    "server/audit_watch.py": "tells Prometheus, which goes by such a clock, when it looked last",
    "server/store/driver.py": "measures for Prometheus how far this clock is off the store's",
}
"""Nothing of a game follows from it there."""


@pytest.mark.parametrize("folder", ["server", "client_sdk"])
def test_nothing_reads_the_wall_clock(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert len(files) > 20
    found = {str(file.relative_to(ROOT)): sorted(wall_clocks_in(file.read_text())) for file in files}
    assert {file: clocks for file, clocks in found.items() if clocks and file not in MAY_READ} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time\nx = time.time()",
        "from time import time as now\nx = now()",
        "import datetime as d\nx = d.datetime.now(d.UTC)",
        "from datetime import datetime\nclock = datetime.utcnow",
    ],
)
def test_a_wall_clock_is_seen(source: str) -> None:
    assert list(wall_clocks_in(source))


def test_a_monotonic_clock_is_none() -> None:
    assert list(wall_clocks_in("from time import monotonic\nimport time\nx = monotonic() + time.perf_counter()")) == []
