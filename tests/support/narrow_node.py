"""`punto-server` with small buffers on the way out, so that a reader is slow after some ten kilobytes: `python -m
tests.support.narrow_node serve ...`.

Everything else is the product's own command line.
"""

import socket
import sys
from typing import Any

from websockets.asyncio.server import Server, serve

from server import gateway
from server.cli import main

OUTBOX_BYTES_MAX = 32 * 1024
KERNEL_BYTES = 8 * 1024


async def _serve_narrow(*args: Any, **how: Any) -> Server:
    server = await serve(*args, **how)
    for listening in server.sockets:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)  # accepted ones inherit it
    return server


setattr(gateway, "serve", _serve_narrow)  # noqa: B010 - replaced names, which mypy would not let change


def arguments() -> list[str]:
    """What the command line says, with a small outbox."""
    return [*sys.argv[1:], "--outbox-bytes-max", str(OUTBOX_BYTES_MAX)]


if __name__ == "__main__":
    sys.exit(main(arguments()))
