"""The short form of `make chaos`: one fault of each kind, everything checked, times measured but hardly judged (other
tests run on the same cores). A failure prints the seed that repeats the schedule of faults.
"""

import secrets
from collections.abc import Sequence
from typing import Final

import pytest

from tests.chaos.report import heading, row, troubles
from tests.chaos.runner import Report, play_all
from tests.chaos.scenarios import SCENARIOS
from tests.support.stores import kind_asked_for

NODES: Final = ("node_killed", "owner_stopped", "node_terminated", "all_nodes_terminated")
ROLLING: Final = ("rolling_restart",)
STORE: Final = (
    "acts_outlive_kills",
    "store_killed",
    "store_stopped",
    "subscribers_killed",
    "rubbish_published",
    "store_rolled_back",
    "store_emptied",
)
WORKERS: Final = ("workers_replaced", "workers_killed")
CLUSTER: Final = ("slot_moved", "cluster_primary_killed")
SENTINEL: Final = ("sentinel_primary_killed",)
GROUPS: Final = {
    "nodes": NODES,
    "rolling": ROLLING,
    "store": STORE,
    "workers": WORKERS,
    "cluster": CLUSTER,
    "sentinel": SENTINEL,
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(170)]


def test_every_scenario_has_its_place() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(SCENARIOS)


@pytest.mark.parametrize("names", GROUPS.values(), ids=GROUPS.keys())
async def test_a_house_comes_through(names: Sequence[str]) -> None:
    """BL-068, BL-069, BL-072, BL-080, BL-084, BL-089, BL-093, BL-095, BL-096, BL-097, BL-104, BL-107, BL-145."""
    seed = secrets.token_hex(4)
    scenarios = [SCENARIOS[name].on(kind_asked_for()) for name in names]
    reports = [report async for report in play_all(scenarios, seed, is_short=True)]
    print("\n".join(line for report in reports for line in (heading(), row(report), *troubles(report))))
    assert [told(report) for report in reports if not report.is_clean] == [], f"--seed {seed}"


def told(report: Report) -> str:
    return "\n".join([report.name, *report.problems[:12]])
