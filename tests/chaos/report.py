"""Shows reports: a table for people, JSON for programs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.chaos.runner import Report

COLUMNS: Final = (
    ("scenario", 24),
    ("faults", 6),
    ("claim ms", 11),
    ("commit ms", 12),
    ("late ms", 11),
    ("lost bets", 9),
    ("doubled", 7),
    ("lost/rep/diff events", 20),
    ("rounds", 6),
    ("bets", 6),
    ("s", 5),
)
PROBLEMS_SHOWN: Final = 12


def heading() -> str:
    """The first line; pairs are p50/max."""
    return " ".join(name.ljust(width) if at == 0 else name.rjust(width) for at, (name, width) in enumerate(COLUMNS))


def row(report: Report) -> str:
    """One scenario."""
    plain = report.as_plain()
    cells = (
        plain["scenario"],
        plain["faults"],
        _pair(plain["claim_ms"]),
        _pair(plain["commit_ms"]),
        _pair(plain["deadline_late_ms"]),
        plain["lost_bets"],
        plain["doubled_settlements"],
        f"{plain['lost_events']}/{plain['repeated_events']}/{plain['differing_events']}",
        plain["rounds"],
        plain["bets"],
        f"{plain['seconds']:.0f}",
    )
    shown = [str(cell) for cell in cells]
    return " ".join(
        text.ljust(width) if at == 0 else text.rjust(width)
        for at, (text, (_, width)) in enumerate(zip(shown, COLUMNS, strict=True))
    )


def troubles(report: Report) -> list[str]:
    """What was not as it should be, the first of it."""
    shown = [f"    {problem}" for problem in report.problems[:PROBLEMS_SHOWN]]
    if len(report.problems) > PROBLEMS_SHOWN:
        shown.append(f"    and {len(report.problems) - PROBLEMS_SHOWN} more")
    return shown


def write_json(path: Path, seed: str, reports: Sequence[Report]) -> None:
    """All of it, for programs."""
    path.write_text(json.dumps({"seed": seed, "scenarios": [report.as_plain() for report in reports]}, indent=2) + "\n")


def _pair(values: dict[str, Any]) -> str:
    return "-" if values["max"] is None else f"{values['p50']}/{values['max']}"
