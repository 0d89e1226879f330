"""Who always has something more to say is heard at a pace; nobody else notices that there is one."""

import asyncio

import pytest

from server import pacing
from server.pacing import FREE, PAGE, PER_S, Pace


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each pause was, on a clock that only pauses move on."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(pacing, "monotonic", lambda: sum(pauses))
    return pauses


async def test_a_burst_is_free_and_gives_others_their_turns(slept: list[float]) -> None:
    pace = Pace()
    for _ in range(FREE):
        await pace.keep()
    assert set(slept) == {0}
    assert len(slept) == FREE / pacing.TURN


@pytest.mark.parametrize("cost", [1, PAGE])
async def test_a_flood_is_heard_at_a_pace(slept: list[float], cost: int) -> None:
    pace = Pace()
    for _ in range(3 * FREE // cost):
        await pace.keep(cost)
    assert sum(slept) == pytest.approx(2 * FREE / PER_S, rel=0.02)


async def test_silence_is_made_good(slept: list[float]) -> None:
    pace = Pace()
    for _ in range(FREE):
        await pace.keep()
    slept.append(FREE / PER_S)  # a silence
    before = len(slept)
    for _ in range(FREE):
        await pace.keep()
    assert set(slept[before:]) == {0}
