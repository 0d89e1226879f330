"""Django Channels over its Redis layer, under uvicorn: a consumer in a group, `group_send` to it.

`python -m tests.bench.peers.channels_rooms REDIS_URL`. The layer waits five seconds for a message, which is also the
driver's own limit for an answer: with nothing to send, consumers would end by a timeout, so that limit is raised.
"""

import sys
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from django.conf import settings

from tests.bench.peers.asgi import serve

GROUP = "table"


class Seat(AsyncWebsocketConsumer):  # type: ignore[misc]  # its package is in another environment
    """One connection."""

    async def connect(self) -> None:
        """Take it into the group."""
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.accept()

    async def disconnect(self, code: int) -> None:
        """Take it out."""
        await self.channel_layer.group_discard(GROUP, self.channel_name)

    async def event(self, message: dict[str, Any]) -> None:
        """Pass one event on."""
        await self.send(bytes_data=message["body"])


async def broadcast(event: str) -> None:
    """Send an event to all."""
    await get_channel_layer().group_send(GROUP, {"type": "event", "body": event.encode()})


if __name__ == "__main__":
    host = {"address": sys.argv[1], "socket_timeout": 60}
    layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [host]}}
    settings.configure(CHANNEL_LAYERS={"default": layer})
    serve(Seat.as_asgi(), broadcast)
