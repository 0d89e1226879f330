"""The connection to Redis or Valkey, and how a script is run.

The driver's own retries are off: they would run a script again after a lost reply. A repeat is ours alone, under a
request_id or a seq. Every call has a timeout. The driver's errors are translated here and nowhere else (`errors.py`).
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Any, Final, Self

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    NoScriptError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as DriverConnectionError
from redis.exceptions import TimeoutError as DriverTimeoutError

from server.store.errors import Fenced, OutOfStep, Refused, StoreAway, StoreRefused

CALL_TIMEOUT_MS: Final = 3_000
CONNECT_TIMEOUT_MS: Final = 1_000
CONNECTIONS_MAX: Final = 64
POOL_WAIT_MS: Final = 3_000
Answer = list[Any]

_LUA: Final = files("server.store") / "lua"


class Script:
    """One Lua file with the prelude of its family in front; known to the store by its SHA-1."""

    def __init__(self, name: str, prelude: str | None) -> None:
        parts = [prelude, name] if prelude else [name]
        self.name = name
        self.source = "\n".join((_LUA / f"{part}.lua").read_text() for part in parts)
        self.sha = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


class Driver:
    """A pool of connections to one store. Safe to share between tasks; a cancelled call never leaves its reply to
    another."""

    def __init__(self, url: str, *, call_timeout_ms: int = CALL_TIMEOUT_MS) -> None:
        """Prepare connections to `url` (redis://, rediss:// or unix://); nothing is opened yet.

        Raises ValueError where the URL can't be read.
        """
        self._pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS_MAX,
            timeout=POOL_WAIT_MS / 1000,
            socket_timeout=call_timeout_ms / 1000,
            socket_connect_timeout=CONNECT_TIMEOUT_MS / 1000,
            retry=Retry(NoBackoff(), 0),
            protocol=3,
        )
        self._redis = Redis(connection_pool=self._pool)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        with suppress(RedisError, OSError):  # they are being thrown away
            await self._redis.aclose()
            await self._pool.disconnect()

    async def _execute(self, *command: str | bytes | int) -> Any:
        return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    async def call(self, *command: str | bytes | int) -> Any:
        """Run one command. Raises `StoreAway` or `StoreRefused`."""
        async with translated():
            return await self._execute(*command)

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int] = ()) -> Answer:
        """Run a script and return its good answer.

        Raises `Fenced`, `OutOfStep` or `Refused` as the script says, `StoreAway` or `StoreRefused` as the store does.
        """
        async with translated():
            try:
                answer = await self._execute("EVALSHA", script.sha, len(keys), *keys, *args)
            except NoScriptError:  # a store that was restarted or failed over: nothing has run yet
                answer = await self._execute("EVAL", script.source, len(keys), *keys, *args)
        return _checked(answer)

    def pubsub(self) -> PubSub:
        """Open a subscriber on a connection of its own."""
        return self._redis.pubsub()


def _checked(answer: Answer) -> Answer:
    match answer[0]:
        case b"ok":
            return answer
        case b"FENCED":
            raise Fenced
        case b"SEQ" | b"INCARNATION":
            raise OutOfStep(*answer[1:])
        case code:
            raise Refused(code.decode(), tuple(answer[1:]))


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except (DriverConnectionError, DriverTimeoutError, BusyLoadingError, ClusterDownError, OSError) as error:
        raise StoreAway(str(error)) from error
    except ResponseError as error:
        raise StoreRefused(str(error)) from error
    except RedisError as error:
        raise StoreAway(str(error)) from error
