"""Commands on their way to one server: what is asked in one moment goes in one pipeline.

What a call costs here is mostly the driver's work around it, which a pipeline does once for all its commands. While as
many pipelines are under way as may be, the next commands wait and go together: latency when quiet, throughput when
busy. Each has its own answer. Nothing is sent twice, and whoever stops waiting leaves no reply to anybody else: the
pipeline is read to its end by its own task.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

from hiredis import pack_command
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from server.store.errors import StoreAway

PIPELINES_MAX: Final = 8
TOGETHER_MAX: Final = 16
"""Commands in one pipeline: the answers of the first wait for those of the last."""
WAIT_MS_MAX: Final = 3_000
"""So long a command waits for its place at most."""
Command: TypeAlias = Sequence[str | bytes | int]


class _Waiting(NamedTuple):
    command: Command
    answer: "asyncio.Future[Any]"
    since_s: float


class Sender:
    """The way of commands to one server."""

    def __init__(self, client: Redis) -> None:
        self._client = weakref.ref(client)  # the driver keeps a sender for as long as there is its client
        self._first: deque[_Waiting] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_called = False

    def __repr__(self) -> str:
        return f"<Sender waiting={len(self._first) + len(self._waiting)} under_way={len(self._under_way)}>"

    async def send(self, command: Command, *, goes_first: bool = False) -> Any:
        """Send a command and give its answer; the caller holds on to the client meanwhile. Raises the driver's errors,
        and `StoreAway` where too many wait. What `goes_first` is before all that does not."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(command, loop.create_future(), monotonic())
        (self._first if goes_first else self._waiting).append(waiting)
        if not self._is_called:
            self._is_called = True
            loop.call_soon(self._begin)
        return await waiting.answer

    async def close(self) -> None:
        """End what is under way; whoever waits for it is told that the store is away."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        for line in (self._first, self._waiting):
            _fail(line, StoreAway("the way to the store was closed"))
            line.clear()

    def _begin(self) -> None:
        """Let what waits set out, as far as there is room."""
        self._is_called = False
        while (self._first or self._waiting) and len(self._under_way) < PIPELINES_MAX:
            count = min(TOGETHER_MAX, len(self._first) + len(self._waiting))
            some = [(self._first or self._waiting).popleft() for _ in range(count)]
            late_s = monotonic() - WAIT_MS_MAX / 1000
            _fail([each for each in some if each.since_s < late_s], StoreAway("too many calls wait for this server"))
            some = [each for each in some if not each.answer.done()]  # nor what nobody waits for any more
            if some:
                task = asyncio.create_task(self._carry(some), name="store pipeline")
                self._under_way.add(task)
                task.add_done_callback(self._arrived)

    def _arrived(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._begin()

    async def _carry(self, some: list[_Waiting]) -> None:
        """Send some commands together and hand out their answers."""
        try:
            answers = await self._ask([each.command for each in some])
        except asyncio.CancelledError:
            _fail(some, StoreAway("the way to the store was closed"))
            raise
        except Exception as error:  # whatever it is, whoever waits must hear of it
            _fail(some, error)
        else:
            for each, answer in zip(some, answers, strict=True):
                if each.answer.done():
                    continue
                if isinstance(answer, Exception):
                    each.answer.set_exception(answer)
                else:
                    each.answer.set_result(answer)

    async def _ask(self, commands: list[Command]) -> list[Any]:
        client = self._client()
        if client is None:
            raise StoreAway("this server is not known any more")
        pool = client.connection_pool
        connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.send_packed_command(b"".join(map(_packed, commands)))
            return [await _answer(client, connection, command) for command in commands]
        finally:
            await pool.release(connection)


async def _answer(client: Redis, connection: Any, command: Command) -> Any:
    """Read the answer to one of the commands; what the server refused is an answer too. Whatever else goes wrong closes
    the connection, so that no answer is left on it."""
    try:
        return await client.parse_response(connection, str(command[0]))
    except ResponseError as refused:
        return refused


def _packed(command: Command) -> bytes:
    """Put a command in the server's protocol; the library's own way of it, in Python, took a third of a join."""
    name, *rest = command
    packed: bytes = pack_command((*str(name).split(), *rest))  # type: ignore[arg-type]  # its stub knows pairs only
    return packed


def _fail(some: Sequence[_Waiting] | deque[_Waiting], error: Exception) -> None:
    for each in some:
        if not each.answer.done():
            each.answer.set_exception(error)
