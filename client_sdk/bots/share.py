"""One process's share of a fleet: it plays, and tells the process that started it how it goes.

Everything goes over one pipe: counts and sightings upwards, `STOP` downwards. Where the other end is gone the share
ends too. Read next: `fleet`, and `processes` for the other end.
"""

import asyncio
import contextlib
import pickle
import signal
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final

from client_sdk.bots.fleet import Fleet, NoRoom
from client_sdk.bots.orders import Orders
from client_sdk.bots.report import Tally
from client_sdk.bots.sightings import Sighting
from client_sdk.bots.timeline import Timeline
from client_sdk.exceptions import PuntoError

TELL_S: Final = 1.0
STOP: Final = b"stop"


@dataclass(frozen=True, slots=True)
class Told:
    """How far a share is. The timelines, which are large, come with the last one only."""

    tally: Tally
    sightings: list[Sighting]
    is_last: bool


def run_share(orders: Orders, began_s: float, pipe: Connection) -> None:
    """Play one share until it is done, `STOP` comes or nobody is at the other end of the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches every process: the first one tells the others
    asyncio.run(_play(Fleet(orders, began_s), pipe))


async def _play(fleet: Fleet, pipe: Connection) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def heed() -> None:
        loop.remove_reader(pipe.fileno())  # the word comes once, and the end of the pipe would come for ever
        stop.set()

    loop.add_reader(pipe.fileno(), heed)
    is_over = asyncio.Event()
    telling = asyncio.create_task(_keep_telling(fleet, pipe, is_over), name="punto-telling")
    try:
        await fleet.run(stop)
    except (PuntoError, NoRoom) as error:
        fleet.tally.failures.append(f"process {fleet.orders.share + 1}: {error}")
    finally:
        is_over.set()
        await telling  # never cancelled: a thread that writes goes on, and the last word would be written into it
    with contextlib.suppress(BrokenPipeError):
        await _tell(fleet, pipe, is_last=True)


async def _keep_telling(fleet: Fleet, pipe: Connection, is_over: asyncio.Event) -> None:
    while not is_over.is_set():
        try:
            async with asyncio.timeout(TELL_S):
                await is_over.wait()
        except TimeoutError:
            fleet.refresh()
            with contextlib.suppress(BrokenPipeError):  # `heed` ends the share
                await _tell(fleet, pipe, is_last=False)


async def _tell(fleet: Fleet, pipe: Connection, *, is_last: bool) -> None:
    """Write it in a thread: a reader that is busy must hold up no seat."""
    tally = fleet.tally if is_last else replace(fleet.tally, ack_timeline=Timeline(), skew_timeline=Timeline())
    seen, fleet.sightings = fleet.sightings, []
    packed = pickle.dumps(Told(tally, seen, is_last))
    await asyncio.to_thread(pipe.send_bytes, packed)
