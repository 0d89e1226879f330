"""Who had the processor: how long a process ran, and how long it could have run but had to wait for a core.

Linux only: read from `/proc`. A wait is the machine's and not the node's: a receipt that is late because of it says
nothing of the node.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

FIRST: Final = -15
SECOND: Final = 5
LAST: Final = 19
"""Niceness: each step is a quarter more of the processor for whoever stands higher. Only root may give less than 0."""


class Share(NamedTuple):
    """Of a time: the part in which a process ran, and the part in which it waited for a core."""

    ran: float
    waited: float

    def __str__(self) -> str:
        return f"{self.ran:.0%} {self.waited:.0%}"


class Meter:
    """What some processes have had since the meter was made."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._began_s = monotonic()
        self._before = _ran_and_waited_s(pids)

    def share(self) -> Share:
        """Tell."""
        took_s = monotonic() - self._began_s
        ran_s, waited_s = _ran_and_waited_s(self._pids)
        return Share((ran_s - self._before[0]) / took_s, (waited_s - self._before[1]) / took_s)


def _ran_and_waited_s(pids: Sequence[int]) -> tuple[float, float]:
    """Sum over all threads; one that has ended meanwhile is passed over."""
    ran_ns = waited_ns = 0
    for thread in [thread for pid in pids for thread in Path(f"/proc/{pid}/task").glob("*/schedstat")]:
        with suppress(OSError):
            ran, waited, _ = thread.read_text().split()
            ran_ns, waited_ns = ran_ns + int(ran), waited_ns + int(waited)
    return ran_ns / 1e9, waited_ns / 1e9


def let_come_first(pids: Sequence[int]) -> None:
    """Give the sessions of these processes the processor before everything else of this machine, where one may."""
    for pid in pids:
        _weigh(pid, FIRST)


def come_behind() -> None:
    """Let those that come first have the processor whenever they want it, and take all that they leave over.

    Where the kernel shares the processor among sessions (autogroup) a process's own niceness counts within its session
    only, so this one, which must lead a session, is weighed with its whole session. Where nothing can be put first,
    this is put last, behind whatever else the machine does.
    """
    if not _weigh(os.getpid(), SECOND):
        os.nice(LAST)
        _weigh(os.getpid(), LAST)


def _weigh(pid: int, nice: int) -> bool:
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))
    except OSError:
        return False
    return True
