"""A fleet over several processes: it starts one for each share and adds up what they tell.

It must never judge a round itself: the shares do, each for its own seats, and `sightings` holds them against each
other. Read next: `share`.
"""

import asyncio
import multiprocessing
import pickle
import time
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Final

from client_sdk.bots.fleet import STOP_MS_MAX, Fleet
from client_sdk.bots.orders import Orders
from client_sdk.bots.report import Tally
from client_sdk.bots.share import STOP, Told, run_share
from client_sdk.bots.sightings import Sightings

END_S_MAX: Final = STOP_MS_MAX / 1000 + 20
"""How long processes that were told to stop may take; then they are killed."""


@dataclass(slots=True)
class _Share:
    number: int
    process: SpawnProcess
    pipe: Connection
    told: Tally = field(default_factory=Tally)
    is_done: bool = False


class Processes:
    """The shares of one run. `tally` is right, as far as they have told, after `refresh`."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self._began_s = time.monotonic()
        self.kills: list[str] = []
        self.tally = self._blank()
        self.tally.patrons = orders.patrons
        self._shares: list[_Share] = []
        self._skew = Tally(began_s=self._began_s)
        self._sightings = Sightings(self._skew.measure)
        self._failures: list[str] = []
        self._ended = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Play until all shares are done or `stop` is set. Raises PuntoError and NoRoom before the start."""
        await Fleet(replace(self.orders, processes=1, droppers=0, slow_readers=0, late_joiners=0)).look_around()
        context = multiprocessing.get_context("spawn")
        for number in range(self.orders.processes):
            ours, theirs = context.Pipe()
            orders = replace(self.orders, share=number)
            process = context.Process(target=run_share, args=(orders, self._began_s, theirs), daemon=True)
            process.start()
            theirs.close()
            share = _Share(number + 1, process, ours)
            self._shares.append(share)
            asyncio.get_running_loop().add_reader(ours.fileno(), self._hear, share)
        stopped = asyncio.create_task(stop.wait())
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({stopped, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            await self._end(ended)
            self._sightings.finish()
            self.refresh()

    def refresh(self) -> None:
        """Add up what the shares have told."""
        self.tally = self._blank()
        for share in self._shares:
            self.tally.take_in(share.told)
        self.tally.patrons = self.orders.patrons
        self.tally.failures += self._failures
        self.tally.skew_ms, self.tally.skew_timeline = self._skew.skew_ms, self._skew.skew_timeline
        self.tally.mismatches += self._skew.mismatches
        self.tally.kinds.update(self._skew.kinds)
        self.tally.details += self._skew.details
        self.tally.seconds = time.monotonic() - self._began_s

    # --- inside -------------------------------------------------------------------------------------------------------

    def _blank(self) -> Tally:
        return Tally(began_s=self._began_s, processes=self.orders.processes, kills=self.kills)

    def _hear(self, share: _Share) -> None:
        """Take what a share tells, or note that it has ended."""
        try:
            told = pickle.loads(share.pipe.recv_bytes())  # noqa: S301 - from a process of our own
        except (EOFError, OSError):
            self._note_end(share)
            return
        assert isinstance(told, Told), "a share tells nothing else"
        share.told = told.tally
        share.is_done = told.is_last
        self._skew.add(self._sightings.take(told.sightings))

    def _note_end(self, share: _Share) -> None:
        asyncio.get_running_loop().remove_reader(share.pipe.fileno())
        share.pipe.close()
        if not share.is_done:
            self._failures.append(f"process {share.number} ended before its bots did")
        if all(other.pipe.closed for other in self._shares):
            self._ended.set()

    async def _end(self, ended: "asyncio.Task[bool]") -> None:
        """Tell all to stop, hear them out, and let none live on."""
        for share in self._shares:
            if not share.pipe.closed:
                try:
                    share.pipe.send_bytes(STOP)
                except OSError:
                    pass  # it has ended
        if self._shares:
            await asyncio.wait({ended}, timeout=END_S_MAX)
        ended.cancel()
        for share in self._shares:
            await asyncio.to_thread(share.process.join, 5)
            if share.process.is_alive():
                share.process.kill()
                await asyncio.to_thread(share.process.join)
