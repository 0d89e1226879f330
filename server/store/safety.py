"""Would this store lose money? Looked at once, before a node takes the first patron."""

from server.store.driver import Driver
from server.store.errors import StoreError, StoreRefused


class StoreUnsafe(StoreError):
    """The store's own settings could lose money; an operator has to change them, or to say that it does not matter."""

    def __init__(self, dangers: list[str]) -> None:
        super().__init__(dangers)
        self.dangers = dangers

    def __str__(self) -> str:
        return f"the store could lose money ({'; '.join(self.dangers)}); --accept-unsafe-store runs all the same"


async def refuse_unsafe_store(driver: Driver) -> None:
    """Look at the settings of every server that holds keys. Raises `StoreUnsafe`, or `StoreAway` where it can't be
    asked."""
    try:
        settings = [_text(told) async for told in driver.each("CONFIG", "GET", "maxmemory-policy", "appendonly")]
    except StoreRefused as error:
        raise StoreUnsafe(["it does not tell its settings"]) from error
    dangers = sorted({danger for told in settings for danger in _dangers(told)})
    if dangers:
        raise StoreUnsafe(dangers)


def _dangers(settings: dict[str, str]) -> list[str]:
    found = []
    if settings.get("maxmemory-policy") != "noeviction":
        found.append(f"maxmemory-policy is {settings.get('maxmemory-policy')}, not noeviction: it may drop wallets")
    if settings.get("appendonly") != "yes":
        found.append("appendonly is not yes: a restart forgets what was not saved")
    return found


def _text(settings: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in settings.items()}
