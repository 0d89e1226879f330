"""Keeps guest tokens in a file between two runs, so that the same patrons come back with their stacks.

A token is an identity: the file is readable by its owner only, replaced whole and never half, and its content is never
logged. Read next: `demo`.
"""

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

MODE: Final = 0o600
FILE_BYTES_MAX: Final = 2**20
"""A larger file is none of ours and is not read."""


class TokenFile:
    """Tokens by key. With no path they live as long as the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._tokens = {} if path is None else _read(path)

    def __repr__(self) -> str:
        return f"<TokenFile {self._path} tokens={len(self._tokens)}>"

    def get(self, key: str) -> str | None:
        """Return the token that was kept under this key."""
        return self._tokens.get(key)

    def keep(self, key: str, token: str) -> None:
        """Keep a token. Raises OSError where the file cannot be written."""
        if self._tokens.get(key) != token:
            self._tokens[key] = token
            self._write()

    def forget(self, key: str) -> None:
        """Forget a token that the server does not take any more. Raises OSError as `keep` does."""
        if self._tokens.pop(key, None) is not None:
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            json.dump(self._tokens, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(self._path)


def _read(path: Path) -> dict[str, str]:
    """Return what the file holds; nothing where there is none or where it holds something else."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ValueError
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(kept, dict):
            raise ValueError
    except FileNotFoundError:
        return {}
    except ValueError:
        log.warning("tokens_unreadable", extra={"path": str(path)})
        return {}
    return {key: token for key, token in kept.items() if isinstance(token, str)}
