"""What makes a bot a difficult guest: it cuts its connection, or leaves unread what comes, at moments of chance.

Everything that it is told is checked as at any other seat. Read next: `bot`.
"""

import asyncio
from random import Random
from typing import Final

from client_sdk.bots.report import Tally
from client_sdk.client import Client

DROP_EVERY_S: Final = 15.0
"""Between two cuts of one bot, on average."""
READ_NOTHING_EVERY_S: Final = 15.0
READ_NOTHING_MS: Final = (1_000, 4_000)
"""How long a slow reader leaves everything unread, at least and at most."""


async def keep_dropping(client: Client, rng: Random, tally: Tally) -> None:
    """Cut the connection now and then, until cancelled."""
    while True:
        await asyncio.sleep(rng.uniform(0.2, 1.8) * DROP_EVERY_S)
        if client.is_connected:
            tally.drops += 1
            client.drop()


async def keep_reading_slowly(client: Client, rng: Random, tally: Tally) -> None:
    """Leave everything unread now and then, until cancelled."""
    while True:
        await asyncio.sleep(rng.uniform(0.2, 1.8) * READ_NOTHING_EVERY_S)
        tally.pauses += 1
        await client.read_nothing(rng.uniform(*READ_NOTHING_MS))
