"""`punto-server` that asks the store as the library offers it, one call for each act, for comparison: `python -m
tests.bench.single_call_node serve ...`.

Everything else is the product's own command line. Calls may wait long for their place, as thousands do in a burst.
"""

import asyncio
import sys
import weakref
from typing import Any

from redis.asyncio import Redis

from client_sdk.protocol.messages import Act
from server import node
from server.batcher import Asker, Batcher
from server.cli import main
from server.store import driver
from server.store.sender import Command
from server.store.tables import ActLine


class SingleCalls(Batcher):
    """The acts of one table, each in a queue of its own."""

    def submit(self, line: ActLine, act: Act, asker: Asker) -> None:
        """Send an act by itself."""
        Batcher(self._table, self._tables, self._obtain).submit(line, act, asker)


class LibraryCalls:
    """The way of commands to one server by the library's own pool and command method."""

    is_busy = False

    def __init__(self, client: Redis, _: int) -> None:
        self._client = weakref.ref(client)
        self._places = asyncio.Semaphore(driver.CALLS_MAX)

    async def send(self, command: Command) -> Any:
        """Send a command and give its answer."""
        async with self._places:
            client = self._client()
            assert client is not None, "whoever calls holds on to it"
            return await client.execute_command(*command)

    async def close(self) -> None:
        """Nothing is left open: the library's pool is closed by its owner."""


setattr(node, "Batcher", SingleCalls)  # noqa: B010 - a replaced import, which mypy would refuse
setattr(driver, "Sender", LibraryCalls)  # noqa: B010 - another replaced import

if __name__ == "__main__":
    sys.exit(main())
