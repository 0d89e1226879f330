"""The log of operator acts: who did what, when and why, to a table, a patron, or a token.

An act is entered by the script that does it, so there is none without a line, nor a line without it: each line lies in
the slot of what was acted on. Together they are one log.
"""

import asyncio
from typing import Final, NamedTuple

from server.store import keys
from server.store.driver import Driver

ACTS_MAX: Final = 500
"""So many of the newest are read of each table and each patron."""
SCAN_COUNT: Final = 500
READS_AT_ONCE: Final = 32


class Signed(NamedTuple):
    """Who acts, and why (for people; '' where no reason was given)."""

    by: str = ""
    reason: str = ""


UNSIGNED: Final = Signed()


class OperatorAct(NamedTuple):
    """One line. `subject` is what was acted on: "table royal-1", "patron ann", "tokens"."""

    at_ms: int
    subject: str
    verb: str
    details: str
    by: str
    reason: str


class OperatorActs:
    """The log of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def of_table(self, table: str) -> list[OperatorAct]:
        """Read a table's newest acts, oldest first."""
        return await self._read(keys.operated_key(table), f"table {table}")

    async def of_patron(self, patron: str) -> list[OperatorAct]:
        """Read those on a patron's wallet and limits, oldest first."""
        return await self._read(keys.patron_operated_key(patron), f"patron {patron}")

    async def of_tokens(self) -> list[OperatorAct]:
        """Read what was revoked, oldest first."""
        return await self._read(keys.REVOKED_ACTS, "tokens")

    async def all(self) -> list[OperatorAct]:
        """Read the newest of everybody and everything, oldest first. Looks at every key of the store."""
        found = {key async for key in self._driver.scan(keys.OPERATED_PATTERN, SCAN_COUNT)} - {keys.REVOKED_ACTS}
        places = asyncio.Semaphore(READS_AT_ONCE)

        async def read(key: str) -> list[OperatorAct]:
            async with places:
                return await self._read(key, " ".join(keys.subject_of(key)))

        pages = await asyncio.gather(self.of_tokens(), *(read(key) for key in found))
        return sorted(act for page in pages for act in page)

    async def _read(self, key: str, subject: str) -> list[OperatorAct]:
        found = await self._driver.call("XREVRANGE", key, "+", "-", "COUNT", ACTS_MAX)
        return [_act(fields, subject) for _, fields in reversed(found)]


def _act(fields: dict[bytes, bytes], subject: str) -> OperatorAct:
    text = {name.decode(): value.decode() for name, value in fields.items()}
    return OperatorAct(int(text["at_ms"]), subject, text["verb"], text["details"], text["by"], text["reason"])
