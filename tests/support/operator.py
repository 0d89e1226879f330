"""What an operator types: one `punto-server` command in a process of its own, and how it ended."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

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
