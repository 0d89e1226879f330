"""A store whose settings could lose money is refused at the start (BL-105)."""

from collections.abc import AsyncIterator

import pytest

from server.store.driver import Driver
from server.store.errors import StoreRefused
from server.store.rights import check_rights
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


RIGHTS = {
    "info": ("~*", "&*", "+@all", "-info"),
    "channel": ("~*", "resetchannels", "+@all"),
    "ssubscribe": ("~*", "&*", "+@all", "-ssubscribe"),
    "spublish": ("~*", "&*", "+@all", "-spublish"),
}


@pytest.mark.parametrize("missing", RIGHTS)
async def test_a_user_without_a_right_that_is_always_needed_is_told_at_the_start(
    driver: Driver, store_url: str, missing: str
) -> None:
    """The node would open, and never deal a card."""
    async for _ in driver.each("ACL", "SETUSER", "some", "reset", "on", ">pass", *RIGHTS[missing]):
        pass
    try:
        await check_rights(driver)
        scheme, _, place = store_url.partition("://")
        async with Driver(f"{scheme}://some:pass@{place}") as some:
            with pytest.raises(StoreRefused, match=missing):
                await check_rights(some)
    finally:
        async for _ in driver.each("ACL", "DELUSER", "some"):
            pass
