"""A store whose settings could lose money is refused at the start (BL-105)."""

from collections.abc import AsyncIterator

import pytest

from server.store.driver import Driver
from server.store.safety import StoreUnsafe, refuse_unsafe_store


@pytest.fixture
async def configured(driver: Driver) -> AsyncIterator[Driver]:
    """The store, put back to what it was."""
    yield driver
    for name, value in (("maxmemory-policy", "noeviction"), ("appendonly", "yes")):
        async for _ in driver.each("CONFIG", "SET", name, value):
            pass


async def test_the_embedded_store_is_safe(driver: Driver) -> None:
    await refuse_unsafe_store(driver)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [("maxmemory-policy", "allkeys-lru", "allkeys-lru"), ("appendonly", "no", "appendonly")],
)
async def test_what_could_lose_money_is_named(configured: Driver, name: str, value: str, word: str) -> None:
    async for _ in configured.each("CONFIG", "SET", name, value):
        pass
    with pytest.raises(StoreUnsafe, match=word) as refused:
        await refuse_unsafe_store(configured)
    assert "--accept-unsafe-store" in str(refused.value)
    assert "\n" not in str(refused.value)
