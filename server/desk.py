"""The acts of one connection that are under way, and their answers.

Acts do not wait for each other: they travel in batches (`batcher.py`). Whoever sent one has exactly one answer to it,
and what a batch has decided for one socket is written to it at once.
"""

import asyncio
import logging
from collections.abc import Callable
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
    """What a connection waits for from its tables."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._acts: set[asyncio.Future[ActAnswer]] = set()
        self._answers: list[bytes] = []

    def __repr__(self) -> str:
        return f"<Desk acts={len(self._acts)}>"

    @property
    def is_full(self) -> bool:
        """Whether no further act is taken before one is answered."""
        return len(self._acts) >= ACTS_MAX

    async def until_room(self) -> None:
        """Wait while it is full."""
        if self.is_full:
            await asyncio.wait(self._acts, return_when=asyncio.FIRST_COMPLETED)

    async def until_empty(self) -> None:
        """Wait until every act is answered."""
        if self._acts:
            await asyncio.wait(self._acts)

    def put(self, act: Act, decided: asyncio.Future[ActAnswer]) -> None:
        """Answer an act when it is decided."""
        self._acts.add(decided)
        decided.add_done_callback(self._answer_to(act))

    def _answer_to(self, act: Act) -> Callable[[asyncio.Future[ActAnswer]], None]:
        def write(decided: asyncio.Future[ActAnswer]) -> None:
            self._acts.discard(decided)
            answer = _answer(act, decided)
            count_answer(type(act).__name__.lower(), answer.name if isinstance(answer, Error) else "ok", is_act=True)
            self._answers.append(framed(self._outlet.codec, answer))
            if not any(
                other.done() for other in self._acts
            ):  # else it was in the same batch, and is written with this one
                self._outlet.write(b"".join(self._answers))
                self._answers.clear()

        return write


def _answer(act: Act, decided: asyncio.Future[ActAnswer]) -> Receipt | Error:
    error = decided.exception()
    if error is None:
        return receipt_or_error(act, decided.result())
    if isinstance(error, StoreError):
        return error_of(act.request_id, error)
    log.error("act_failed", exc_info=error, extra={"table": act.table})
    return error_reply(act.request_id, ErrorCode.INTERNAL)
