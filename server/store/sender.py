"""Commands on their way to one server: they share one connection, and none waits for the answer to another.

What a call costs here is mostly the work around it, so there is little: what is asked in one moment is written in one
go, what whole tables wait for at once and before the rest, and answers are read in the order of the questions. So many
may be under way; the next ones wait and go together: latency when quiet, throughput when busy. Nothing is sent twice,
and whoever stops waiting leaves no reply to anybody else: its answer is read and dropped.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

from hiredis import pack_command
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as DriverConnectionError
from redis.exceptions import ReadOnlyError, ResponseError
from redis.exceptions import TimeoutError as DriverTimeoutError

from server.store.errors import StoreAway

UNDER_WAY_MAX: Final = 32
"""Commands that the server was sent and has not answered: what goes first waits for so many at most, and so many tasks
go on in one turn of the loop."""
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


class Sender:
    """The way of commands to one server: a line that the first command opens, and the next one again after it broke."""

    def __init__(self, client: Redis, silence_ms_max: int) -> None:
        """A line is given up where the server that owes an answer says nothing for so long."""
        self._silence_s_max = silence_ms_max / 1000
        self._client = weakref.ref(client)  # the driver keeps a sender for as long as there is its client
        self._first: deque[_Asked] = deque()
        self._waiting: deque[_Asked] = deque()
        self._under_way: deque[_Asked] = deque()
        self._out: asyncio.StreamWriter | None = None
        """The way out of the line that is open."""
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
                self._out = connection._writer  # its own way of writing waits, and is not to be cancelled
                self._send_on()
                await self._read(client, connection)
            finally:
                self._out = None
                connection.socket_timeout = read_s_max
                await connection.disconnect(nowait=True)
                await pool.release(connection)

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
        room = UNDER_WAY_MAX - len(self._under_way)
        for line in (self._first, self._waiting):
            while line and len(some) < room:
                asked = line.popleft()
                if not asked.answer.done():
                    some.append(asked)
        return some

    async def _read(self, client: Redis, connection: Any) -> None:
        """Hand out the answers; what the server refused is an answer too."""
        while True:
            answer = await _answer(connection)
            if not self._under_way:
                raise DriverConnectionError("the server has answered what it was not asked")
            asked, self._heard_s = self._under_way.popleft(), monotonic()
            if self._first or self._waiting:
                self._call()
            if not asked.answer.done():
                _hand_out(answer, asked, client.response_callbacks.get(asked.name))
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


async def _answer(connection: Any) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as refused:
        return refused


def _hand_out(answer: Any, asked: _Asked, read: Callable[[Any], Any] | None) -> None:
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
