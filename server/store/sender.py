"""Commands on their way to one server: they share one connection, and none waits for the answer to another.

What a call costs here is mostly the work around it, so there is little: what is asked in one moment is written in one
go, what whole tables wait for at once and before the rest, and answers are handed out where they arrive, in the order
of the questions. So many may be under way; the next ones wait and go together: latency when quiet, throughput when
busy. Nothing is sent twice, and whoever stops waiting leaves no reply to anybody else: its answer is read and dropped.

The library opens a line and says hello on it; from then on it is read and written here.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

from hiredis import PushNotification, Reader, pack_command
from redis._parsers.base import BaseParser
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as DriverConnectionError
from redis.exceptions import InvalidResponse, ReadOnlyError
from redis.exceptions import TimeoutError as DriverTimeoutError

from server.fair_loop import let_go_first
from server.store.errors import StoreAway

UNDER_WAY_MAX: Final = 32
"""Commands that the server was sent and has not answered, at most; so many tasks go on in one turn of the loop."""
BEFORE_THE_FIRST_MAX: Final = 12
"""Of those that do not go first nothing more is sent where so many are under way: what goes first waits for them."""
WAIT_MS_MAX: Final = 3_000
"""So long a command waits for its place at most."""
LOOKS: Final = 8
"""So often, within the time that a server may be silent, it is looked whether it is."""
Command: TypeAlias = Sequence[str | bytes | int]
_GOES_FIRST: Final = ContextVar("goes_first", default=False)


def go_first(is_first: bool = True) -> None:
    """Have what this task asks of the store from now on, and the tasks that it begins, go before all that other tasks
    ask: whole tables wait for it."""
    _GOES_FIRST.set(is_first)


class _Asked(NamedTuple):
    name: str
    packed: bytes
    answer: "asyncio.Future[Any]"
    since_s: float


_NOT_ENOUGH: Final = object()


class _Ears(asyncio.Protocol):
    """Hears what comes in on an open line, in place of the library's own stream; `broken` never has a result, but the
    error that ended it. Whatever `hear` raises ends it too, and `end` is told in that moment."""

    def __init__(self, hear: Callable[[Any], None], end: Callable[[], None]) -> None:
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hear = hear
        self._tell_end = end
        self._reader = Reader(
            protocolError=InvalidResponse, replyError=BaseParser.parse_error, notEnoughData=_NOT_ENOUGH
        )

    def take_over(self, transport: asyncio.BaseTransport) -> None:
        """Hear what comes from now on; who waits for the end of the line before goes on waiting for it."""
        self._before = transport.get_protocol()
        transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        """Give on every answer that is whole."""
        try:
            self._reader.feed(data)
            while not self.broken.done() and (answer := self._reader.gets()) is not _NOT_ENOUGH:
                if not isinstance(answer, PushNotification):  # nobody subscribes here
                    self._hear(answer)
        except Exception as error:
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell that nothing more comes."""
        self._before.connection_lost(exc)
        self._end(exc or DriverConnectionError("the server has closed the connection"))

    def _end(self, error: Exception) -> None:
        if not self.broken.done():
            self._tell_end()
            self.broken.set_exception(error)


class Sender:
    """The way of commands to one server: a line that the first command opens, and the next one again after it broke."""

    def __init__(self, client: Redis, silence_ms_max: int) -> None:
        """A line is given up where the server that owes an answer says nothing for so long."""
        self._silence_s_max = silence_ms_max / 1000
        self._client = weakref.ref(client)  # the driver keeps a sender for as long as there is its client
        self._first: deque[_Asked] = deque()
        self._waiting: deque[_Asked] = deque()
        self._under_way: deque[_Asked] = deque()
        self._out: asyncio.WriteTransport | None = None
        """The way out of the line that is open."""
        self._readers: Mapping[Any, Callable[..., Any]] = {}
        """How the library reads the answers to some commands."""
        self._is_called = False
        self._heard_s = 0.0
        """When the server answered last, or was asked again after nothing was under way."""
        self._line: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Sender waiting={len(self._first) + len(self._waiting)} under_way={len(self._under_way)}>"

    @property
    def is_busy(self) -> bool:
        """Whether more waits for its place than can go at once."""
        return len(self._waiting) > UNDER_WAY_MAX

    async def send(self, command: Command) -> Any:
        """Send a command and give its answer; the caller holds on to the client meanwhile. Raises the driver's errors,
        and `StoreAway` where too many wait."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        asked = _Asked(str(command[0]), _packed(command), answer, monotonic())
        is_first = _GOES_FIRST.get()
        (self._first if is_first else self._waiting).append(asked)
        if self._line is None:
            self._open()
        elif is_first:
            self._send_on()
        else:
            self._call()
        return await answer

    async def close(self) -> None:
        """End what is under way; whoever waits for it is told that the store is away."""
        while self._line is not None:
            self._line.cancel()
            await asyncio.gather(self._line, return_exceptions=True)

    def _open(self) -> None:
        self._line = asyncio.create_task(self._hold_line(), name="line to the store")

    def _call(self) -> None:
        """Have what is asked in this moment go together."""
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._send_on)

    # --- one line -----------------------------------------------------------------------------------------------------

    async def _hold_line(self) -> None:
        """Hold a line until it breaks: what was sent and not answered fails with it, the rest waits for the next."""
        error: Exception = StoreAway("the way to the store was closed")
        try:
            await self._carry()
        except ExceptionGroup as group:  # whatever it is, whoever waits must hear of it
            error = group.exceptions[0]
        except asyncio.CancelledError:
            self._fail_waiting(error)
            raise
        finally:
            self._line = None
            _fail(self._under_way, error)
        if self._first or self._waiting:
            self._open()

    async def _carry(self) -> None:
        """Open a connection and read the answers to what goes out on it, until something goes wrong; raised as a
        group."""
        async with asyncio.TaskGroup() as group:
            try:
                if (client := self._client()) is None:
                    raise StoreAway("this server is not known any more")
                pool = client.connection_pool
                group.create_task(self._watch(), name="line to the store: watch")
                connection = await pool.get_connection()  # type: ignore[no-untyped-call]  # as the library has it
            except Exception as error:
                self._fail_waiting(error)
                raise
            read_s_max, connection.socket_timeout = connection.socket_timeout, None  # one watch for all is cheaper
            try:
                self._look_whether_it_has_ended(connection)
                ears = _Ears(self._hear, self._stop)
                transport: asyncio.WriteTransport = connection._writer.transport
                ears.take_over(transport)
                let_go_first(transport)
                self._out, self._readers = transport, client.response_callbacks
                self._send_on()
                await ears.broken
            finally:
                self._stop()
                connection.socket_timeout = read_s_max
                await connection.disconnect(nowait=True)
                await pool.release(connection)

    def _look_whether_it_has_ended(self, connection: Any) -> None:
        """Raise the driver's error where the server has closed a line that was just opened: whoever takes it over would
        not be told any more."""
        if connection._reader.at_eof():
            error = DriverConnectionError("the server has closed the connection")
            self._fail_waiting(error)
            raise error

    def _stop(self) -> None:
        """Send nothing more on this line: what is asked from now on waits for the next one."""
        self._out = None

    def _send_on(self) -> None:
        """Send what waits, as far as there is room; while no line is open it goes on waiting."""
        self._is_called = False
        if self._out is not None and (some := self._next()):
            if not self._under_way:
                self._heard_s = monotonic()
            self._under_way.extend(some)
            self._out.write(b"".join([asked.packed for asked in some]))

    def _next(self) -> list[_Asked]:
        """Take what may be sent now, but not what nobody waits for any more."""
        some: list[_Asked] = []
        for line, at_most in ((self._first, UNDER_WAY_MAX), (self._waiting, BEFORE_THE_FIRST_MAX)):
            while line and len(self._under_way) + len(some) < at_most:
                asked = line.popleft()
                if not asked.answer.done():
                    some.append(asked)
        return some

    def _hear(self, answer: Any) -> None:
        """Hand an answer out; what the server refused is an answer too. Raises the error that ends the line."""
        if isinstance(answer, DriverConnectionError):  # it does not serve anybody now
            raise answer
        if not self._under_way:
            raise DriverConnectionError("the server has answered what it was not asked")
        asked, self._heard_s = self._under_way.popleft(), monotonic()
        if self._first or self._waiting:
            self._call()
        if not asked.answer.done():
            _hand_out(answer, asked, self._readers.get(asked.name))
        if isinstance(answer, ReadOnlyError):  # another server may be meant by this address now
            raise answer

    async def _watch(self) -> None:
        """Give up what waits for its place for too long, and the line where the server is silent for too long."""
        while True:
            await asyncio.sleep(min(self._silence_s_max, WAIT_MS_MAX / 1000) / LOOKS)
            now_s = monotonic()
            for line in (self._first, self._waiting):
                while line and line[0].since_s < now_s - WAIT_MS_MAX / 1000:
                    _fail_one(line.popleft(), StoreAway("too many calls wait for this server"))
            if self._under_way and self._heard_s < now_s - self._silence_s_max:
                raise DriverTimeoutError(f"the server has been silent for {self._silence_s_max:g} s")

    def _fail_waiting(self, error: Exception) -> None:
        for line in (self._first, self._waiting):
            _fail(line, error)


def _hand_out(answer: Any, asked: _Asked, read: Callable[..., Any] | None) -> None:
    """Give an answer to whoever waits for it, as the library reads those of its command."""
    if isinstance(answer, Exception):
        asked.answer.set_exception(answer)
        return
    try:
        asked.answer.set_result(answer if read is None else read(answer))
    except Exception as error:
        asked.answer.set_exception(error)


def _packed(command: Command) -> bytes:
    """Put a command in the server's protocol; the library's own way of it, in Python, took a third of a join."""
    name, *rest = command
    packed: bytes = pack_command((*str(name).split(), *rest))  # type: ignore[arg-type]  # its stub knows pairs only
    return packed


def _fail(some: deque[_Asked], error: Exception) -> None:
    while some:
        _fail_one(some.popleft(), error)


def _fail_one(asked: _Asked, error: Exception) -> None:
    if not asked.answer.done():
        asked.answer.set_exception(error)
