"""Tells a house that lies from a store that has forgotten: after a loss the table gets another incarnation.

An answer may come from a store that was set back some moments before anybody is told so. Whoever finds by it that
something told before does not hold waits that long for the news.
"""

import asyncio
from typing import Final, Protocol

from client_sdk.exceptions import PuntoError
from client_sdk.inbox import Inbox
from client_sdk.mirror import TableMirror

FORGOTTEN_MS: Final = 3_000
"""News that the store has forgotten what it had told may come so long after an answer that does not fit."""


class Followed(Protocol):
    """A table that is followed."""

    @property
    def mirror(self) -> TableMirror:
        """What the server last said."""

    def subscribe(self) -> Inbox:
        """Open one more reader."""

    def unsubscribe(self, inbox: Inbox) -> None:
        """End it."""


async def is_forgotten(table: Followed, incarnation: str) -> bool:
    """Whether the table gets another incarnation than this: its store lost what it had told, perhaps this moment."""
    news = table.subscribe()
    try:
        async with asyncio.timeout(FORGOTTEN_MS / 1000):
            while table.mirror.incarnation == incarnation:
                await anext(news)
    except (TimeoutError, StopAsyncIteration, PuntoError):
        pass
    finally:
        table.unsubscribe(news)
    return table.mirror.incarnation != incarnation
