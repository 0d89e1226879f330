"""One inline command to a Valkey over its unix socket: all of the protocol that the embedded store needs."""

import asyncio
from pathlib import Path
from typing import Final

ASK_MS_MAX: Final = 1_000


async def ask(socket_path: Path, words: bytes) -> bytes:
    """Send the words, return the first line of the answer; empty if nobody listens, or hangs up, or answers in time."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(ASK_MS_MAX / 1000):
            reader, writer = await asyncio.open_unix_connection(socket_path)
            writer.write(words + b"\r\n")
            return await reader.readline()
    except (OSError, TimeoutError, ValueError):
        return b""
    finally:
        if writer is not None:
            writer.close()
