"""A TCP proxy that a test breaks on purpose: it cuts, stalls, swallows answers and turns newcomers away.

It knows bytes, not messages: after `swallow` only a `cut` gives both ends a stream that can be read again.
"""

import asyncio
import socket
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

CHUNK_BYTES = 65_536


class Proxy:
    """Stands between clients and one server, `target_url`. Clients connect to `url`. What the server says may pass at a
    pace, with hardly a buffer on the way."""

    def __init__(self, target_url: str, *, answers_bytes_per_s: int | None = None) -> None:
        target = urlsplit(target_url)
        self._target = (target.hostname or "127.0.0.1", target.port or 80)
        self._answers_bytes_per_s = answers_bytes_per_s
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._pairs: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._is_swallowing = False
        self._is_shut = False
        self.accepted = 0
        self.swallowed_bytes = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        assert self._server is not None, "it is open"
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Cut what is left."""
        assert self._server is not None, "it is open"
        self._server.close()
        self.cut()
        await asyncio.gather(*self._pairs, return_exceptions=True)

    # --- what a test does ---

    def cut(self) -> None:
        """Reset every connection; from then on bytes flow again."""
        for writer in self._writers:
            _reset_on_close(writer)
            writer.transport.abort()
        self._is_swallowing = False
        self._flowing.set()

    def stall(self) -> None:
        """Pass nothing on any more, in either direction, as a network that is gone."""
        self._flowing.clear()

    def swallow(self) -> None:
        """Lose what the server says from now on; what clients say still gets there."""
        self._is_swallowing = True

    def shut(self) -> None:
        """Turn newcomers away."""
        self._is_shut = True

    def open(self) -> None:
        """Let newcomers in again."""
        self._is_shut = False

    # --- inside ---

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_shut:
            writer.transport.abort()
            return
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None, "a connection is served in a task"
        self._pairs.add(task)
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
            self._writers |= {writer, server_writer}
            up = self._pump(reader, server_writer, is_answer=False)
            down = self._pump(server_reader, writer, is_answer=True)
            await asyncio.gather(up, down)
            self._writers -= {writer, server_writer}
        finally:
            self._pairs.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._flowing.wait()
                if is_answer and self._is_swallowing:
                    self.swallowed_bytes += len(chunk)
                    continue
                writer.write(chunk)
                await writer.drain()
                if is_answer and self._answers_bytes_per_s is not None:
                    await asyncio.sleep(len(chunk) / self._answers_bytes_per_s)
        writer.close()


def _reset_on_close(writer: asyncio.StreamWriter) -> None:
    """Have the kernel say goodbye by RST, as a router that forgot the connection."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
