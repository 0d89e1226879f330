"""Somebody who sends acts and waits for each answer."""

import asyncio

from client_sdk.protocol.messages import Act, Ready
from server.batcher import Batcher
from server.store.errors import StoreError
from server.store.tables import ActAnswer, ActLine


class Asked:
    """One act and its answer."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[ActAnswer] = asyncio.get_running_loop().create_future()
        self._taken: ActAnswer | StoreError | None = None

    def take(self, act: Act, answer: ActAnswer | StoreError) -> None:
        """Take the answer, the only one there may be."""
        assert self._taken is None, "an act has one answer"
        self._taken = answer

    def write(self) -> None:
        """Pass it on."""
        assert self._taken is not None, "nothing is written before it was taken"
        if self.answer.done():
            return
        if isinstance(self._taken, StoreError):
            self.answer.set_exception(self._taken)
        else:
            self.answer.set_result(self._taken)


def submit(batcher: Batcher, line: ActLine) -> asyncio.Future[ActAnswer]:
    """Send an act; the future gives its answer or raises its `StoreError`. Raises `Busy`."""
    asked = Asked()
    batcher.submit(line, Ready(request_id=line.request_id, table="t1", round=line.round), asked)
    return asked.answer
