"""Lays a bot's bets: whenever betting opens it carries out the strategy's acts, one after the other.

Each answer goes to the seat, which compares it with what the rules foretold; here it is only timed and counted.
Read next: `seat`.
"""

import asyncio
import time
from random import Random
from typing import Final

from client_sdk.bots.acts import Act, Clear, Double, Place, Ready, Rebet, Undo
from client_sdk.bots.chair import Chair
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.ledger import LATE_CODES
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.seat import Seat
from client_sdk.bots.strategies import cheapest_bet
from client_sdk.bots.witness import Witness
from client_sdk.cuts import fresh_cut
from client_sdk.exceptions import Disconnected, Refused, TimedOut
from client_sdk.protocol.messages import Receipt
from client_sdk.shoe_audit import OwnCut
from client_sdk.table import Table

SPREAD_MS_MAX: Final = 1_000
"""Bots begin to bet at different moments: up to this long after the opening, and within a third of the betting time."""
LAST_MS_MIN: Final = 50
LAST_MS_MAX: Final = 1_000
"""Bots that bet in the last second begin so long before the close."""
CUT_CODES: Final = frozenset({"CUTS_CLOSED", "SHOE_OVER", "NOT_SEATED", "TOO_MANY_CUTS"})
"""What a cut may meet that came too late, or from a seat that was freed, or after too many."""
LATE_ACT_SHARE: Final = 0.05
"""How often a busy bot tries a bet just after no more bets, which must be refused."""


class Bettor:
    """The acts of one bot at its table."""

    def __init__(
        self, plan: Plan, table: Table, seat: Seat, chair: Chair, tally: Tally, rng: Random, witness: Witness
    ) -> None:
        self._plan = plan
        self._table = table
        self._seat = seat
        self._chair = chair
        self._tally = tally
        self._rng = rng
        self._witness = witness
        self._opened = asyncio.Event()
        self._closed_round: int | None = None
        self._closed = asyncio.Event()

    def betting_opened(self) -> None:
        """A round takes bets now; a round that is still being bet on is let go."""
        self._opened.set()

    def betting_closed(self, round: int) -> None:
        """No more bets in this round. Now and then one is tried all the same."""
        if self._plan.acts_late and self._rng.random() < LATE_ACT_SHARE:
            self._closed_round = round
            self._closed.set()

    async def keep_betting(self) -> None:
        """Bet in every round, until cancelled."""
        while True:
            await self._opened.wait()
            self._opened.clear()
            await asyncio.sleep(self._pause_ms() / 1000)
            await self._cut()
            await self._bet()

    async def keep_acting_late(self) -> None:
        """Try a bet that comes too late by all means, whenever asked to, until cancelled."""
        while True:
            await self._closed.wait()
            self._closed.clear()
            if self._seat.is_seated and self._closed_round is not None:
                await self._act_late(self._closed_round)

    def _pause_ms(self) -> float:
        """Return how long to wait before the bets of a round."""
        betting_ms = self._table.mirror.rules.betting_ms
        if self._plan.bets_last_second and self._table.clock.is_known:
            before_close_ms = self._rng.uniform(LAST_MS_MIN, min(LAST_MS_MAX, betting_ms))
            return max(0.0, self._table.remaining_ms() - before_close_ms)
        return self._rng.random() * min(SPREAD_MS_MAX, betting_ms / 3)

    async def _cut(self) -> None:
        """Put a cut into a fresh shoe."""
        table, tally = self._table, self._tally
        cut, shoe, round = fresh_cut(), table.shoe_to_cut(), table.mirror.round
        if not self._seat.is_seated or shoe is None:
            return
        incarnation = table.mirror.incarnation
        try:
            accepted = await table.cut(cut, shoe=shoe)
        except Refused as refused:
            tally.refusals[refused.name] += 1
            if not refused.retry and refused.name not in CUT_CODES:
                self._find(Kind.REFUSED, round, f"a cut was refused as {refused.name}")
        except (TimedOut, Disconnected):
            tally.unanswered += 1
        else:
            own = OwnCut(accepted.number, (table.patron.encode(), cut))
            self._witness.cut_accepted(incarnation, accepted.shoe, own)

    async def _bet(self) -> None:
        """Carry out the acts for the round that is open, and stop where one went without an answer."""
        seat, ledger = self._seat, self._seat.ledger
        if not seat.is_seated:
            await self._chair.sit_again(self._table, seat)
        round = ledger.round
        if not seat.is_seated or ledger.is_settled(round):
            return
        if not ledger.is_sure:
            await self._chair.ask_what_lies(self._table, seat)
        if ledger.holding.stack < cheapest_bet(seat.house) and not ledger.holding.layout.acts:
            await self._chair.buy_more(self._table, seat)
        for act in self._acts_of(round):
            if ledger.round != round or not ledger.is_sure or not await self._act(act, round):
                return

    def _acts_of(self, round: int) -> list[Act]:
        acts = self._plan.strategy(self._seat.house, self._seat.ledger.holding, round, self._rng)
        if self._plan.presses_ready:
            return [*acts, Ready()]
        return [act for act in acts if not isinstance(act, Ready)]

    async def _act(self, act: Act, round: int) -> bool:
        """Send one act and have the answer compared. False where there was none, or the round is over."""
        seat, tally = self._seat, self._tally
        foreseen = seat.begin(act)
        tally.acts += 1
        began = time.monotonic()
        try:
            receipt = await _send(self._table, act, round)
        except Refused as refused:
            tally.answered(began, time.monotonic())
            tally.refusals[refused.name] += 1
            if refused.retry:
                return False  # "not now" until the call's end: undecided, like no answer
            tally.add(seat.refused(foreseen, refused.name, refused.arrived_at_ms, refused.closed_at_ms))
            return refused.name not in LATE_CODES
        except (TimedOut, Disconnected):
            tally.unanswered += 1
            return False
        tally.answered(began, time.monotonic())
        tally.acks += 1
        tally.add(seat.accepted(foreseen, receipt))
        return True

    async def _act_late(self, round: int) -> None:
        seat, tally, house = self._seat, self._tally, self._seat.house
        tally.acts += 1
        try:
            receipt = await self._table.place(house.variant.spots[0], house.limits.chips[0], round=round)
        except Refused as refused:
            tally.refusals[refused.name] += 1
            tally.add(seat.refused_late(round, refused.name, refused.arrived_at_ms, refused.closed_at_ms))
            if not refused.retry and refused.name not in LATE_CODES:
                self._find(Kind.REFUSED, round, f"an act after the close was refused as {refused.name}")
        except (TimedOut, Disconnected):
            tally.unanswered += 1
        else:
            self._find(Kind.ACCEPTED, round, f"an act after the close was accepted: {receipt}")

    def _find(self, kind: Kind, round: int, detail: str) -> None:
        self._tally.add([Mismatch(kind, self._table.id, round, detail, seat=self._plan.name)])


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
