"""Many seats at one table, that bet in every round: raw clients, for who looks at the page beside them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.raw_client import CallRefused, RawClient

BUY_IN, CHIP = 100_000, 100
AT_A_TIME = 20
LATE = ("BETTING_CLOSED", "ROUND_OVER")


@asynccontextmanager
async def crowd(url: str, table: str, seats: int) -> AsyncIterator[None]:
    """Seat so many, and have each lay a chip in every round until the block ends."""
    entrance = asyncio.Semaphore(AT_A_TIME)
    clients = await asyncio.gather(*(_sit_down(entrance, url, table, number) for number in range(seats)))
    is_over = asyncio.Event()
    bettors = [asyncio.create_task(_bet(client, table, is_over)) for client in clients]
    try:
        yield
    finally:
        is_over.set()
        await asyncio.gather(*bettors)
        await asyncio.gather(*(client.drop() for client in clients))


async def _sit_down(entrance: asyncio.Semaphore, url: str, table: str, number: int) -> RawClient:
    async with entrance:
        client = await RawClient.arrive(url, f"Seat {number}")
        await client.join(table, BUY_IN)
        return client


async def _bet(client: RawClient, table: str, is_over: asyncio.Event) -> None:
    """Ends with its round: a cancelled call may have its answer already, and would go on."""
    while not is_over.is_set():
        await client.betting(table, timeout=120)
        try:
            await client.place(table, "player", CHIP)
        except CallRefused as refused:
            if refused.name not in LATE:
                raise
