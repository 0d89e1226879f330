"""A stranger's line: bare TCP, a handshake by hand, and frames of any kind, faster than a library would send them."""

import asyncio
import base64
import os
from contextlib import suppress
from typing import Final, NamedTuple, Self

import msgpack
from websockets.frames import Frame, Opcode

CONNECT_TIMEOUT_S: Final = 20
HEAD_MAX: Final = 65_536


class Target(NamedTuple):
    """The node under attack."""

    host: str
    port: int


class Line:
    """A TCP connection. `address` is what the proxy before the node says of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, target: Target) -> Self:
        """Connect. Raises OSError."""
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return cls(*await asyncio.open_connection(target.host, target.port, limit=HEAD_MAX))

    @classmethod
    async def shaken(cls, target: Target, address: str) -> Self:
        """Connect and do the handshake. Raises ConnectionError where it is refused."""
        line = await cls.open(target)
        try:
            line.writer.write(handshake(target, address))
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                head = await line.reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            line.cut()
            raise ConnectionError("no handshake") from error
        if not head.startswith(b"HTTP/1.1 101"):
            line.cut()
            raise ConnectionRefusedError(head.split(b"\r\n")[0].decode())
        return line

    def send(self, **message: object) -> None:
        """Send one request."""
        self.writer.write(framed(message))

    async def drained(self) -> None:
        """Wait until the kernel takes more. Raises ConnectionError where the node has closed."""
        await self.writer.drain()
        if self.reader.at_eof() or self.reader.exception() is not None:
            raise ConnectionResetError

    def cut(self) -> None:
        """Be gone."""
        self.writer.transport.abort()

    async def swallow(self) -> None:
        """Read and forget, until the other side ends it."""
        with suppress(OSError):
            while await self.reader.read(HEAD_MAX):
                pass


def handshake(target: Target, address: str) -> bytes:
    """The request of an opening handshake."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET / HTTP/1.1",
        f"Host: {target.host}:{target.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: punto.v1.msgpack",
        f"X-Forwarded-For: {address}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def framed(message: object) -> bytes:
    """One whole frame with a message in it."""
    packed: bytes = msgpack.packb(message)
    return Frame(Opcode.BINARY, packed).serialize(mask=True)
