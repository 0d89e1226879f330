"""The bundled Valkey: a real server process that belongs to one node and keeps its data in one directory.

It guards the directory (never two nodes, never two Valkeys on one append-only file), starts the server with settings
under which an acknowledged write survives `kill -9`, and stops it cleanly.

    async with EmbeddedValkey(Path("data")) as store_url:
        ...                                       # unix:///.../data/valkey.sock, for redis-py

It never imports the driver, which only `server.store` may know: two inline commands need no more than a line over the
socket. Read next: `valkey`, then `directory`.
"""

from server.embedded.errors import DataDirectoryBusy, EmbeddedError, EmbeddedStoreFailed
from server.embedded.valkey import EmbeddedValkey

__all__ = ["DataDirectoryBusy", "EmbeddedError", "EmbeddedStoreFailed", "EmbeddedValkey"]
