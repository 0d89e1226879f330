"""Requests on their way: which ones wait for an answer, under which request_id, and what became of each.

A call is decided once however often it is sent: the request, its id and its round never change. Answers are matched by
id alone; one that nobody waits for any more is dropped. No I/O: `session` sends, and awaits `Call.answer`.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from client_sdk.exceptions import (
    ClientFailed,
    Disconnected,
    ProtocolMismatch,
    PuntoError,
    Refused,
    TimedOut,
    TooMuchWaiting,
    refusal_of,
)
from client_sdk.protocol.codec import Frame, decode_reply
from client_sdk.protocol.messages import Error, Message, Ping, Reply, Request

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Reply)


def fresh_request_id() -> str:
    """Return an id that no other request has and nobody can guess: 72 random bits."""
    return secrets.token_urlsafe(9)


class Call(Generic[T]):
    """One request until its answer; `frame` is what goes over the line, the same bytes each time.

    `accept` runs as the answer is read, before any later event: what the answer says of a table must be in the mirror
    by then. `carrier` is the line it was last sent on. `is_urgent` calls do not wait for their table to be resumed.
    """

    def __init__(
        self,
        request: Request,
        frame: Frame,
        kind: type[T],
        accept: Callable[[T], object] | None = None,
        is_urgent: bool = False,
    ) -> None:
        self.request = request
        self.frame = frame
        self.kind = kind
        self.accept = accept
        self.is_urgent = is_urgent
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.carrier: object | None = None
        self.is_resting = False
        self.sent_ms: float | None = None
        self.answered_ms: float | None = None
        self._refusal: Refused | None = None

    def __repr__(self) -> str:
        return f"<Call {self.name} {self.request_id} sent={self.sent_ms is not None}>"

    @property
    def request_id(self) -> str:
        """The id under which it is sent, each time."""
        return self.request.request_id

    @property
    def name(self) -> str:
        """The request's type on the wire."""
        return str(self.request.__struct_config__.tag)

    @property
    def table(self) -> str | None:
        """The table it is about, if any."""
        return getattr(self.request, "table", None)

    def rest(self, refusal: Refused) -> None:
        """Keep a "not now" in mind and wait before the same request is sent again."""
        self._refusal = refusal
        self.is_resting = True
        self.answer = self.answer.get_loop().create_future()

    def wake(self) -> None:
        """Let it be sent again."""
        self.is_resting, self.carrier = False, None

    def late(self, waited_ms: int) -> PuntoError:
        """Return what to raise when the time is up."""
        if self._refusal is not None and self.is_resting:
            return self._refusal
        if self.sent_ms is None:
            return Disconnected(f"{self.name} could not be sent within {waited_ms} ms")
        return TimedOut(self.name, waited_ms)

    def settle(self, message: Message, answered_ms: float) -> None:
        """Take the answer."""
        self.answered_ms = answered_ms
        try:
            reply = self._read(message)
            if self.accept is not None:
                self.accept(reply)
        except PuntoError as error:
            self.fail(error)
        except Exception as error:
            log.exception("answer_not_taken", extra={"request": self.name, "table": self.table})
            failure = ClientFailed()
            failure.__cause__ = error
            self.fail(failure)
        else:
            self.answer.set_result(reply)

    def fail(self, error: PuntoError) -> None:
        """End it with an error, unless it has ended."""
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # whoever waits still gets it; one who was cancelled leaves no warning behind

    def _read(self, message: Message) -> T:
        try:
            if message["type"] == "error":
                raise refusal_of(decode_reply(message, Error))
            reply = decode_reply(message, self.kind)
        except msgspec.ValidationError as error:
            raise ProtocolMismatch(f"an answer to {self.name}", str(error)) from None
        if getattr(reply, "table", self.table) != self.table:
            raise ProtocolMismatch(f"an answer about {self.table}", "one about another table")
        return reply


class Calls:
    """All requests that wait for an answer, in the order they were made."""

    def __init__(self, calls_max: int) -> None:
        self._waiting: dict[str, Call[Any]] = {}
        self._calls_max = calls_max

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Call[Any]]:
        return iter(list(self._waiting.values()))

    def add(self, call: Call[Any]) -> None:
        """Wait for the answer to this one too.

        Raises TooMuchWaiting, except for an urgent one: each table has one at most.
        """
        if len(self._waiting) >= self._calls_max and not call.is_urgent:
            raise TooMuchWaiting(self._calls_max)
        self._waiting[call.request_id] = call

    def drop(self, call: Call[Any]) -> None:
        """Nobody waits for it any more."""
        self._waiting.pop(call.request_id, None)

    def about(self, table: str) -> int:
        """Count what was asked of a table and waits; what the client asks by itself does not count."""
        own = (call for call in self._waiting.values() if not call.is_urgent and not isinstance(call.request, Ping))
        return sum(call.table == table for call in own)

    def settle(self, message: Message, answered_ms: float) -> None:
        """Hand an answer to the request it answers; one for nobody is dropped."""
        call = self._waiting.get(str(message.get("request_id")))
        if call is None or call.answer.done():
            log.debug("answer_for_nobody", extra={"request_id": message.get("request_id")})
        else:
            call.settle(message, answered_ms)

    def fail_all(self, error: PuntoError) -> None:
        """End every request with this error."""
        for call in self:
            call.fail(error)
