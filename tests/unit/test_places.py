"""Places: so many at once, in order, and not for ever."""

import asyncio

import pytest

from server.places import Places

COUNT = 3


async def test_the_next_ones_wait_in_the_order_in_which_they_came() -> None:
    places, served = Places(COUNT, 10_000), []

    async def ask(number: int) -> None:
        assert await places.take()
        served.append(number)

    asking = [asyncio.create_task(ask(number)) for number in range(2 * COUNT)]
    await asyncio.sleep(0)
    assert served == list(range(COUNT))
    assert places.is_crowded
    for _ in range(COUNT):
        places.leave()
    await asyncio.gather(*asking)
    assert served == list(range(2 * COUNT))
    assert not places.is_crowded


async def test_who_waits_too_long_is_sent_away_and_takes_no_place() -> None:
    places = Places(1, 20)
    assert await places.take()
    assert not await places.take()
    assert not places.is_crowded
    gone = asyncio.create_task(places.take())
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    places.leave()
    assert await places.take()
