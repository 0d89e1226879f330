"""The short form of `make attacks`: some attacks, by a few lines, for a moment; everything is checked but the times.

The others have their refusals tested one by one in `tests/integration`.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.attacks.__main__ import problems
from tests.attacks.runner import attack_all

SHORT: Final = ("half_open", "slow_loris", "flood_of_acts", "deaf_readers", "comers_and_goers")


@pytest.mark.slow
@pytest.mark.timeout(170)
async def test_honest_seats_play_on_under_attack(tmp_path: Path) -> None:
    """BL-109, BL-120, BL-125, BL-128: no honest act fails, the node says no error, the books are
    balanced."""
    rows = [row async for row in attack_all(tmp_path, SHORT, seats=3, seconds=0.3, share=0.02, extra={})]
    assert {row.name: problems(row, float("inf")) for row in rows if problems(row, float("inf"))} == {}
    assert [row.name for row in rows if row.name in SHORT and not row.seen.get("opened")] == []
