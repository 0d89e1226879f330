"""One bot: a patron that sits at one table, bets by a strategy and has everything checked that it sees.

It reads the events as they come; `bettor` lays the bets meanwhile, `chair` moves its chips, and what is right is
decided by `seat`. Read next: `fleet`, which runs many.
"""

import asyncio
import math
import time
from collections.abc import Coroutine, Mapping, Sequence
from random import Random
from typing import Any, Final

import client_sdk
from client_sdk.bots.bettor import Bettor
from client_sdk.bots.chair import Chair, leave_at_once
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.habits import keep_dropping, keep_reading_slowly
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.seat import NO_SEAT, Seat
from client_sdk.bots.witness import Witness
from client_sdk.client import Client
from client_sdk.exceptions import Disconnected, Refused, TimedOut, UnknownShoe
from client_sdk.forgotten import is_forgotten
from client_sdk.known import KnownEvents
from client_sdk.protocol.messages import (
    AnyEvent,
    BettingClosed,
    BettingOpened,
    Crowd,
    Results,
    RoundSettled,
    SeatFreed,
    SeatTakenOver,
    SeatWarned,
    ShoeEnded,
    Snapshot,
    TableSummary,
)
from client_sdk.settings import Settings
from client_sdk.table import Table

SETTINGS: Final = Settings(verifies=False, cuts=False)
"""A bot reports what does not fit instead of ending by it, once for each table, and cuts when it begins to bet."""


class Bot:
    """A bot from its first connection to its last. `progress` says where it is, for whoever waits for it."""

    def __init__(
        self, plan: Plan, tally: Tally, rng: Random, settings: Settings = SETTINGS, known: KnownEvents | None = None
    ) -> None:
        self.plan = plan
        self._settings = settings
        self._known = known
        self.client: Client | None = None
        self.rounds_done = 0
        self._tally = tally
        self._rng = rng
        self._table: Table | None = None
        self._settled_before = 0
        self._gaps = 0

    @property
    def reconnects(self) -> int:
        """How often it was away and is back."""
        return 0 if self.client is None else self.client.reconnects

    @property
    def _steady_since_ms(self) -> float:
        """Since when what it gets comes without delay of its own making: what it missed before is told late."""
        if self.plan.reads_slowly or self.client is None:
            return math.inf
        return self.client.connected_since_ms

    @property
    def progress(self) -> str:
        """Say how far it came."""
        where = repr(self._table) if self._table is not None else "not at a table"
        return f"{self.plan.name}: {self.rounds_done} of {self.plan.rounds} rounds, {where}"

    async def run(
        self, tables: Sequence[TableSummary], witnesses: Mapping[str, Witness], ramp: asyncio.Semaphore
    ) -> None:
        """Sit down at the first of these tables that has a seat, play the rounds, get up.

        `ramp` is held from the first attempt to connect until it sits. Raises PuntoError, in a group where several
        things failed at once.
        """
        plan = self.plan
        await asyncio.sleep(plan.comes_ms / 1000)
        await ramp.acquire()
        is_held = True
        try:
            async with client_sdk.connect(
                plan.url, name=plan.name, codec=plan.codec, bot=True, settings=self._settings, known=self._known
            ) as client:
                self.client = client
                chair = Chair(client, plan, self._tally)
                self._table = table = await chair.sit_down(tables)
                ramp.release()
                is_held = False
                witness = witnesses[table.id]
                await self._stay(table, Seat(plan.name, witness, table.mirror.view), chair, witness)
        finally:
            if is_held:
                ramp.release()

    async def _stay(self, table: Table, seat: Seat, chair: Chair, witness: Witness) -> None:
        tally = self._tally
        tally.seats += 1
        tally.add(seat.found_on_entry)
        try:
            await self._play(table, seat, chair, witness)
            await chair.get_up(table, seat)
            tally.finished += 1
        except asyncio.CancelledError:
            await leave_at_once(table)
            raise
        finally:
            tally.seats -= 1
            tally.add(seat.left())
            tally.lost_acks += seat.ledger.acks_lost
            tally.bets += seat.ledger.bets_settled

    async def _play(self, table: Table, seat: Seat, chair: Chair, witness: Witness) -> None:
        """Read events until the rounds are done, while the bettor bets."""
        bettor = Bettor(self.plan, table, seat, chair, self._tally, self._rng, witness)
        async with asyncio.TaskGroup() as group:
            bets = group.create_task(bettor.keep_betting(), name=f"{self.plan.name} bets")
            others = [group.create_task(work) for work in self._habits(bettor)]
            if table.mirror.phase == "betting":
                bettor.betting_opened()
            try:
                async for event in table:
                    self._take(event, table, seat, chair, bettor)
                    if isinstance(event, ShoeEnded):
                        await self._judge_shoes(table, witness)
                    if self.rounds_done >= self.plan.rounds and not seat.awaits_secret:
                        break
            finally:
                for task in (bets, *others):
                    task.cancel()

    def _habits(self, bettor: Bettor) -> list[Coroutine[Any, Any, None]]:
        """Return what this bot does besides reading and betting."""
        assert self.client is not None, "it sits"
        works = []
        if self.plan.acts_late:
            works.append(bettor.keep_acting_late())
        if self.plan.drops:
            works.append(keep_dropping(self.client, self._rng, self._tally))
        if self.plan.reads_slowly:
            works.append(keep_reading_slowly(self.client, self._rng, self._tally))
        return works

    async def _judge_shoes(self, table: Table, witness: Witness) -> None:
        """Have what was revealed checked by the first bot that hears of it, which asks for the cuts."""
        while (audit := witness.next_ended_shoe()) is not None:
            incarnation = witness.incarnation
            try:
                cuts = await table.list_cuts(audit.number) if audit.needs_cuts else []
            except UnknownShoe:
                cuts = []  # which does not fit the digest
            except (Refused, TimedOut, Disconnected):
                self._tally.unanswered += 1
                continue
            found = witness.judged(audit, cuts)
            if found and (audit.needs_cuts or audit.own_cuts) and await is_forgotten(table, incarnation):
                continue  # the list came from a store that was set back before anybody was told so
            self._tally.add(found)

    def _take(self, event: AnyEvent, table: Table, seat: Seat, chair: Chair, bettor: Bettor) -> None:
        tally = self._tally
        tally.events += 1
        if table.gaps > self._gaps:
            self._gaps = table.gaps
            detail = f"events before {table.mirror.seq} were missing, and had to be asked for"
            tally.add([Mismatch(Kind.SEQ, table.id, table.mirror.round, detail, seat=self.plan.name)])
        match event:
            case Crowd() | SeatWarned():
                pass
            case Results():
                tally.add(seat.results(event))
            case Snapshot():
                tally.add(seat.snapshot(event.snapshot))
                self._count_rounds(seat, chair)
            case SeatFreed():
                seat.is_seated = False
                seat.ledger.rebase(NO_SEAT, seat.ledger.round)
            case SeatTakenOver():
                seat.is_seated = False
                detail = "the seat was taken over, by no connection of ours"
                tally.add([Mismatch(Kind.REFUSED, table.id, table.mirror.round, detail, seat=self.plan.name)])
            case _:
                tally.add(seat.numbered(event, time.monotonic() * 1000, self._steady_since_ms))
                self._follow(event, seat, chair, bettor)

    def _follow(self, event: AnyEvent, seat: Seat, chair: Chair, bettor: Bettor) -> None:
        """Do what the phase asks for."""
        match event:
            case BettingOpened():
                bettor.betting_opened()
            case BettingClosed():
                bettor.betting_closed(event.round)
            case RoundSettled():
                self._count_rounds(seat, chair)
            case _:
                pass

    def _count_rounds(self, seat: Seat, chair: Chair) -> None:
        """Count a round where bets of ours were settled; one just watched only where there is no money to bet with."""
        settled = seat.ledger.rounds_settled - self._settled_before
        self._settled_before = seat.ledger.rounds_settled
        self.rounds_done += settled or chair.is_out_of_money(seat)
