"""The acts of one connection that are under way, and their answers.

Acts do not wait for each other: they travel in batches (`batcher.py`). Whoever sent one has exactly one answer to it,
and what a batch has decided for one socket is written to it at once.
"""

import asyncio
import logging
from typing import Final

from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import Act, Error, Receipt
from server.metrics import count_answer
from server.outlet import Outlet, framed
from server.replies import error_of, error_reply, receipt_or_error
from server.store.errors import StoreError
from server.store.tables import ActAnswer

log = logging.getLogger(__name__)

ACTS_MAX: Final = 64


class Desk:
    """What a connection waits for from its tables: the `Asker` of its acts."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._under_way = 0
        self._answers: list[bytes] = []
        self._written: asyncio.Event | None = None
        """Set when answers were written; only while somebody waits for that."""

    def __repr__(self) -> str:
        return f"<Desk acts={self._under_way}>"

    @property
    def is_full(self) -> bool:
        """Whether no further act is taken before one is answered."""
        return self._under_way >= ACTS_MAX

    async def until_room(self) -> None:
        """Wait while it is full."""
        while self.is_full:
            await self._until_written()

    async def until_empty(self) -> None:
        """Wait until every act is answered."""
        while self._under_way:
            await self._until_written()

    async def _until_written(self) -> None:
        self._written = asyncio.Event()
        await self._written.wait()
        self._written = None

    def expect(self) -> None:
        """Expect the answer to one act more."""
        self._under_way += 1

    def take(self, act: Act, answer: ActAnswer | StoreError) -> None:
        """Have an answer ready that was expected."""
        self._under_way -= 1
        try:
            reply = _reply(act, answer)
        except Exception:
            log.exception("act_failed", extra={"table": act.table})
            reply = error_reply(act.request_id, ErrorCode.INTERNAL)
        count_answer(type(act).__name__.lower(), reply.name if isinstance(reply, Error) else "ok", is_act=True)
        self._answers.append(framed(self._outlet.codec, reply))

    def write(self) -> None:
        """Write what is ready, in one go."""
        self._outlet.write(b"".join(self._answers))
        self._answers.clear()
        if self._written is not None:
            self._written.set()


def _reply(act: Act, answer: ActAnswer | StoreError) -> Receipt | Error:
    if isinstance(answer, StoreError):
        return error_of(act.request_id, answer)
    return receipt_or_error(act, answer)
