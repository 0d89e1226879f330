"""How a command or a script is run on the store, wherever its key lives.

Nothing is run twice unless the server said that it has not run it (a moved slot, a demoted primary, a script it did not
know). Every other repeat belongs to the caller, under a request_id or a seq. Every call has a timeout. The driver's
errors are translated here and nowhere else (`errors.py`); which server holds which key is `shards.py`'s.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from time import monotonic, time
from typing import Any, Final, Self, TypeAlias
from weakref import WeakKeyDictionary

from redis.asyncio import Redis
from redis.asyncio.sentinel import MasterNotFoundError
from redis.exceptions import (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as DriverConnectionError
from redis.exceptions import TimeoutError as DriverTimeoutError

from server.clock import StoreClock
from server.metrics import STORE_FAILURES, store_seconds
from server.places import Places
from server.store.errors import (
    Fenced,
    NewerSchema,
    OutOfStep,
    Refused,
    StoreAway,
    StoreError,
    StoreRefused,
    Unconfirmed,
)
from server.store.keys import confirmation_key
from server.store.sender import Sender
from server.store.shards import open_shards

CALL_TIMEOUT_MS: Final = 3_000
CALLS_MAX: Final = 64
"""Calls that go alone on one server: those in bulk and those that wait for replicas, which must hold up none of the
others (`sender.py`). The next ones wait for a place, at most PLACE_WAIT_MS."""
PLACE_WAIT_MS: Final = 3_000
CONFIRMATION_KEY_MS: Final = 60_000
CONFIRM_TIMEOUT_MS: Final = 1_000
"""How long a money act waits for the replicas that must have it."""
REDIRECTS_MAX: Final = 8
TRY_AGAIN_MS: Final = 50
Word = str | bytes | int
Answer = list[Any]
Outcome: TypeAlias = "Answer | Refused | None"

_LUA: Final = files("server.store") / "lua"


class Script:
    """One Lua file with the prelude of its family in front; known to the store by its SHA-1.

    `moves_money`: where the operator asks for it, its answer counts only once replicas have it.
    """

    def __init__(self, name: str, prelude: str | None, *, moves_money: bool = False) -> None:
        parts = [prelude, name] if prelude else [name]
        self.name = name
        self.moves_money = moves_money
        self.source = "\n".join((_LUA / f"{part}.lua").read_text() for part in parts)
        self.sha = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


class Driver:
    """The way to one store. Safe to share between tasks; a cancelled call never leaves its reply to another."""

    def __init__(
        self,
        url: str,
        *,
        confirm_replicas: int = 0,
        confirm_timeout_ms: int = CONFIRM_TIMEOUT_MS,
        call_timeout_ms: int = CALL_TIMEOUT_MS,
    ) -> None:
        """Prepare the way to the store at `url` (see `shards.open_shards`); nothing is opened yet.

        With `confirm_replicas` an answer about money counts only once so many replicas have it. Raises ValueError
        where the URL can't be read.
        """
        self._confirm_timeout_ms = confirm_timeout_ms
        self._call_timeout_ms = call_timeout_ms
        self._shards = open_shards(url, call_timeout_ms)
        self._confirm_replicas = confirm_replicas
        self._places: WeakKeyDictionary[Redis, Places] = WeakKeyDictionary()
        self._senders: WeakKeyDictionary[Redis, Sender] = WeakKeyDictionary()
        self._is_known = not url.startswith("redis+cluster")  # who holds what must be asked before the first call
        self._is_stale = False
        self._looking = asyncio.Lock()
        self._clocks: WeakKeyDictionary[Redis, StoreClock] = WeakKeyDictionary()
        self.places_seen = 0
        """Grows whenever a server was lost or named another one: what lay on it may lie elsewhere now."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for sender in list(self._senders.values()):
            await sender.close()
        await self._shards.close()

    @property
    def is_busy(self) -> bool:
        """Whether the calls of newcomers wait for their place with some server."""
        return any(sender.is_busy for sender in self._senders.values())

    async def client_of(self, key: str) -> Redis:
        """Give the client of the server that holds `key` now. Raises `StoreAway`."""
        await self._look_if_stale()
        return self._shards.client_of(key)

    async def _look_if_stale(self) -> None:
        if self._is_known and not self._is_stale:
            return
        async with self._looking:  # the others go on by what was known, if anything was
            if self._is_known and not self._is_stale:
                return
            self._is_stale = False
            try:
                with Translated():
                    await self._shards.refresh()
            except BaseException:
                self._is_stale = True
                raise
            self._is_known = True

    def look_again(self) -> None:
        """Have the next call ask again which server holds what."""
        self._is_stale = True
        self.places_seen += 1

    async def call(self, name: str, key: str, *rest: Word) -> Any:
        """Run one command on the server of its key. Raises `StoreAway` or `StoreRefused`."""
        with self._translated(), Timed(name):
            return await self._send(key, (name, key, *rest))

    async def call_unkeyed(self, key: str, *command: Word) -> Any:
        """Run a command without a key on the server that holds `key`. Raises `StoreAway` or `StoreRefused`."""
        with self._translated():
            return await self._send(key, command)

    async def info(self, key: str, section: str) -> dict[str, Any]:
        """Read a section of INFO from the server that holds `key`. Raises `StoreAway` or `StoreRefused`."""
        found: dict[str, Any] = await self.call_unkeyed(key, "INFO", section)
        return found

    async def infos(self, section: str) -> list[dict[str, Any]]:
        """Read a section of INFO from every server that holds keys. Raises `StoreAway` or `StoreRefused`."""
        return [told async for told in self.each("INFO", section)]

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Word] = ()) -> Answer:
        """Run a script and return its good answer.

        Raises `Fenced`, `OutOfStep` or `Refused` as the script says, `StoreAway`, `Unconfirmed` or `StoreRefused` as
        the store does.
        """
        operands = (len(keys), *keys, *args)
        with self._translated(), Timed(script.name):
            try:
                answer = await self._send(keys[0], ("EVALSHA", script.sha, *operands), confirmed=script.moves_money)
            except NoScriptError:  # a store that was restarted or failed over: nothing has run yet
                answer = await self._send(keys[0], ("EVAL", script.source, *operands), confirmed=script.moves_money)
        self._hear(keys[0], answer)
        return _checked(answer)

    def _hear(self, key: str, answer: Answer) -> None:
        """Set the clock of a key's server by an answer; every script's second word is its time."""
        if len(answer) > 1 and isinstance(answer[1], int):
            client = self._shards.client_of(key)
            self._clocks.setdefault(client, StoreClock()).hear(answer[1])

    def now_ms(self, key: str) -> int | None:
        """Tell the time of the server that holds `key`, as it was heard; None before anything was."""
        try:
            clock = self._clocks.get(self._shards.client_of(key))
        except StoreAway:
            return None
        return clock.now_ms() if clock is not None else None

    def clock_offsets_ms(self) -> dict[str, float]:
        """Compare the servers' clocks with this machine's, by the name of each server."""
        wall_ms = time() * 1000
        return {_name(client): clock.now_ms() - wall_ms for client, clock in list(self._clocks.items())}

    async def each(self, *command: Word) -> AsyncIterator[Any]:
        """Run a command without a key on every server that holds keys. Raises `StoreAway` or `StoreRefused`."""
        with self._translated():
            await self._look_if_stale()
            for client in self._shards.clients():
                yield await self._sender_to(client).send(command)

    async def run_many(self, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[Word]]]) -> list[Outcome]:
        """Run a script that may be repeated for many keys, those of one server in one go; an outcome for each.

        For work in bulk: what one call costs beside its script is shared. Raises what `run` raises, but `Refused` is an
        outcome; some of the calls may have been done then.
        """
        by_client: dict[Redis, list[int]] = {}
        for place, (keys, _) in enumerate(calls):
            by_client.setdefault(await self.client_of(keys[0]), []).append(place)
        found: list[Outcome] = [None] * len(calls)
        for client, places in by_client.items():
            answers = await self._run_on(client, script, [calls[place] for place in places])
            for place, answer in zip(places, answers, strict=True):
                keys, args = calls[place]
                try:  # what the server did not take as it was (a script it did not know, a moved slot) is run by itself
                    found[place] = await self.run(script, keys, args) if answer is None else _checked(answer)
                except Refused as refused:
                    found[place] = refused
        return found

    async def _run_on(
        self, client: Redis, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[Word]]]
    ) -> list[Answer | None]:
        """Send calls to one server in one pipeline; None for each that it answered with an error."""
        replicas = self._confirm_replicas if script.moves_money else 0
        with self._translated():
            async with self._place_on(client), client.pipeline(transaction=False) as pipeline:
                for keys, args in calls:
                    pipeline.execute_command("EVALSHA", script.sha, len(keys), *keys, *args)
                if replicas:  # the written key makes WAIT count for repeats too, as in `_send_alone`
                    pipeline.execute_command("SET", confirmation_key(calls[-1][0][0]), 1, "PX", CONFIRMATION_KEY_MS)
                    pipeline.execute_command("WAIT", replicas, self._confirm_timeout_ms)
                answers = await pipeline.execute(raise_on_error=False)
        if replicas:
            confirmed = answers.pop()
            answers.pop()
            if isinstance(confirmed, Exception) or int(confirmed) < replicas:
                raise Unconfirmed(f"{confirmed} of {replicas} replicas")
        return [None if isinstance(answer, Exception) else answer for answer in answers]

    async def scan(self, pattern: str, count: int) -> AsyncIterator[str]:
        """List the keys that match, on every server; a key may come more than once. Raises `StoreAway`."""
        await self._look_if_stale()
        for client in self._shards.clients():
            cursor, page = -1, []
            while cursor != 0:
                with self._translated():
                    async with self._place_on(client):
                        cursor, page = await client.execute_command(  # type: ignore[no-untyped-call]  # as the library has it
                            "SCAN", max(cursor, 0), "MATCH", pattern, "COUNT", count
                        )
                for key in page:
                    yield key.decode()

    async def _send(self, key: str, command: Sequence[Word], *, confirmed: bool = False) -> Any:
        """Send a command to the server of its key, following redirections; each of them means that nothing was run."""
        asked: AskError | None = None
        for _ in range(REDIRECTS_MAX):
            client = await self.client_of(key) if asked is None else self._shards.client_at(asked.host, asked.port)
            try:
                if asked is None and not (confirmed and self._confirm_replicas):
                    return await self._sender_to(client).send(command)
                return await self._send_alone(client, key, command, is_asking=asked is not None, confirmed=confirmed)
            except (MovedError, ReadOnlyError):
                asked = None
                self.look_again()
                await asyncio.sleep(TRY_AGAIN_MS / 1000)
            except AskError as error:
                asked = error
            except TryAgainError:
                await asyncio.sleep(TRY_AGAIN_MS / 1000)
        raise StoreAway("the key's place is moving")

    def _sender_to(self, client: Redis) -> Sender:
        sender = self._senders.get(client)
        if sender is None:
            sender = self._senders[client] = Sender(client, self._call_timeout_ms)
        return sender

    async def _send_alone(
        self, client: Redis, key: str, command: Sequence[Word], *, is_asking: bool, confirmed: bool
    ) -> Any:
        """Send to one server what must go over one connection together, as one pipeline."""
        replicas = self._confirm_replicas if confirmed else 0
        commands: list[Sequence[Word]] = [command]
        if replicas:  # WAIT counts only writes of its own connection, and a repeat that is answered as done writes none
            commands.append(("SET", confirmation_key(key), 1, "PX", CONFIRMATION_KEY_MS))
        async with self._place_on(client), client.pipeline(transaction=False) as pipeline:
            for each in commands:
                if is_asking:
                    pipeline.execute_command("ASKING")
                pipeline.execute_command(*each)
            if replicas:
                pipeline.execute_command("WAIT", replicas, self._confirm_timeout_ms)
            answers = await pipeline.execute(raise_on_error=False)
        answer = answers[1 if is_asking else 0]
        if isinstance(answer, Exception):
            raise answer
        if replicas and (isinstance(answers[-1], Exception) or int(answers[-1]) < replicas):
            raise Unconfirmed(f"{answers[-1]} of {replicas} replicas")
        return answer

    @asynccontextmanager
    async def _place_on(self, client: Redis) -> AsyncIterator[None]:
        """Wait for a place among the calls under way on one server. Raises `StoreAway`.

        The library has a pool that waits, but it wakes nobody where the waiter that it meant to wake was cancelled.
        """
        places = self._places.setdefault(client, Places(CALLS_MAX, PLACE_WAIT_MS))
        if not await places.take():
            raise StoreAway("too many calls wait for this server")
        try:
            yield
        finally:
            places.leave()

    def _translated(self) -> "Translated":
        """Turn the driver's errors into ours; after a lost server, look again where things are."""
        return Translated(self.look_again)


class Timed:
    """Measure a call of the store, and count it where it fails."""

    __slots__ = ("_started_s", "_verb")

    def __init__(self, verb: str) -> None:
        self._verb = verb

    def __enter__(self) -> None:
        self._started_s = monotonic()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            store_seconds(self._verb).observe(monotonic() - self._started_s)
        elif isinstance(error, Exception):
            STORE_FAILURES.labels(self._verb, type(error).__name__).inc()


def _name(client: Redis) -> str:
    """Name a server without its credentials."""
    told: dict[str, Any] = client.get_connection_kwargs()  # type: ignore[no-untyped-call]
    host, port, path = told.get("host", "primary"), told.get("port", ""), told.get("path")
    return str(path) if path else f"{host}:{port}".rstrip(":")


def _checked(answer: Answer) -> Answer:
    match answer[0]:
        case b"ok":
            return answer
        case b"FENCED":
            raise Fenced
        case b"SEQ" | b"INCARNATION":
            raise OutOfStep(*answer[1:])
        case b"NEWER_SCHEMA":
            raise NewerSchema
        case code:
            raise Refused(code.decode(), tuple(answer[1:]))


class Translated:
    """Turn the driver's errors into ours, and tell `lost` where the store is away.

    It keeps a cancellation that arrives while the driver sends: on Python 3.11 `asyncio.wait_for`, which it uses, drops
    it.
    """

    __slots__ = ("_cancelled_before", "_lost", "_task")

    def __init__(self, lost: Callable[[], None] | None = None) -> None:
        self._lost = lost

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._cancelled_before = self._task.cancelling() if self._task is not None else 0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._task is not None and self._task.cancelling() > self._cancelled_before:
            raise asyncio.CancelledError
        if error is None:
            return
        ours = _ours(error)
        if isinstance(ours or error, StoreAway) and self._lost is not None:
            self._lost()
        if ours is not None:
            raise ours from error


def _ours(error: BaseException) -> StoreError | None:
    """Give our error for one of the driver's."""
    match error:
        case MasterNotFoundError():  # its own sentence shows the insides of the library
            return StoreAway("no Sentinel names a primary of this service")
        case DriverConnectionError() | DriverTimeoutError() | BusyLoadingError() | ClusterDownError() | OSError():
            return StoreAway(str(error))
        case ResponseError():
            return StoreRefused(str(error))
        case RedisError() | RedisClusterException():
            return StoreAway(str(error))
        case _:
            return None
