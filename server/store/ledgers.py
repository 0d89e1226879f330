"""The verbs of ledgers: a table's own, which its scripts write, and each patron's copy in the wallet's slot.

A table's entries are numbered without gaps and never change. What is copied to patrons (`projector.py`) and taken by
consumers (`punto-server ledger export`) is a number up to which it is done; it moves on only after the work behind it
was answered, so a repeat is normal and `project` makes it harmless.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

from client_sdk.game.seals import FIRST_SEAL, Seal
from server.ledger.copies import Copy
from server.store import keys
from server.store.driver import Answer, Driver, Script
from server.store.errors import Refused
from server.store.operator_acts import UNSIGNED, Signed
from server.store.tables import Lease

LEDGER_PAGE_MAX: Final = 500
"""Entries in one read. A chunk of a settlement is one entry of up to 60 KB, but an act stands before each of its lines,
so a page stays below two megabytes."""
TRIM_MAX: Final = 10_000
"""Entries that one call takes away: a few milliseconds."""
_TABLE_SCRIPTS: Final = {
    name: Script(name, "_table")
    for name in ("move_projected", "trim_ledger", "open_consumer", "move_consumer", "forget_consumer")
}
_MARKS: Final = (
    *("schema", "ledger", "seal", "sealed_to"),
    *("projected_to", "projected_at_ms", "forgotten_to", "forgotten_at_ms"),
)
_PROJECT: Final = Script("project", "_wallet", moves_money=True)


class Marks(NamedTuple):
    """How far a table's ledger is. After a rollback of the store entries up to `forgotten_to` are those of before."""

    entered_to: int
    seal: Seal
    projected_to: int
    projected_at_ms: int
    forgotten_to: int
    forgotten_at_ms: int


class Ledgers:
    """All ledgers of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _run(self, name: str, table: str, *args: str | bytes | int) -> Answer:
        return await self._driver.run(_TABLE_SCRIPTS[name], keys.table_keys(table), args)

    # --- a table's ledger ---------------------------------------------------------------------------------------------

    async def marks(self, table: str) -> Marks:
        """Read how far a table's ledger is, at one instant. Raises `Refused` UNKNOWN_TABLE."""
        schema, entered, digest, sealed, *rest = await self._driver.call("HMGET", keys.table_key(table), *_MARKS)
        if schema is None:
            raise Refused("UNKNOWN_TABLE")
        seal = Seal(digest.decode(), int(sealed)) if digest else FIRST_SEAL
        return Marks(int(entered or 0), seal, *(int(mark or 0) for mark in rest))

    async def entries_after(self, table: str, number: int, last: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        """Read entries in order, page by page, each with its number: after `number`, up to `last` (None: the end)."""
        async for entry in self._forwards(keys.ledger_key(table), number, last):
            yield entry

    async def move_projected(self, table: str, lease: Lease, number: int, at_ms: int) -> None:
        """Note that every entry up to `number` is in its patrons' ledgers. Raises `Fenced`."""
        await self._run("move_projected", table, lease.epoch, lease.node, number, at_ms)

    async def trim(self, table: str, lease: Lease) -> int:
        """Take away entries that patrons and all consumers have, at most TRIM_MAX; returns how many lie there. Without
        a consumer nothing goes. Raises `Fenced`."""
        return int((await self._run("trim_ledger", table, lease.epoch, lease.node, TRIM_MAX))[2])

    # --- consumers ----------------------------------------------------------------------------------------------------

    async def open_consumer(self, table: str, consumer: str) -> int:
        """Say up to which number a consumer has taken a table's ledger; from now on nothing behind that is trimmed.

        Raises `Refused` UNKNOWN_TABLE.
        """
        return int((await self._run("open_consumer", table, consumer))[2])

    async def move_consumer(self, table: str, consumer: str, number: int) -> None:
        """Note that a consumer has everything up to `number`. Raises `Refused` NOT_SEALED."""
        await self._run("move_consumer", table, consumer, number)

    async def consumers(self, table: str) -> dict[str, int]:
        """Say up to which number each consumer has taken a table's ledger."""
        found: dict[bytes, bytes] = await self._driver.call("HGETALL", keys.consumers_key(table))
        return {name.decode(): int(number) for name, number in found.items()}

    async def forget_consumer(self, table: str, consumer: str, signed: Signed = UNSIGNED) -> bool:
        """Wait for this consumer no longer, as an operator says; says whether it was known. Raises `Refused`
        UNKNOWN_TABLE."""
        return bool((await self._run("forget_consumer", table, consumer, *signed))[2])

    # --- a patron's ledger --------------------------------------------------------------------------------------------

    async def project(self, table: str, marks: Marks, copies: Sequence[tuple[str, Sequence[Copy]]]) -> int:
        """Copy a table's entries into the ledgers of its patrons, each once; returns how many patrons have no wallet
        for them."""
        calls = [
            (
                keys.wallet_keys(patron),
                (table, marks.forgotten_at_ms, marks.forgotten_to, *(value for copy in mine for value in copy)),
            )
            for patron, mine in copies
        ]
        return sum(isinstance(outcome, Refused) for outcome in await self._driver.run_many(_PROJECT, calls))

    async def lines_after(self, patron: str, number: int, last: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        """Read a patron's ledger in order, page by page, as `entries_after` reads a table's."""
        async for line in self._forwards(keys.patron_ledger_key(patron), number, last):
            yield line

    async def lines_before(self, patron: str, number: int | None, count: int) -> list[tuple[int, bytes]]:
        """Read a patron's ledger backwards: the newest lines, or those before `number`."""
        return await self._backwards(keys.patron_ledger_key(patron), number, count)

    async def played_before(self, patron: str, number: int | None, count: int) -> list[tuple[int, bytes]]:
        """Read the rounds that a patron has played, the newest first, or those before `number`."""
        return await self._backwards(keys.patron_rounds_key(patron), number, count)

    async def _forwards(self, key: str, number: int, last: int | None) -> AsyncIterator[tuple[int, bytes]]:
        end = "+" if last is None else f"{last}-0"
        while True:
            page = await self._driver.call("XRANGE", key, f"({number}-0", end, "COUNT", LEDGER_PAGE_MAX)
            for entry_id, fields in page:
                number = _number_of(entry_id)
                yield number, fields[b"entry"]
            if len(page) < LEDGER_PAGE_MAX:
                return

    async def _backwards(self, key: str, number: int | None, count: int) -> list[tuple[int, bytes]]:
        start = "+" if number is None else f"({number}-0"
        page = await self._driver.call("XREVRANGE", key, start, "-", "COUNT", count)
        return [(_number_of(entry_id), fields[b"entry"]) for entry_id, fields in page]

    async def tables_of(self, patron: str) -> set[str]:
        """List the tables to and from which a patron's money has moved."""
        names: list[bytes] = await self._driver.call("HKEYS", keys.wallet_key(patron))
        pairs = (name.decode().partition(":") for name in names)
        return {table for kind, _, table in pairs if kind in ("out", "in")}


def _number_of(entry_id: Any) -> int:
    return int(entry_id.split(b"-")[0])
