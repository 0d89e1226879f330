"""The task that owns one table: it claims the lease, keeps the table's appointments and commits each step.

What the next step is and what it comes to is `server/table/machine.py`'s; what may be written is decided by the store's
scripts, which refuse an owner that was replaced. A dealer that meets such a refusal, or loses the store, drops what it
believes, claims again and goes on from what the store holds: with the same cards, and paying each bet once.
"""

import asyncio
import logging
import random
from typing import Final

from client_sdk.game.settlement import settle
from client_sdk.game.shoe import Shoe
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import BetLine, Crowd, SeatFreed, SeatWarned, TableRules
from server.cashier import Cashier
from server.clock import StoreClock
from server.hub import Hub
from server.shoes import Shoes
from server.store import bus
from server.store.driver import Driver
from server.store.errors import Fenced, OutOfStep, Refused, StoreError
from server.store.nodes import Nodes
from server.store.records import pack
from server.store.tables import Claimed, Pulse, SettleLine, Tables
from server.table import machine
from server.table.machine import Change, Due
from server.table.phases import Step

log = logging.getLogger(__name__)

LEASE_MS: Final = 1_500
PULSE_MS: Final = 300
"""How often an owner renews its lease and looks whether the seats or sums have changed."""
NEW_SEAT_MS: Final = 2_000
"""Betting does not close early so soon after somebody sat down."""
SETTLE_CHUNK: Final = 250
DEPARTURES_MAX: Final = 100
IDLE_ROUNDS: Final = 60
"""A seat without a bet for so many rounds is freed, one round after a warning."""
RETRY_MS: Final = (100, 600)


class Dealer:
    """Runs one table while this node owns it."""

    def __init__(
        self,
        table: str,
        wanted_rules: TableRules,
        *,
        node: str,
        driver: Driver,
        tables: Tables,
        nodes: Nodes,
        cashier: Cashier,
        hub: Hub,
        shoes: Shoes,
    ) -> None:
        self.table = table
        self._wanted_rules = wanted_rules
        self._node = node
        self._driver = driver
        self._tables = tables
        self._nodes = nodes
        self._cashier = cashier
        self._hub = hub
        self._shoes = shoes
        self._clock = StoreClock()
        self._nudged = asyncio.Event()
        self._told_crowd = -1
        self._claimed: Claimed | None = None

    def __repr__(self) -> str:
        if self._claimed is None:
            return f"<Dealer {self.table} without lease>"
        state, lease = self._claimed.state, self._claimed.lease
        return f"<Dealer {self.table} {state.phase} round={state.round} seq={state.seq} epoch={lease.epoch}>"

    async def run(self) -> None:
        """Own the table, again and again, until cancelled; then give the lease back."""
        try:
            while True:
                try:
                    await self._own()
                except (Fenced, OutOfStep) as error:
                    log.warning("table_lost", extra={"table": self.table, "reason": type(error).__name__})
                except StoreError as error:
                    log.warning(
                        "table_paused", extra={"table": self.table, "reason": f"{type(error).__name__} {error}"}
                    )
                self._claimed = None
                await asyncio.sleep(random.uniform(*RETRY_MS) / 1000)  # noqa: S311 - jitter
        finally:
            self._hub.unfollow(self.table)
            await self._release()

    async def _release(self) -> None:
        if self._claimed is None:
            return
        try:
            await self._tables.release(self.table, self._claimed.lease)
        except StoreError as error:
            log.warning("release_failed", extra={"table": self.table, "reason": str(error)})

    def nudge(self, _why: str) -> None:
        """Look at the table now instead of at the next pulse."""
        self._nudged.set()

    # --- ownership ----------------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        """Claim the table and keep its appointments until it is lost."""
        await self._hub.follow(self.table, self.nudge)
        claimed = await self._claim()
        self._claimed, self._told_crowd = claimed, -1
        self._clock.hear(claimed.now_ms)
        log.info(
            "table_claimed", extra={"table": self.table, "epoch": claimed.lease.epoch, "round": claimed.state.round}
        )
        await self._cashier.carry_all_home(self.table, DEPARTURES_MAX)
        await self._tables.clear_dead_seats(self.table, (await self._nodes.heartbeat(self._node))[1])
        shoe = self._shoes.reopen(claimed.state, claimed.rules) if claimed.state.has_shoe else None
        while True:
            shoe = await self._keep_appointment(shoe)

    async def _claim(self) -> Claimed:
        """Claim, waiting where another node's lease has not ended yet."""
        while True:
            try:
                return await self._tables.claim(self.table, self._node, LEASE_MS)
            except Refused as refused:
                if refused.code != "OWNED":
                    raise
                await asyncio.sleep(random.uniform(*RETRY_MS) / 1000)  # noqa: S311 - jitter

    # --- appointments -------------------------------------------------------------------------------------------------

    async def _keep_appointment(self, shoe: Shoe | None) -> Shoe | None:
        """Wait for the next step's instant, take the step, and return the shoe that is open after it."""
        state, rules = self._now.state, self._now.rules
        due = machine.due(state, rules, shoe)
        pulse = await self._wait_for(due)
        if due is None:
            return await self._open_round(shoe)
        match due.step:
            case Step.CLOSE_BETTING:
                await self._close_betting()
            case Step.BURN_CARDS:
                await self._commit(machine.burn_cards(state, self.table, rules, _open(shoe), self._clock.now_ms()))
            case Step.DEAL_CARD:
                await self._commit(machine.deal_card(state, self.table, rules, _open(shoe), self._clock.now_ms()))
            case Step.DECLARE_OUTCOME:
                await self._commit(machine.declare_outcome(state, self.table, rules, self._clock.now_ms()))
            case Step.FINISH_ROUND:
                return await self._settle_round(shoe)
            case _:
                return await self._between_rounds(shoe, pulse)
        return shoe

    async def _wait_for(self, due: Due | None) -> Pulse | None:
        """Wait until a step is due, keeping the lease alive; a table that waits for seats or early readiness is
        watched."""
        pulse = None
        while True:
            self._nudged.clear()
            wait_ms = PULSE_MS if due is None else min(due.at_ms - self._clock.now_ms(), PULSE_MS)
            if due is not None and wait_ms <= 0:
                return pulse
            if due is None or due.step in (Step.CLOSE_BETTING, Step.OPEN_BETTING):
                pulse = await self._pulse()
                if due is None and pulse.seated:
                    return pulse
                if due is not None and due.step is Step.CLOSE_BETTING and self._may_close_early(pulse):
                    return pulse
            try:
                async with asyncio.timeout(max(wait_ms, 1) / 1000):
                    await self._nudged.wait()
            except TimeoutError:
                pass

    def _may_close_early(self, pulse: Pulse) -> bool:
        return pulse.all_ready and self._clock.now_ms() >= pulse.last_join_at_ms + NEW_SEAT_MS

    async def _pulse(self) -> Pulse:
        pulse = await self._tables.renew(self.table, self._now.lease)
        self._clock.hear(pulse.now_ms)
        if pulse.touched != self._told_crowd:
            self._told_crowd = pulse.touched
            view = (await self._tables.view(self.table)).view
            crowd = Crowd(table=self.table, round=view.round, crowd=view.crowd)
            await bus.publish(self._driver, self.table, "crowd", pack(crowd))
        return pulse

    @property
    def _now(self) -> Claimed:
        assert self._claimed is not None, "only an owner keeps appointments"
        return self._claimed

    async def _commit(self, change: Change) -> None:
        now_ms = await self._tables.commit(self.table, self._now.lease, change)
        self._clock.hear(now_ms)
        self._claimed = self._now._replace(state=change.state)

    # --- a round ------------------------------------------------------------------------------------------------------

    async def _open_round(self, shoe: Shoe | None) -> Shoe:
        """Open betting, on a fresh shoe where none is open, and by changed rules where they were changed."""
        state, rules = self._now.state, self._now.rules
        change, changed_rules = Change(state, ()), None
        if rules != self._wanted_rules and not state.has_shoe:
            changed_rules = rules = self._wanted_rules
            change = change.then(machine.change_rules(change.state, self.table, rules))
        if not state.has_shoe:
            fresh = self._shoes.fresh(state.shoe + 1, rules)
            shoe = fresh.shoe
            started = machine.start_shoe(change.state, self.table, rules, shoe, fresh.secret, fresh.commitment)
            change = change.then(started)
        shoe = _open(shoe)
        change = change.then(machine.open_betting(change.state, self.table, rules, shoe, self._clock.now_ms()))
        now_ms = await self._tables.open_betting(self.table, self._now.lease, change, changed_rules)
        self._clock.hear(now_ms)
        self._claimed = self._now._replace(state=change.state, rules=rules)
        return shoe

    async def _close_betting(self) -> None:
        """Have the store freeze the bets, then tell everybody; too early means going on waiting."""
        state = self._now.state
        try:
            frozen = await self._tables.freeze_bets(self.table, self._now.lease, state.round, NEW_SEAT_MS)
        except Refused as refused:
            if refused.code != "TOO_EARLY":
                raise
            self._clock.hear(_number(refused.details[0]))
            return
        self._clock.hear(frozen.now_ms)
        await self._commit(
            machine.close_betting(state, self.table, frozen.closed_at_ms, frozen.early, frozen.totals, frozen.bettors)
        )

    async def _settle_round(self, shoe: Shoe | None) -> Shoe | None:
        """Pay every bet once, in bounded chunks, then finish the round."""
        state, rules = self._now.state, self._now.rules
        lines: list[SettleLine] = []
        async for patron, bets in self._tables.open_bets(self.table):
            lines.append(self._settlement_of(patron, bets))
        for start in range(0, len(lines), SETTLE_CHUNK):
            chunk = lines[start : start + SETTLE_CHUNK]
            await self._tables.settle(self.table, self._now.lease, state.round, chunk)
        paid, settled = await self._tables.settled_sums(self.table)
        change = machine.finish_round(state, self.table, rules, self._clock.now_ms(), paid, settled)
        await self._commit(change)
        return shoe if change.state.has_shoe else None

    def _settlement_of(self, patron: str, bets: dict[Spot, int]) -> SettleLine:
        state, rules = self._now.state, self._now.rules
        assert state.outcome is not None, "only a decided round is settled"
        results = settle(variant_named(rules.variant), bets, state.outcome, rules.win_max)
        record = {
            "round": state.round,
            "outcome": state.outcome,
            "bets": bets,
            "results": {
                spot: BetLine(
                    stake=line.stake,
                    payout=line.payout,
                    commission=line.commission,
                    result=line.result,
                    capped=line.capped,
                )
                for spot, line in results.items()
            },
        }
        payout = sum(line.payout for line in results.values())
        return SettleLine(patron, sum(bets.values()), payout, pack(record))

    async def _between_rounds(self, shoe: Shoe | None, pulse: Pulse | None) -> Shoe | None:
        """Let leavers go; then open the next round, or fall idle where nobody is left."""
        await self._see_off()
        if (await self._pulse()).seated == 0:
            await self._commit(machine.fall_idle(self._now.state, self.table))
            return shoe
        return await self._open_round(shoe)

    async def _see_off(self) -> None:
        """Free the seats of those who left, are away for too long or never bet, and send their chips home."""
        told: list[tuple[str, object]] = []
        rules = self._now.rules
        for patron, reason in await self._tables.departures(self.table, rules.grace_ms, IDLE_ROUNDS, DEPARTURES_MAX):
            if reason == "warn":
                told.append((patron, SeatWarned(table=self.table, rounds_left=1)))
                continue
            try:
                wallet = await self._cashier.get_up(self.table, patron)
            except Refused as refused:
                log.warning("seat_not_freed", extra={"table": self.table, "patron": patron, "reason": refused.code})
                continue
            log.info("seat_freed", extra={"table": self.table, "patron": patron, "reason": reason})
            told.append((patron, SeatFreed(table=self.table, reason=reason, wallet=wallet)))
        if told:
            await bus.publish(self._driver, self.table, "private", pack(told))


def _open(shoe: Shoe | None) -> Shoe:
    assert shoe is not None, "cards come from an open shoe"
    return shoe


def _number(value: object) -> int:
    assert isinstance(value, int), "the script answers with numbers"
    return value
