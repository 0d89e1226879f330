"""The seal that ends a round: every entry of the table's ledger since the last one, read back and hashed.

Read from the store and not from memory, so that whoever owns the table by then computes the same. It is committed with
the step that ends the round; entries that come in between belong to the next seal. Where many bets were laid, most of
them are read while the cards are dealt, so that the end of the round does not wait for it.
"""

import asyncio
import logging

from client_sdk.game.seals import Seal, SealInMaking
from server.ledger.entries import is_movement
from server.store.errors import StoreError
from server.store.ledgers import Ledgers

log = logging.getLogger(__name__)


class Sealer:
    """Seals one table's ledger for the length of a lease. What it has read ahead counts only for the seal that it was
    read behind; asked to follow another one it reads again."""

    def __init__(self, ledgers: Ledgers, table: str, previous: Seal) -> None:
        self._ledgers = ledgers
        self._table = table
        self._wanted = asyncio.Event()
        self._reading = asyncio.Lock()
        self._begin(previous)

    def __repr__(self) -> str:
        return f"<Sealer {self._table} from={self._previous.sealed_to} to={self._making.sealed_to}>"

    def _begin(self, previous: Seal) -> None:
        self._previous, self._making, self._has_moved = previous, SealInMaking(previous), False
        self._is_forgotten = False

    async def run(self) -> None:
        """Read ahead whenever it is asked for, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                async with self._reading:
                    await self._read_on()
            except StoreError as error:  # the end of the round will tell
                log.debug("not_read_ahead", extra={"table": self._table, "reason": f"{type(error).__name__} {error}"})

    def read_ahead(self) -> None:
        """Begin to read what was entered by now."""
        self._wanted.set()

    def forget(self) -> None:
        """Believe nothing that was read ahead: the table lies on another server, which may not have it."""
        self._is_forgotten = True

    async def seal(self, previous: Seal) -> Seal:
        """Seal what was entered since `previous`; where no money has moved since, that one still stands.

        Raises `StoreError`.
        """
        async with self._reading:
            if previous != self._previous or self._is_forgotten:
                self._begin(previous)
            await self._read_on()
            sealed = self._making.seal() if self._has_moved else previous
            if sealed != previous:
                self._begin(sealed)
            return sealed

    async def _read_on(self) -> None:
        async for number, entry in self._ledgers.entries_after(self._table, self._making.sealed_to):
            if number != self._making.sealed_to + 1:  # play goes on; whoever checks an export will see it too
                log.error("ledger_gap", extra={"table": self._table, "after": self._making.sealed_to, "next": number})
            self._making.add(number, entry)
            self._has_moved = self._has_moved or is_movement(entry)
