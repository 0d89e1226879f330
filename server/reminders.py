"""Tells patrons who asked for it, every so often, how long they have played and what it came to.

Who asked is known from the hello, and from `set_limits` on the same connection; a reminder that was taken away stops
with the next one that is due.
"""

import asyncio
import logging
from time import monotonic
from typing import Final, Protocol

from client_sdk.protocol.messages import SessionReminder
from server.outlet import Outlet
from server.patron_limits import PatronLimits
from server.store.errors import StoreError
from server.store.limits import WITHOUT

log = logging.getLogger(__name__)

LOOK_MS: Final = 500


class Reminded(Protocol):
    """A connection as far as reminders see it."""

    patron: str
    outlet: Outlet


class Reminders:
    """All of one node."""

    def __init__(self, limits: PatronLimits) -> None:
        self._limits = limits
        self._due_s: dict[Reminded, float] = {}
        self._since_s: dict[Reminded, float] = {}

    def __repr__(self) -> str:
        return f"<Reminders connections={len(self._due_s)}>"

    def set(self, connection: Reminded, every_ms: int) -> None:
        """Remind a connection every so often from now on; 0: not any more."""
        if every_ms:
            self._since_s.setdefault(connection, monotonic())
            self._due_s[connection] = monotonic() + every_ms / 1000
        else:
            self.forget(connection)

    def forget(self, connection: Reminded) -> None:
        """A connection has ended."""
        self._due_s.pop(connection, None)
        self._since_s.pop(connection, None)

    async def run(self) -> None:
        """Remind whoever is due, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_MS / 1000)
            for connection in [each for each, due_s in self._due_s.items() if monotonic() >= due_s]:
                try:
                    await self._remind(connection)
                except StoreError as error:
                    log.warning("reminder_waits", extra={"patron": connection.patron, "reason": str(error)})

    async def _remind(self, connection: Reminded) -> None:
        limits = await self._limits.read(connection.patron)
        if connection not in self._since_s:  # it ended meanwhile
            return
        is_in_session = limits.session_at_ms and limits.now_ms < limits.session_until_ms < WITHOUT
        played_ms = (
            limits.now_ms - limits.session_at_ms
            if is_in_session
            else int((monotonic() - self._since_s[connection]) * 1000)
        )
        if limits.reminder_ms:
            connection.outlet.send(
                SessionReminder(
                    played_ms=played_ms,
                    session_until_ms=limits.session_until_ms if is_in_session else None,
                    staked=limits.staked,
                    lost=limits.lost,
                )
            )
        self.set(connection, limits.reminder_ms)
