"""Every part of the bench runs, at a size that proves nothing but that: figures of such a run are of no account."""

import pytest

from tests.bench import acts, crowded, fanout, growth, settle, storm
from tests.bench.chart import Panel, Series, chart
from tests.bench.figures import Figure, figure
from tests.bench.process import allow_files

SEATS = 8


pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short rounds, no pauses, and as many files as the parts ask for."""
    allow_files()
    for pace in (crowded.PACE, settle.FLAGS):
        for name, duration_ms in (("betting_ms", 500), ("card_ms", 50), ("result_ms", 100)):
            monkeypatch.setitem(pace, name, duration_ms)
    monkeypatch.setitem(storm.PACE, "betting-ms", 500)
    for name in ("OPEN_STEP_S", "START_STEP_S"):
        monkeypatch.setattr(storm, name, 0.0)
    monkeypatch.setattr(storm, "QUIET_S", 2.0)
    monkeypatch.setattr(crowded, "START_STEP_S", 0.0)


async def test_fan_out() -> None:
    (turn,) = await fanout.measure(SEATS, 1, 1, 20)
    assert min(turn) > 0


async def test_acts() -> None:
    (turn,) = await acts.measure(SEATS, 1)
    assert min(turn) > 0


async def test_crowd() -> None:
    turn = await crowded.measure(SEATS, 6, 2.0)
    assert turn.events_p99_ms > 0


async def test_settlement() -> None:
    told = await settle.bench(SEATS, 1, 1)
    assert min(told["store_settle_ms"]) >= 0


async def test_storm() -> None:
    turn = await storm.measure(SEATS, SEATS, 6)
    assert turn.back_s > 0


def test_a_chart_holds_every_figure_and_nothing_from_elsewhere() -> None:
    series = Series("<one>", [(100, figure([1.0, 2.0, 4.0])), (1_000, Figure(20, 10, 40, 3))])
    drawn = chart([Panel("A & B", "seats", "us", [series])])
    assert drawn.count("<polyline") == 1
    assert "&lt;one&gt;" in drawn
    assert "A &amp; B" in drawn
    assert drawn.count("http") == 1, "the name of the format"


async def test_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "SEATS", (SEATS,))
    monkeypatch.setattr(growth, "TABLES", (1, 6))
    monkeypatch.setattr(growth, "SEATS_IN_ALL", SEATS)
    monkeypatch.setattr(growth, "ROUND_S", 1.0)
    found = await growth.measure(1.0, 1)
    assert growth.drawn(found).count("<polyline") == 3
