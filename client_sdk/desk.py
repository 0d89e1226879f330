"""Where requests are made: each is sent, sent again after a break or a "not now", and decided once.

It holds no connection of its own: `session` says which line there is, `roster` which tables are not followed yet on
that line, so that no act reaches the server before the seat was taken again. Whoever asks only waits, and may be
cancelled at any time without touching anybody else's answer. Read next: `calls`.
"""

import asyncio
from collections.abc import Callable
from secrets import SystemRandom

from client_sdk.backoff import delays_ms
from client_sdk.calls import Call, Calls, T
from client_sdk.exceptions import PuntoError, Refused, TimedOut
from client_sdk.line import Line
from client_sdk.protocol.codec import Codec
from client_sdk.protocol.messages import Message, Request
from client_sdk.settings import Settings


class Desk:
    """The requests of one client. `error` is what ended it; None while it lives."""

    def __init__(self, settings: Settings, codec: Codec) -> None:
        self.settings = settings
        self._codec = codec
        self.calls = Calls(settings.calls_max)
        self.error: PuntoError | None = None
        self._line: Line | None = None
        self._held: set[str] = set()
        self._chance = SystemRandom()

    @property
    def has_line(self) -> bool:
        """Whether requests can be sent at this moment."""
        return self._line is not None

    # --- requests ---

    async def ask(
        self, request: Request, kind: type[T], accept: Callable[[T], object] | None = None, *, is_urgent: bool = False
    ) -> T:
        """Send a request, again after each break and each "not now", and return the answer.

        `accept` gets the answer as it is read, before any later event. An urgent request does not wait for its table.
        Raises Refused as the server decides, TimedOut or Disconnected after `call_ms`, TooMuchWaiting, and what ended
        the client; OverflowError where a number is too large for any message.
        """
        call = await self.call(request, kind, accept, is_urgent=is_urgent)
        return call.answer.result()

    async def call(
        self, request: Request, kind: type[T], accept: Callable[[T], object] | None = None, *, is_urgent: bool = False
    ) -> Call[T]:
        """Do what `ask` does, and return the answered call, which knows when it was sent and answered."""
        if self.error is not None:
            raise self.error
        call = Call(request, self._codec.encode(request), kind, accept, is_urgent)
        self.calls.add(call)
        try:
            async with asyncio.timeout(self.settings.call_ms / 1000):
                await self._decided(call)
        except TimeoutError:
            raise call.late(self.settings.call_ms) from None
        finally:
            self.calls.drop(call)
        return call

    async def ask_on(self, line: Line, request: Request, kind: type[T], timeout_ms: int) -> T:
        """Send a request once, on a line that is not for everybody yet."""
        call = Call(request, self._codec.encode(request), kind)
        self.calls.add(call)
        try:
            _send(call, line)
            async with asyncio.timeout(timeout_ms / 1000):
                return await call.answer
        except TimeoutError:
            raise TimedOut(call.name, timeout_ms) from None
        finally:
            self.calls.drop(call)

    async def _decided(self, call: Call[T]) -> None:
        settings = self.settings
        for delay_ms in delays_ms(settings.retry_ms_min, settings.retry_ms_first, settings.retry_ms_max, self._chance):
            self._post(call)
            try:
                await call.answer
                return
            except Refused as refusal:
                if not refusal.retry:
                    raise
                call.rest(refusal)
            await asyncio.sleep(delay_ms / 1000)
            call.wake()

    # --- what the others tell ---

    def open_line(self, line: Line) -> None:
        """There is a line: send what waits, in the order it was asked for."""
        self._line = line
        self._flush()

    def close_line(self) -> None:
        """There is no line: whatever has no answer yet is sent again on the next one."""
        self._line = None

    def hold(self, table: str) -> None:
        """Let requests about a table wait until `release`."""
        self._held.add(table)

    def release(self, table: str) -> None:
        """Send what waits for a table."""
        self._held.discard(table)
        self._flush()

    def settle(self, message: Message) -> None:
        """Take an answer off the wire."""
        self.calls.settle(message, now_ms())

    def end(self, error: PuntoError) -> None:
        """End every request, present and later ones, with this error. Only the first end counts."""
        if self.error is None:
            self.error = error
            self.calls.fail_all(error)

    # --- sending ---

    def _flush(self) -> None:
        for call in self.calls:
            self._post(call)

    def _post(self, call: Call[T]) -> None:
        """Send a call, unless it was sent on this line, rests after a "not now", or its table is held."""
        line = self._line
        if line is None or call.carrier is line or call.is_resting:
            return
        if call.is_urgent or call.table not in self._held:
            _send(call, line)


def _send(call: Call[T], line: Line) -> None:
    call.carrier, call.sent_ms = line, now_ms()
    line.post(call.frame)


def now_ms() -> float:
    """Return the client's own monotonic clock in milliseconds."""
    return asyncio.get_running_loop().time() * 1000
