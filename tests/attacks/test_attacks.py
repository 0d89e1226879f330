"""The short form of `make attacks`: each attack by a few lines for a moment; everything is checked but the times."""

from pathlib import Path

import pytest

from tests.attacks.__main__ import problems
from tests.attacks.attackers import ATTACKS
from tests.attacks.runner import attack_all


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_honest_seats_play_on_under_every_attack(tmp_path: Path) -> None:
    """BL-109, BL-120, BL-125, BL-128, BL-130, BL-162: no honest act fails, the node says no error, the books are
    balanced."""
    rows = [row async for row in attack_all(tmp_path, list(ATTACKS), seats=3, seconds=0.3, share=0.02, extra={})]
    assert {row.name: problems(row, float("inf")) for row in rows if problems(row, float("inf"))} == {}
    assert [row.name for row in rows if row.name in ATTACKS and not row.seen.get("opened")] == []
