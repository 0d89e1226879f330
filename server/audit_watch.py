"""`punto-server audit --every`: an audit again and again, as metrics, in a process of its own.

It reads the whole store and plays whole ledgers, which is too much work to do beside a dealer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic, time

from server import metrics
from server.admin import State
from server.audit import Audit
from server.jitter import spread_s
from server.store.errors import StoreError

log = logging.getLogger(__name__)


class AuditWatch:
    """Audits until cancelled. A difference is told loudly, and never acted on."""

    def __init__(self, audit: Callable[[], Awaitable[Audit]], every_s: int) -> None:
        self._audit = audit
        self._every_s = every_s
        self._failure = "no audit was finished yet"

    def state(self) -> State:
        """Say whether the last audit could be carried out."""
        return State(is_healthy=True, is_ready=not self._failure, words=self._failure)

    async def run(self) -> None:
        """Audit, wait, audit."""
        while True:
            await self.look()
            await asyncio.sleep(spread_s(900 * self._every_s, 1_000 * self._every_s))

    async def look(self) -> None:
        """Audit once and tell what was found."""
        started_s = monotonic()
        try:
            found = await self._audit()
        except StoreError as error:
            metrics.AUDIT_FAILURES.inc()
            self._failure = f"{type(error).__name__} {error}"
            log.warning("audit_failed", extra={"reason": self._failure})
            return
        self._failure = ""
        for difference in found.differences:
            log.error("audit_difference", extra={"where": difference.where, "what": difference.what})
        metrics.AUDIT_DIFFERENCES.set(len(found.differences))
        metrics.AUDIT_DIFFERENCE.set(sum(abs(difference.amount) for difference in found.differences))
        metrics.OPEN_TRANSFERS.set(found.open_transfers)
        metrics.UNDER_WAY.set(found.under_way)
        metrics.AUDIT_SECONDS.set(monotonic() - started_s)
        metrics.AUDIT_AT.set(time())
        log.info("audited", extra={"tables": found.tables, "patrons": found.patrons, "open": found.open_transfers})
