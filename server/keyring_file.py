"""The file that holds the operator's keys: one key a line, 64 hex digits, the newest last.

Blank lines and those that begin with # are passed over. The first node of a house makes it in its data directory; every
further one gets a copy. What a line holds is never told, only its number.
"""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from server.keyring import KEY_BYTES, Keyring, fresh_key

log = logging.getLogger(__name__)

FILE_NAME: Final = "seal.key"
KEYS_MAX: Final = 64
_FILE_BYTES_MAX: Final = 64 * 1024


class BadKeyFile(ValueError):
    """A file that holds no keys; the sentence names the file and never what is in it."""


def read_keyring(path: Path) -> Keyring:
    """Read the keys. Raises `BadKeyFile`."""
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
            is_open_to_others = os.fstat(file.fileno()).st_mode & 0o077 != 0
        text = content.decode("ascii")
    except OSError as error:
        raise BadKeyFile(f"--seal-key: {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadKeyFile(f"--seal-key: {path}: not text") from None
    keys = list(_keys(path, text))
    if not 1 <= len(keys) <= KEYS_MAX:
        raise BadKeyFile(f"--seal-key: {path}: holds {len(keys)} keys, not 1 to {KEYS_MAX}")
    if is_open_to_others:
        log.warning("seal_key_open_to_others", extra={"path": str(path)})
    return Keyring(keys)


def add_key(path: Path) -> Keyring:
    """Draw a key and write it behind those that are there, or make the file. Raises `BadKeyFile` and OSError."""
    if not path.exists():
        return make_keyring(path)
    read_keyring(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), "wb") as file:
        _write_key(file)
    return read_keyring(path)


def make_keyring(path: Path) -> Keyring:
    """Make the file, for its owner alone, with one key in it, whole or not at all; of several nodes that do it at one
    time the first one does. Raises `BadKeyFile` and OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, making = tempfile.mkstemp(prefix=".seal-", dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write_key(file)
        with suppress(FileExistsError):
            os.link(making, path)
    finally:
        os.unlink(making)
    return read_keyring(path)


def _write_key(file: BinaryIO) -> None:
    file.write(fresh_key().hex().encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _keys(path: Path, text: str) -> Iterator[bytes]:
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        try:
            key = bytes.fromhex(word)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES or len(word) != 2 * KEY_BYTES:
            raise BadKeyFile(f"--seal-key: {path}: line {number} is no key of {2 * KEY_BYTES} hex digits")
        yield key
