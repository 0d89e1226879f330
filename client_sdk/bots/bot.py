"""One bot: a patron that sits at one table, bets by a strategy and has everything checked that it sees.

Two tasks: the reader takes events in as they come, the actor lays the bets of the round that was opened last. What is
right is decided by `seat`; this file only waits, asks and counts. Read next: `fleet`, which runs many.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import client_sdk
from client_sdk.bots.acts import Act, Clear, Double, Place, Ready, Rebet, Undo, house_of
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.report import Tally
from client_sdk.bots.seat import NO_SEAT, Seat
from client_sdk.bots.strategies import Strategy, cheapest_bet
from client_sdk.bots.witness import Witness
from client_sdk.client import Client, CodecName
from client_sdk.exceptions import (
    Disconnected,
    InsufficientWallet,
    NotNow,
    NotSeated,
    PuntoError,
    Refused,
    TableFull,
    TimedOut,
)
from client_sdk.protocol.messages import (
    AnyEvent,
    BettingClosed,
    BettingOpened,
    Crowd,
    Receipt,
    Results,
    RoundSettled,
    SeatFreed,
    SeatTakenOver,
    SeatWarned,
    Snapshot,
    TableRules,
    TableSummary,
)
from client_sdk.table import Table

SPREAD_MS_MAX: Final = 1_000
"""Bots begin to bet at different moments: up to this long after the opening, and within a third of the betting time."""
BUY_IN_BETS: Final = 100
"""The stack that a bot sits down with unless told otherwise, in smallest bets."""
LATE_ACT_SHARE: Final = 0.05
"""How often a busy bot tries a bet just after no more bets, which must be refused."""


LEAVE_MS_MAX: Final = 2_000
"""How long a bot that is stopped waits for its seat to be given up."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bot is to do. `buy_in` is in minor units, None for a stack of BUY_IN_BETS smallest bets."""

    name: str
    url: str
    codec: CodecName
    strategy: Strategy
    rounds: int
    buy_in: int | None
    presses_ready: bool
    acts_late: bool


class Bot:
    """A bot from its first connection to its last. `progress` says where it is, for whoever waits for it."""

    def __init__(self, plan: Plan, tally: Tally, rng: Random) -> None:
        self.plan = plan
        self.client: Client | None = None
        self.rounds_done = 0
        self._tally = tally
        self._rng = rng
        self._table: Table | None = None
        self._opened = asyncio.Event()
        self._late: asyncio.Task[None] | None = None
        self._settled_before = 0

    @property
    def progress(self) -> str:
        """Say how far it came."""
        where = repr(self._table) if self._table is not None else "not at a table"
        return f"{self.plan.name}: {self.rounds_done} of {self.plan.rounds} rounds, {where}"

    async def run(
        self, tables: Sequence[TableSummary], witnesses: Mapping[str, Witness], ramp: asyncio.Semaphore
    ) -> None:
        """Sit down at the first of these tables that has a seat, play the rounds, get up.

        `ramp` is held from the first attempt to connect until it sits. Raises PuntoError.
        """
        plan = self.plan
        await ramp.acquire()
        is_held = True
        try:
            async with client_sdk.connect(plan.url, name=plan.name, codec=plan.codec, bot=True) as client:
                self.client = client
                self._table = table = await self._sit_down(client, tables)
                ramp.release()
                is_held = False
                await self._stay(client, table, witnesses[table.id])
        finally:
            if is_held:
                ramp.release()

    async def _stay(self, client: Client, table: Table, witness: Witness) -> None:
        tally, seat = self._tally, Seat(self.plan.name, witness, table.mirror.view)
        tally.seats += 1
        tally.add(seat.found_on_entry)
        try:
            await self._play(table, seat)
            await self._get_up(client, table, seat)
            tally.finished += 1
        except asyncio.CancelledError:
            await _leave_at_once(table)
            raise
        finally:
            tally.seats -= 1
            tally.add(seat.left())
            tally.lost_acks += seat.ledger.acks_lost
            tally.bets += seat.ledger.bets_settled

    # --- seat ---------------------------------------------------------------------------------------------------------

    async def _sit_down(self, client: Client, tables: Sequence[TableSummary]) -> Table:
        refusal: TableFull | None = None
        for summary in tables:
            wallet = client.wallet
            buy_in = self._buy_in_of(summary.rules, wallet)
            try:
                table = await client.join(summary.table, buy_in=buy_in)
            except TableFull as full:
                refusal = full
                continue
            self._check_wallet(client, table, wallet - buy_in)
            if table.mirror.stack != buy_in:
                self._find(Kind.STACK, table, f"sat down with {buy_in}, the stack is {table.mirror.stack}")
            return table
        assert refusal is not None, "a fleet has at least one table"
        raise refusal

    def _buy_in_of(self, rules: TableRules, wallet: int) -> int:
        wanted = self.plan.buy_in
        return min(wallet, BUY_IN_BETS * cheapest_bet(house_of(rules)) if wanted is None else wanted)

    async def _buy_more(self, client: Client, table: Table, seat: Seat) -> None:
        """Fill the stack up from the wallet, if there is anything in it."""
        ledger, wallet = seat.ledger, client.wallet
        before, buy_in = ledger.holding.stack, self._buy_in_of(table.mirror.rules, wallet)
        if not buy_in or not ledger.is_sure:
            return
        ledger.begin_buy_in(buy_in)
        try:
            await client.join(table.id, buy_in=buy_in)
        except InsufficientWallet:
            self._find(Kind.STACK, table, f"a wallet told as {wallet} does not hold {buy_in}")
            ledger.end_buy_in(before)
            return
        except (NotNow, TimedOut, Disconnected):
            self._tally.unanswered += 1
            return
        self._check_wallet(client, table, wallet - buy_in)
        stack = table.mirror.stack
        if stack != before + buy_in:
            self._find(Kind.STACK, table, f"{buy_in} added to {before} made {stack}")
        ledger.end_buy_in(stack)

    async def _sit_again(self, client: Client, table: Table, seat: Seat) -> None:
        """Take a seat again after it was freed, where there is money to play with."""
        if self._is_out_of_money(seat):
            return
        try:
            await client.join(table.id, buy_in=self._buy_in_of(table.mirror.rules, client.wallet))
        except (Refused, TimedOut, Disconnected) as error:
            self._find(Kind.REFUSED, table, f"the seat could not be taken again: {error}")
            return
        you = table.mirror.you
        if you is not None:
            seat.is_seated = True
            seat.ledger.rebase(you, seat.ledger.round)

    async def _get_up(self, client: Client, table: Table, seat: Seat) -> None:
        if not table.is_seated:
            return
        wallet, holding, is_sure = client.wallet, seat.ledger.holding, seat.ledger.is_sure
        try:
            left = await table.leave()
        except (NotSeated, NotNow, TimedOut, Disconnected):
            return  # it was freed meanwhile, or will be after the grace time
        if left.wallet is not None and is_sure and left.wallet != wallet + holding.total:
            detail = f"the wallet is {left.wallet} after {holding.total} came back to {wallet}"
            self._find(Kind.STACK, table, detail)

    def _check_wallet(self, client: Client, table: Table, wanted: int) -> None:
        if client.wallet != wanted:
            self._find(Kind.STACK, table, f"the wallet is {client.wallet}, not {wanted}")

    # --- events -------------------------------------------------------------------------------------------------------

    async def _play(self, table: Table, seat: Seat) -> None:
        """Read events until the rounds are done; the actor bets meanwhile."""
        async with asyncio.TaskGroup() as group:
            actor = group.create_task(self._keep_betting(table, seat), name=f"{self.plan.name} acts")
            if table.mirror.phase == "betting":
                self._opened.set()
            try:
                async for event in table:
                    self._take(event, table, seat)
                    if isinstance(event, BettingClosed) and self._is_to_act_late():
                        self._late = group.create_task(self._act_late(table, seat, event.round))
                    if self.rounds_done >= self.plan.rounds:
                        break
            finally:
                actor.cancel()

    def _take(self, event: AnyEvent, table: Table, seat: Seat) -> None:
        tally = self._tally
        tally.events += 1
        match event:
            case Crowd() | SeatWarned():
                pass
            case Results():
                tally.add(seat.results(event))
            case Snapshot():
                tally.add(seat.snapshot(event.snapshot))
                self._count_rounds(seat)
            case SeatFreed():
                seat.is_seated = False
                seat.ledger.rebase(NO_SEAT, seat.ledger.round)
            case SeatTakenOver():
                seat.is_seated = False
                self._find(Kind.REFUSED, table, "the seat was taken over, by no connection of ours")
            case _:
                tally.add(seat.numbered(event, time.monotonic() * 1000))
                if isinstance(event, BettingOpened):
                    self._opened.set()
                elif isinstance(event, RoundSettled):
                    self._count_rounds(seat)

    def _count_rounds(self, seat: Seat) -> None:
        """Count a round where bets of ours were settled; one just watched only where there is no money to bet with."""
        ledger = seat.ledger
        news = ledger.rounds_settled - self._settled_before
        self._settled_before = ledger.rounds_settled
        self.rounds_done += news if news else self._is_out_of_money(seat)

    def _is_out_of_money(self, seat: Seat) -> bool:
        client = self.client
        assert client is not None, "it sits at a table"
        holding = seat.ledger.holding
        return not holding.layout.acts and holding.stack + client.wallet < cheapest_bet(seat.house)

    # --- acts ---------------------------------------------------------------------------------------------------------

    async def _keep_betting(self, table: Table, seat: Seat) -> None:
        while True:
            await self._opened.wait()
            self._opened.clear()
            spread_ms = min(SPREAD_MS_MAX, table.mirror.rules.betting_ms / 3)
            await asyncio.sleep(self._rng.random() * spread_ms / 1000)
            await self._bet(table, seat)

    async def _bet(self, table: Table, seat: Seat) -> None:
        """Carry out the strategy's acts for the round that is open, and stop where something went without an answer."""
        ledger, client = seat.ledger, self.client
        assert client is not None, "it sits at a table"
        if not seat.is_seated:
            await self._sit_again(client, table, seat)
        round = ledger.round
        if not seat.is_seated or ledger.is_settled(round):
            return
        if ledger.holding.stack < cheapest_bet(seat.house) and not ledger.holding.layout.acts:
            await self._buy_more(client, table, seat)
        acts = self.plan.strategy(seat.house, ledger.holding, round, self._rng)
        if self.plan.presses_ready:
            acts = [*acts, Ready()]
        else:
            acts = [act for act in acts if not isinstance(act, Ready)]
        for act in acts:
            if ledger.round != round or not ledger.is_sure or not await self._act(table, seat, act, round):
                return

    async def _act(self, table: Table, seat: Seat, act: Act, round: int) -> bool:
        """Send one act and compare the answer. False where there was none, or the round is over."""
        tally = self._tally
        foreseen = seat.begin(act)
        tally.acts += 1
        began = time.perf_counter()
        try:
            receipt = await _send(table, act, round)
        except Refused as refused:
            tally.refusals[refused.name] += 1
            tally.ack_ms.add((time.perf_counter() - began) * 1000)
            if refused.retry:
                return False  # "not now" until the call's end: undecided, like no answer
            tally.add(seat.refused(foreseen, refused.name, refused.arrived_at_ms, refused.closed_at_ms))
            return refused.name not in ("BETTING_CLOSED", "ROUND_OVER")
        except (TimedOut, Disconnected):
            tally.unanswered += 1
            return False
        tally.ack_ms.add((time.perf_counter() - began) * 1000)
        tally.acks += 1
        tally.add(seat.accepted(foreseen, receipt))
        return True

    def _is_to_act_late(self) -> bool:
        return self.plan.acts_late and (self._late is None or self._late.done()) and self._rng.random() < LATE_ACT_SHARE

    async def _act_late(self, table: Table, seat: Seat, round: int) -> None:
        """Try a bet that comes too late by all means: the close was told already."""
        chips = seat.house.chips_to_open
        if not seat.is_seated or not chips:
            return
        try:
            receipt = await table.place(seat.house.variant.spots[0], chips[0], round=round)
        except Refused as refused:
            self._tally.refusals[refused.name] += 1
            self._tally.add(seat.refused_late(round, refused.name, refused.arrived_at_ms, refused.closed_at_ms))
            if not refused.retry and refused.name not in ("BETTING_CLOSED", "ROUND_OVER"):
                self._find(Kind.REFUSED, table, f"an act after the close was refused as {refused.name}")
        except (TimedOut, Disconnected):
            self._tally.unanswered += 1
        else:
            self._find(Kind.ACCEPTED, table, f"an act after the close of round {round} was accepted: {receipt}")

    def _find(self, kind: Kind, table: Table, detail: str) -> None:
        self._tally.add([Mismatch(kind, table.id, table.mirror.round, detail, seat=self.plan.name)])


async def _send(table: Table, act: Act, round: int) -> Receipt:
    match act:
        case Place(spot, chip):
            return await table.place(spot, chip, round=round)
        case Undo(spot):
            return await table.undo(spot, round=round)
        case Clear():
            return await table.clear(round=round)
        case Rebet():
            return await table.rebet(round=round)
        case Double():
            return await table.double(round=round)
        case Ready():
            return await table.ready(round=round)


async def _leave_at_once(table: Table) -> None:
    """Give the seat up on the way out; where that takes long the grace time does it."""
    try:
        async with asyncio.timeout(LEAVE_MS_MAX / 1000):
            await table.leave()
    except (PuntoError, TimeoutError):
        pass


def failure_of(bot: Bot, error: BaseException) -> str:
    """Say in a line how a bot ended early."""
    reason = str(error) if isinstance(error, PuntoError) else f"{type(error).__name__}: {error}"
    return f"{bot.progress}: {reason}"
