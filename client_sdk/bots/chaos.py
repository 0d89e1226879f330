"""The workers of a `punto-server` on this machine: which may be killed, and the killing of one.

Nothing is killed but what was given: processes titled `punto-server: worker N`, children of the one supervisor whose
id the operator named, of this user. Each is looked at again while a handle on it is held, and killed through that
handle, so that a number that was given to another process meanwhile is never hit. The supervisor starts the worker
again. Linux only. Read next: `killing`, which says when.
"""

import ipaddress
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

EVERY_S: Final = 10
"""Between two kills, on average, unless told otherwise."""
WORKERS_MIN: Final = 2
_TITLE: Final = re.compile(r"punto-server: worker \d+")


class NothingToKill(Exception):
    """What was named is no supervisor of workers that may be killed. The sentence says why."""


@dataclass(frozen=True, slots=True)
class Chaos:
    """Whose workers are killed, and how often on average."""

    supervisor: int
    every_s: int = EVERY_S


def check_chaos(chaos: Chaos, url: str) -> None:
    """Refuse what must not be killed. Raises NothingToKill."""
    if sys.platform != "linux":
        raise NothingToKill("--chaos needs Linux")
    host = urlsplit(url).hostname or ""
    if host != "localhost" and not _is_loopback(host):
        raise NothingToKill(f"--chaos is for a server on this machine, and {host} is another one")
    if len(workers_of(chaos.supervisor)) < WORKERS_MIN:
        raise NothingToKill(
            f"process {chaos.supervisor} is no punto-server of ours with {WORKERS_MIN} workers or more (--workers N)"
        )


def workers_of(supervisor: int) -> dict[int, str]:
    """Return the workers of a supervisor by process id, each with its title."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (title := _worker_title(int(entry.name), supervisor)) is not None:
            found[int(entry.name)] = title
    return dict(sorted(found.items()))


def kill_worker(pid: int, supervisor: int) -> bool:
    """Kill a worker. False where it is gone, or is none any more."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if _worker_title(pid, supervisor) is None:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _worker_title(pid: int, supervisor: int) -> str | None:
    """Return a worker's title; None where the process is gone, is no worker, another's child or another user's."""
    place = Path(f"/proc/{pid}")
    try:
        parent = int(place.joinpath("stat").read_text().rpartition(")")[2].split()[1])
        title = place.joinpath("cmdline").read_bytes().rstrip(b"\0 ").decode(errors="replace")
        is_ours = place.stat().st_uid == os.getuid()
    except (OSError, IndexError, ValueError):
        return None
    return title if parent == supervisor and is_ours and _TITLE.fullmatch(title) else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
