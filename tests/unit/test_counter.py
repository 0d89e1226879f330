"""Places at the counter: so many at once, in order, and not for ever."""

import asyncio

import pytest

from server import counter
from server.counter import AT_ONCE, Counter


async def test_the_next_ones_wait_in_the_order_in_which_they_came() -> None:
    places, served = Counter(), []

    async def ask(number: int) -> None:
        assert await places.has_place()
        served.append(number)

    asking = [asyncio.create_task(ask(number)) for number in range(AT_ONCE + 3)]
    await asyncio.sleep(0)
    assert served == list(range(AT_ONCE))
    assert places.is_crowded
    for _ in range(3):
        places.leave()
    await asyncio.gather(*asking)
    assert served == list(range(AT_ONCE + 3))
    assert not places.is_crowded


async def test_who_waits_too_long_is_sent_away_and_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter, "WAIT_MS_MAX", 20)
    places = Counter()
    for _ in range(AT_ONCE):
        assert await places.has_place()
    assert not await places.has_place()
    assert not places.is_crowded
    gone = asyncio.create_task(places.has_place())
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    places.leave()
    assert await places.has_place()
