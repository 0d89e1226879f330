"""What an operator types: one `punto-server` command, in a process of its own or on a thread, and how it ended."""

import asyncio
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from server import command_line

COMMAND_TIMEOUT_S = 30


class Ended(NamedTuple):
    """The end of a command."""

    code: int | None
    out: str
    err: str

    @property
    def told(self) -> dict[str, Any]:
        """What it printed as JSON."""
        found: dict[str, Any] = json.loads(self.out)
        return found


async def punto_server_here(*words: str | int | Path) -> Ended:
    """Run a command to its end on a thread of this process, where a process of its own would add nothing but its start.
    One at a time: what is printed meanwhile is taken for the command's."""
    out, err = io.StringIO(), io.StringIO()

    def run() -> int:
        with redirect_stdout(out), redirect_stderr(err):
            return command_line.run([str(word) for word in words])

    code = await asyncio.wait_for(asyncio.to_thread(run), COMMAND_TIMEOUT_S)
    return Ended(code, out.getvalue(), err.getvalue())


async def punto_server(*words: str | int | Path) -> Ended:
    """Run a command to its end. A mistake is one line, whatever it was."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", *map(str, words)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, err = await asyncio.wait_for(process.communicate(), COMMAND_TIMEOUT_S)
    ended = Ended(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in ended.err, ended
    if ended.code:
        assert ended.err.startswith("punto-server: "), ended
        assert ended.err.count("\n") == 1, ended
    return ended
