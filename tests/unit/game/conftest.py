"""The right values that the rules are tested against, read once."""

import json
from pathlib import Path
from typing import Any

import pytest

_VECTORS = Path(__file__).parents[2] / "vectors"


def _read(name: str) -> Any:
    return json.loads((_VECTORS / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def tableau_vectors() -> Any:
    """Every row of the tableau, and the places where rule sheets print it incompletely or wrongly."""
    return _read("tableau.json")


@pytest.fixture(scope="session")
def odds_vectors() -> Any:
    """Exact counts and returns, what misread rules would give, and what a million live rounds may show."""
    return _read("odds.json")


@pytest.fixture(scope="session")
def shuffle_vectors() -> Any:
    """Shoes of `bac-shoe-v1` to the byte, computed by two separately written programs."""
    return _read("shuffle.json")["vectors"]
