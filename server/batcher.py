"""Acts on their way to the store: while one call for a table is under way the next acts wait and go together.

Latency when quiet, throughput when busy. Each act gets its own answer, in the order of arrival. The queue of a table is
bounded; past it an act is told BUSY at once.
"""

import asyncio
import logging
from typing import Final

from server.store.errors import StoreAway, StoreError
from server.store.tables import ActAnswer, ActLine, Tables

log = logging.getLogger(__name__)
ACTS_WAITING_MAX: Final = 20_000
ACTS_A_CALL_MAX: Final = 128
"""One call decides so many acts in well under a millisecond or two, so other tables' scripts are not held up."""


class Busy(StoreError):
    """Too many acts wait for this table."""


class Batcher:
    """The queue of acts of one table on this node."""

    def __init__(self, table: str, tables: Tables) -> None:
        self._table = table
        self._tables = tables
        self._waiting: list[tuple[ActLine, asyncio.Future[ActAnswer]]] = []
        self._task: asyncio.Task[None] | None = None

    def submit(self, line: ActLine) -> asyncio.Future[ActAnswer]:
        """Queue an act; the future gives its answer or a `StoreError`. Raises `Busy`."""
        if len(self._waiting) >= ACTS_WAITING_MAX:
            raise Busy
        future: asyncio.Future[ActAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((line, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name=f"acts {self._table}")
        return future

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:ACTS_A_CALL_MAX], self._waiting[ACTS_A_CALL_MAX:]
            try:
                answers = await self._tables.acts(self._table, [line for line, _ in batch])
            except StoreError as error:
                _fail(batch, error)
            except asyncio.CancelledError:
                _fail([*batch, *self._waiting], StoreAway("stopped"))
                self._waiting.clear()
                raise
            except Exception:
                log.exception("acts_failed", extra={"table": self._table})
                _fail(batch, StoreError("the acts could not be decided"))
            else:
                for (_, future), answer in zip(batch, answers, strict=True):
                    if not future.done():
                        future.set_result(answer)

    async def close(self) -> None:
        """Wait for the call under way."""
        if self._task is not None:
            await asyncio.wait([self._task])


def _fail(batch: list[tuple[ActLine, asyncio.Future[ActAnswer]]], error: StoreError) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
