"""Whether a store lets us do what a node must do all the time; asked once at the start, where a refusal can be read.

A user of the store without one of these rights would leave a node that opens its doors and never deals a card. Scripts
and keys need no question: the first sign of life is one.
"""

import asyncio
from typing import Final

import msgpack

from server.store import keys
from server.store.driver import Driver, Translated

ANSWER_TIMEOUT_S: Final = 3.0


async def check_rights(driver: Driver) -> None:
    """Ask the servers who they are, listen on a channel and publish there (which makes other nodes look who lives).

    Raises `StoreRefused` with the store's own sentence, `StoreAway`.
    """
    await driver.infos("server")
    pubsub = (await driver.client_of(keys.NODES_CHANNEL)).pubsub()
    try:
        with Translated():
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await pubsub.ssubscribe(keys.NODES_CHANNEL)
                while (await pubsub.get_message(timeout=ANSWER_TIMEOUT_S)) is None:
                    pass
    finally:
        await pubsub.aclose()  # type: ignore[no-untyped-call]
    await driver.call("SPUBLISH", keys.NODES_CHANNEL, msgpack.packb(("nodes", "", 0, b"")))
