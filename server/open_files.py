"""How many sockets this process can have: the limit of open files, raised as far as the system lets it."""

import logging
import resource
from dataclasses import replace
from typing import Final

from server.settings import DoorLimits
from server.waiting_room import PLACES

log = logging.getLogger(__name__)

RESERVED: Final = 128
"""For the store's connections, logs, the library's own files, and a listening socket that must not be starved."""


def fitted(limits: DoorLimits) -> DoorLimits:
    """Lower the limits on sockets to what the system allows, loudly: a node that runs out of files serves nobody."""
    needed = limits.connections_max + limits.handshakes_max + RESERVED
    wanted = needed + PLACES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        except (OSError, ValueError):
            soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft > needed:
        return limits
    room = max(3, soft - RESERVED)
    handshakes = max(1, min(limits.handshakes_max, room // 4))
    waiting = max(1, min(PLACES, room // 4))
    lowered = replace(limits, connections_max=room - handshakes - waiting, handshakes_max=handshakes)
    log.warning("connections_max_lowered", extra={"connections_max": lowered.connections_max, "open_files": soft})
    return lowered


def places_to_wait(limits: DoorLimits) -> int:
    """Say how many sockets may wait at the door beside those."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(PLACES, soft - RESERVED - limits.connections_max - limits.handshakes_max))
