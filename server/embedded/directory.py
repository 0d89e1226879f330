"""The data directory: who may use it, where its socket is, and that nobody writes in it any more.

What lies in it:

    lock            held (flock) by the node for its life; the second node gets `DataDirectoryBusy`
    valkey.lock     held by the Valkey process itself, which inherits it: free means that no Valkey writes here,
                    whatever died in which order (a pid file may be missing, late, or name another process by now)
    valkey.conf     written anew at each start
    valkey.log      (+ .1) what Valkey says
    valkey.sock     its only door; in a deep directory (unix paths are short) `socket` names a private place instead
    appendonlydir/  the data

An orphan, a Valkey whose node is gone, is ended, not adopted: a child can be waited for, a stranger cannot.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import stat
import tempfile
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Final

from server.embedded.errors import DataDirectoryBusy, EmbeddedStoreFailed
from server.embedded.inline import ask

POLL_MS: Final = 10
LOG_BYTES_MAX: Final = 4 * 1024 * 1024
"""Above this the log is set aside as `valkey.log.1` at the next start (the older one is dropped)."""
SOCKET_PATH_BYTES_MAX: Final = 103
"""`sun_path` holds 108 bytes on Linux and 104 on macOS, one of them the final zero."""
SOCKET_NAME: Final = "valkey.sock"
SOCKET_RECORD: Final = "socket"
BINARY_NAME: Final = "valkey-server"

logger = logging.getLogger(__name__)


class DataDirectory:
    """One directory, from `take()` to `release()` this node's alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_path = path / "valkey.log"
        self.config_path = path / "valkey.conf"
        self._node_lock: int | None = None
        self._socket_path: Path | None = None

    @property
    def socket_path(self) -> Path:
        """Where Valkey listens; known while the directory is taken."""
        if self._socket_path is None:
            raise RuntimeError("the data directory has not been taken")
        return self._socket_path

    def take(self) -> None:
        """Make the directory, lock it for this node and choose the socket. Nothing happens if it is ours already.

        Raises `DataDirectoryBusy`, `EmbeddedStoreFailed` or OSError.
        """
        if self._node_lock is not None:
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _open_lock(self.path / "lock")
        if not _try_lock(lock):
            holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
            os.close(lock)
            raise DataDirectoryBusy(self.path, holder)
        self._node_lock = lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._socket_path = self._choose_socket()

    def release(self) -> None:
        """Give it back; only after Valkey is gone. A place outside, if there was one, is removed."""
        path, self._socket_path = self._socket_path, None
        if path is not None and path.parent != self.path:
            with contextlib.suppress(OSError):  # what stays is found again by the next start
                path.unlink(missing_ok=True)
                (path.parent / "of").unlink()
                path.parent.rmdir()
                (self.path / "socket").unlink()
        if self._node_lock is not None:
            os.close(self._node_lock)
            self._node_lock = None

    async def valkey_lock(self, end_ms_max: int) -> int:
        """The lock that Valkey will inherit, as a descriptor; ends an orphan that still holds it.

        The orphan has `end_ms_max` to shut down and as long again to be killed, else `EmbeddedStoreFailed` is raised.
        """
        lock = _open_lock(self.path / "valkey.lock")
        try:
            if _try_lock(lock):
                return lock
            for kill_signal in (SIGTERM, SIGKILL):
                pids = orphans(self.path)
                logger.warning("embedded_store_orphan", extra={"pids": pids, "directory": str(self.path)})
                await ask(self.socket_path, b"SHUTDOWN NOSAVE")  # for one that /proc does not show (container, macOS)
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, kill_signal)
                if await _becomes_free(lock, end_ms_max):
                    return lock
            raise EmbeddedStoreFailed(self.path, "an older Valkey still runs on it and cannot be ended from here")
        except BaseException:
            os.close(lock)
            raise

    def open_log(self) -> int:
        """Valkey's log, for appending; a long one is set aside first."""
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_BYTES_MAX:
            self.log_path.replace(self.path / "valkey.log.1")
        return os.open(self.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def last_log_line(self, offset: int) -> str:
        """What Valkey said last behind that offset; empty if nothing."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(offset, log.seek(0, os.SEEK_END) - 4096))
                lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line), "")

    def _choose_socket(self) -> Path:
        """In the directory if that path is short enough, else in a private place that the file `socket` records."""
        inside = self._inside_socket()
        if inside is not None:
            return inside
        recorded = self._recorded_socket()
        if recorded is not None:
            return recorded
        record, mark = self.path / SOCKET_RECORD, _mark(self.path)
        outside = Path(tempfile.mkdtemp(prefix="punto-")) / SOCKET_NAME
        if len(os.fsencode(outside)) > SOCKET_PATH_BYTES_MAX:
            outside.parent.rmdir()
            raise EmbeddedStoreFailed(self.path, f"paths too long for a socket, here and in {outside.parent.parent}")
        (outside.parent / "of").write_text(mark)
        record.write_bytes(os.fsencode(outside))
        return outside

    def socket_in_use(self) -> Path:
        """Where the Valkey of the node that holds the directory listens; without taking the directory.

        Raises `EmbeddedStoreFailed` where the directory does not tell.
        """
        found = self._inside_socket() or self._recorded_socket()
        if found is None:
            raise EmbeddedStoreFailed(self.path, "in use, but its socket can't be found")
        return found

    def _inside_socket(self) -> Path | None:
        """The socket in the directory, if that path is short enough for one."""
        inside = self.path / SOCKET_NAME
        return inside if len(os.fsencode(inside)) <= SOCKET_PATH_BYTES_MAX else None

    def _recorded_socket(self) -> Path | None:
        """The private place that the directory records, if it is still this directory's."""
        record = self.path / SOCKET_RECORD
        if not record.exists():
            return None
        recorded = Path(os.fsdecode(record.read_bytes()))
        # The mark tells a copied directory from the one that the place was made for, whose Valkey may run.
        if _is_private(recorded.parent) and (recorded.parent / "of").read_text() == _mark(self.path):
            return recorded
        return None


def orphans(directory: Path) -> list[int]:
    """Processes that are Valkey (or a child it forked) and work in this very directory; none without /proc."""
    home = directory.stat()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            program = os.readlink(entry / "exe").removesuffix(" (deleted)")
            if Path(program).name == BINARY_NAME and os.path.samestat((entry / "cwd").stat(), home):
                found.append(int(entry.name))
    return found


def _open_lock(path: Path) -> int:
    """A file to lock; never deleted, because a lock on a deleted file would exclude nobody."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _becomes_free(lock: int, wait_ms_max: int) -> bool:
    now = asyncio.get_running_loop().time
    give_up_at = now() + wait_ms_max / 1000
    while not _try_lock(lock):
        if now() > give_up_at:
            return False
        await asyncio.sleep(POLL_MS / 1000)
    return True


def _mark(directory: Path) -> str:
    """What makes this directory itself: a renamed one keeps it, a copy has another."""
    found = directory.stat()
    return f"{found.st_dev}:{found.st_ino}\n"


def _is_private(directory: Path) -> bool:
    """Whether it is a directory (not a link to one) that only this user can enter."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o077 == 0
