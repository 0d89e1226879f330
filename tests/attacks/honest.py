"""Honest seats at another table: they bet all the time, each at its own pace, and note how long each receipt took.

In step they would all meet the same moment, and one of fifty milliseconds in a minute would be their p99.
"""

import asyncio
import time
from contextlib import suppress
from random import Random
from typing import Final, Self

from websockets.exceptions import InvalidHandshake

from client_sdk.bots.histogram import Histogram
from tests.support.raw_client import CallRefused, RawClient

TABLE: Final = "punto-banco-1"
PAUSE_S: Final = 0.1
ANSWER_TIMEOUT_S: Final = 20
LATE: Final = frozenset({"BETTING_CLOSED", "ROUND_OVER"})


class Honest:
    """Some seats that bet for the length of a block; `troubles` has what should never have happened to them."""

    def __init__(self, url: str, seats: int) -> None:
        self._url = url
        self._count = seats
        self.latency = Histogram()
        self.troubles: list[str] = []
        self._clients: list[RawClient] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for number in range(self._count):
            client = await RawClient.arrive(self._url, f"Honest {number}")
            await client.join(TABLE, 500_000)
            self._clients.append(client)
        self._tasks = [asyncio.create_task(self._bet(client)) for client in self._clients]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(client.leave_everywhere() for client in self._clients))

    async def measured(self, seconds: float) -> Histogram:
        """Bet for so long, and until there is a receipt at all; tell how long receipts took meanwhile."""
        self.latency = Histogram()
        await asyncio.sleep(seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while not self.latency.total and not self.troubles:
                    await asyncio.sleep(0.02)
        return self.latency

    async def newcomer_ms(self) -> float:
        """How long somebody new takes from nothing to a seat; who is not let in comes again, as a client does."""
        started_s = time.monotonic()
        async with await self._arrived() as client:
            await client.join(TABLE, 100)
            took_ms = (time.monotonic() - started_s) * 1000
            await client.leave_everywhere()
        return took_ms

    async def _arrived(self) -> RawClient:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            while True:
                with suppress(OSError, InvalidHandshake, CallRefused):
                    return await RawClient.arrive(self._url, "New")
                await asyncio.sleep(PAUSE_S)

    async def _bet(self, client: RawClient) -> None:
        chance = Random(client.patron)
        try:
            while True:
                await client.until(lambda: client.phase.get(TABLE) == "betting", timeout=60)
                for verb, fields in (("place", {"spot": "player", "chip": 100}), ("undo", {})):
                    started_s = time.monotonic()
                    with suppress(CallRefused):
                        await self._act(client, verb, **fields)
                        self.latency.add((time.monotonic() - started_s) * 1000)
                    await asyncio.sleep(chance.uniform(0.5, 1.5) * PAUSE_S)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.troubles.append(f"{type(error).__name__}: {error}")
            raise

    async def _act(self, client: RawClient, verb: str, **fields: object) -> None:
        try:
            await client.call(verb, table=TABLE, round=client.round[TABLE], **fields)
        except CallRefused as refused:
            if refused.name not in LATE | {"NOTHING_TO_UNDO", "TOO_MANY_ACTS"}:
                self.troubles.append(refused.name)
            raise
