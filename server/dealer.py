"""The task that owns one table: it claims the lease, keeps the table's appointments and commits each step.

What the next step is and what it comes to is `server/table/machine.py`'s; what may be written is decided by the store's
scripts, which refuse an owner that was replaced. A dealer that meets such a refusal, or loses the store, drops what it
believes, claims again and goes on from what the store holds: with the same cards, and paying each bet once.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from client_sdk.game.proofs import cuts_digest
from client_sdk.game.seals import Seal
from client_sdk.protocol.messages import Crowd, TableRules
from server import metrics
from server.cashier import Cashier
from server.clock import StoreClock
from server.departures import departures, see_off
from server.hub import Hub
from server.jitter import spread_s
from server.keyring import SealKeyMissing
from server.projector import Projector
from server.running import running
from server.sealing import Sealer
from server.settling import settle_bets
from server.shoes import ShoeBroken, Shoes
from server.store import bus, operating
from server.store.driver import Driver
from server.store.errors import Fenced, OutOfStep, Refused, StoreError
from server.store.ledgers import Ledgers
from server.store.nodes import Nodes
from server.store.operating import Operating, Wishes
from server.store.records import pack
from server.store.sender import go_first
from server.store.tables import Claimed, Lease, Pulse, Tables
from server.sweeping import sweep_for_ever
from server.table import machine
from server.table.history import finished_round
from server.table.machine import Change, Due, FrozenCuts
from server.table.open_shoe import OpenShoe
from server.table.phases import Phase, Step

log = logging.getLogger(__name__)

IDLE_PULSE_MS: Final = 2_000
"""An idle table needs no lease: whoever sits down wakes its dealer."""
NEW_SEAT_MS: Final = 2_000
"""Betting does not close early so soon after somebody sat down."""
CLAIM_MS: Final = (60, 140)
RETRY_MS: Final = (100, 400)
OUTAGE_MS_MIN: Final = 500
"""A store that was away for less did not take anybody's betting time."""
LOSS_REPORT_MS: Final = 500
"""After the store was restarted or replaced its tables wait so long: a hub whose seats know more than it says so."""
KEY_RETRY_MS: Final = 2_000
"""A table whose secret this node can't open is looked at again so often: another node may hold the key."""
SECOND_LOOK_MS: Final = 2_000
"""After a node died its seats are looked for again: some may have been too fresh at the first look."""
WATCHED_FOR: Final = frozenset({Step.CLOSE_BETTING, Step.OPEN_BETTING})
"""Until these steps a table is looked at whenever something happens at it."""
LAST_PULSE_MS: Final = 120
"""So long before them it is looked at for the last time, and not at all later than in half of that: the store may be
slow to answer, and the step would wait."""
CROWD_MS_A_SEAT: Final = 2
CROWD_MS_MAX: Final = 2_000
"""The crowd is told at most once a renewal, and less often the larger it is: to tell thousands three times a second
what they bet takes longer than their bets."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What all dealers of a node share. `live` names the nodes alive now, `new_incarnation` draws a fresh name.

    A silent owner is replaced after `lease_ms`; a busy one renews with every commit, a quiet one every `renew_ms`.
    """

    node: str
    driver: Driver
    tables: Tables
    ledgers: Ledgers
    nodes: Nodes
    operating: Operating
    cashier: Cashier
    hub: Hub
    shoes: Shoes
    live: Callable[[], tuple[str, ...]]
    new_incarnation: Callable[[], str]
    lease_ms: int
    renew_ms: int


class Dealer:
    """Runs one table while this node owns it. `wanted_rules` are the house's, None where the table keeps its own."""

    def __init__(self, table: str, wanted_rules: TableRules | None, at: Workplace) -> None:
        self.table = table
        self._wanted_rules = wanted_rules
        self._at = at
        self._tables = at.tables
        self._clock = StoreClock()
        self._sealed = asyncio.Event()
        self._sealer: Sealer  # one for each time that the table is owned
        self._nudged = asyncio.Event()
        self._may_be_void = False
        self._may_be_lost = False
        self._claimed: Claimed | None = None
        self._wishes, self._operated = Wishes(), -1
        self._shoe: OpenShoe | None = None
        self._told_crowd = -1
        self._tell_crowd_at_ms = 0
        self._told_pause = ""
        self._cleared_for: tuple[str, ...] = ()
        self._look_again_at_ms = 0
        self._owned_before: Lease | None = None
        self._places_seen = 0
        self._is_handing_over = False
        self._is_leaving_now = False

    def __repr__(self) -> str:
        if self._claimed is None:
            return f"<Dealer {self.table} without lease>"
        state, lease = self._claimed.state, self._claimed.lease
        return f"<Dealer {self.table} {state.phase} round={state.round} seq={state.seq} epoch={lease.epoch}>"

    @property
    def is_owner(self) -> bool:
        """Whether the table is owned here, as far as is known."""
        return self._claimed is not None

    # --- what others may ask ------------------------------------------------------------------------------------------

    def nudge(self, why: str) -> None:
        """Look at the table now instead of at the next pulse."""
        self._may_be_void = self._may_be_void or why == "void"
        self._may_be_lost = self._may_be_lost or why == "lost"
        self._nudged.set()

    def hand_over(self, *, now: bool = False) -> None:
        """Give the table up between two rounds, or `now` after the step under way."""
        self._is_handing_over = True
        self._is_leaving_now = self._is_leaving_now or now
        self._nudged.set()

    def stay(self) -> None:
        """Take back a `hand_over` that has not happened yet."""
        self._is_handing_over = self._is_leaving_now

    async def run(self) -> None:
        """Own the table, again and again, until it is to be handed over or the task is cancelled."""
        go_first()
        try:
            while not self._may_leave():
                try:
                    await self._own()
                except (Fenced, OutOfStep) as error:
                    metrics.LOST_TABLES.labels(type(error).__name__).inc()
                    log.warning("table_lost", extra={"table": self.table, "reason": type(error).__name__})
                except StoreError as error:
                    metrics.LOST_TABLES.labels(type(error).__name__).inc()
                    self._tell_pause(f"{type(error).__name__} {error}")
                except SealKeyMissing as missing:
                    log.error("seal_key_missing", extra={"table": self.table, "key": missing.key_id})
                    await self._release()
                    await self._sleep(KEY_RETRY_MS)
                else:
                    return
                self._forget()
                await asyncio.sleep(spread_s(*RETRY_MS))
        finally:
            self._at.hub.unfollow(self.table)
            await self._release()

    def _tell_pause(self, reason: str) -> None:
        """Tell once why a table is paused, until it is owned again or the reason is another one."""
        if reason != self._told_pause:
            log.warning("table_paused", extra={"table": self.table, "reason": reason})
        self._told_pause = reason

    # --- ownership ----------------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        """Claim the table and keep its appointments until it is lost, or may be handed over."""
        await self._at.hub.follow(self.table, self.nudge)
        heard_at_ms = self._clock.heard_at_ms
        if not await self._claim():
            return
        claimed = self._now
        # Only where nobody owned the table in between was it the store that was away, and not this node.
        is_own_successor = self._owned_before is not None and claimed.lease.epoch == self._owned_before.epoch + 1
        away_since_ms = heard_at_ms if is_own_successor else None
        if await self._at.nodes.run_id_of(self.table) != claimed.run_id:
            await asyncio.sleep(LOSS_REPORT_MS / 1000)
            if not await self._claim():
                return
            claimed = self._now
        log.info(
            "table_claimed", extra={"table": self.table, "epoch": claimed.lease.epoch, "round": claimed.state.round}
        )
        self._told_crowd, self._cleared_for, self._operated = -1, (), -1
        self._sealer = Sealer(self._at.ledgers, self.table, claimed.state.seal)
        await self._notice_rollback()  # first: nothing may be told in a life of the table that seats know better
        await self._clear_dead_seats()
        await self._reopen_shoe()
        await self._answer_rollback()
        await self._void_if_asked()
        if away_since_ms is not None:
            await self._give_time_back(away_since_ms)
        projector = Projector(self.table, self._now.lease, self._at.ledgers, self._sealed)
        async with running(self._sealer.run(), projector.run(), sweep_for_ever(self.table, self._at.cashier)):
            while not self._may_leave():
                await self._keep_appointment()

    async def _claim(self) -> bool:
        """Claim, waiting where another owner's lease has not ended yet; false where it is not wanted any more."""
        while not self._may_leave():
            self._nudged.clear()
            self._places_seen = self._at.driver.places_seen
            try:
                self._claimed = await self._tables.claim(self.table, self._at.node, self._at.lease_ms)
            except Refused as refused:
                if refused.code != "OWNED":
                    raise
                await self._sleep(1_000 * spread_s(*CLAIM_MS))
                continue
            self._clock.hear(self._now.now_ms)
            self._told_pause = ""
            metrics.CLAIMS.labels("taken_over" if self._now.was_silent else "given").inc()
            return True
        return False

    async def _release(self) -> None:
        if self._claimed is None:
            return
        try:
            await self._tables.release(self.table, self._claimed.lease)
        except StoreError as error:
            log.warning("release_failed", extra={"table": self.table, "reason": f"{type(error).__name__} {error}"})
        self._forget()

    def _forget(self) -> None:
        """Believe no longer that the table is owned here."""
        if self._claimed is not None:
            self._owned_before, self._claimed = self._claimed.lease, None

    def _may_leave(self) -> bool:
        """Whether the table may be given up at this point."""
        if self._is_leaving_now or not self._is_handing_over or self._claimed is None:
            return self._is_leaving_now or self._is_handing_over
        state = self._claimed.state
        return state.is_settled and state.phase not in (Phase.BETTING, Phase.DEALING)

    async def _give_time_back(self, away_since_ms: int) -> None:
        """Move the deadline by the time for which the store has been away, if it had not passed before."""
        state = self._now.state
        closes_at_ms, away_ms = state.closes_at_ms or 0, (self._clock.heard_at_ms or 0) - away_since_ms
        if state.phase is Phase.BETTING and away_ms > OUTAGE_MS_MIN and closes_at_ms > away_since_ms:
            log.warning("betting_extended", extra={"table": self.table, "round": state.round, "away_ms": away_ms})
            await self._commit(machine.extend_betting(state, self.table, closes_at_ms + away_ms))

    async def _reopen_shoe(self) -> None:
        """Make the open shoe again, and look whether it is the one that was told. One that can't be made, or is not,
        ends, and a round in the middle of it does not count. Raises `SealKeyMissing`."""
        state, rules = self._now.state, self._now.rules
        if not state.has_shoe:
            self._shoe = None
            return
        cuts = await self._tables.frozen_cuts(self.table) if state.shoe_cuts else []
        try:
            self._shoe = self._at.shoes.open(self.table, state, rules, cuts)
        except ShoeBroken as broken:
            self._shoe = OpenShoe(broken.secret)
            if not self._now.rollback:  # which says better why
                log.error("shoe_broken", extra={"table": self.table, "shoe": state.shoe, "reason": broken.reason})
                await self._break_shoe(broken.reason)

    async def _notice_rollback(self) -> None:
        """Look whether the table lies in another run of the store than before. Where that one can have forgotten
        writes, or is seen to have (an older copy was put back), seats may know what it does not, and the incarnation
        changes: all start from a snapshot."""
        claimed, nodes = self._now, self._at.nodes
        run_id = await nodes.run_id_of(self.table)
        has_lost = self._at.hub.has_told_after(self.table, claimed.lease.incarnation, claimed.state.seq)
        if claimed.rollback or (run_id == claimed.run_id and not has_lost):
            return
        rollback = has_lost or not (
            await nodes.still_serves(claimed.run_id) or await nodes.keeps_every_write(self.table)
        )
        incarnation = self._at.new_incarnation() if rollback else ""
        self._sealer.forget()
        await self._tables.adopt_store(self.table, claimed.lease, run_id, incarnation, rollback=rollback)
        lease = claimed.lease._replace(incarnation=incarnation or claimed.lease.incarnation)
        self._claimed = claimed._replace(lease=lease, run_id=run_id, rollback=rollback)
        if rollback:
            metrics.ROLLBACKS.inc()
            log.error("store_rolled_back", extra={"table": self.table, "round": claimed.state.round})

    async def _answer_rollback(self) -> None:
        """After a rollback an undecided round is void, and its shoe, of which seats may know more cards, is
        revealed."""
        if self._now.rollback:
            await self._break_shoe("store_rolled_back")
            await self._tables.adopt_store(self.table, self._now.lease, self._now.run_id, "", rollback=False)

    async def _break_shoe(self, reason: str) -> None:
        """End the open shoe now: an undecided round in it is void, a decided one is settled first."""
        state = self._now.state
        if state.phase in (Phase.BETTING, Phase.DEALING):
            await self._void(reason)
        if not self._now.state.is_settled:
            await self._settle_round()
        if self._now.state.has_shoe:
            state, rules = self._now.state, self._now.rules
            await self._commit(machine.break_shoe(state, self.table, rules, reason, self._secret))
        self._shoe = None

    async def _void_if_asked(self) -> None:
        """Void the open round where the operator wants it. A nudge alone proves nothing."""
        self._may_be_void = False
        asked_round, reason = await self._tables.void_asked(self.table)
        state = self._now.state
        if asked_round == state.round and state.phase in (Phase.BETTING, Phase.DEALING):
            await self._void(f"operator: {reason}" if reason else "operator")

    async def _void(self, reason: str) -> None:
        """Let the open round not count; settling then gives every stake back and ends the shoe."""
        change = machine.void_round(self._now.state, self.table, self._clock.now_ms(), reason)
        self._clock.hear(await self._tables.void_round(self.table, self._now.lease, change))
        self._claimed = self._now._replace(state=change.state)
        log.warning("round_voided", extra={"table": self.table, "round": change.state.round, "reason": reason})

    # --- appointments -------------------------------------------------------------------------------------------------

    async def _keep_appointment(self) -> None:
        """Wait for the next step's instant and take the step."""
        await self._look_where_it_lies()
        if self._may_be_void:
            await self._void_if_asked()
        due = machine.due(self._now.state, self._now.rules, self._shoe)
        if not await self._is_time_for(due):
            return
        state, rules, now_ms = self._now.state, self._now.rules, self._clock.now_ms()
        match due.step if due is not None else Step.OPEN_BETTING:
            case Step.CLOSE_BETTING:
                await self._close_betting()
            case Step.SHUFFLE_SHOE:
                await self._shuffle_shoe()
            case Step.BURN_CARDS:
                await self._commit(machine.burn_cards(state, self.table, rules, self._open_shoe, now_ms))
            case Step.DEAL_CARD:
                await self._commit(machine.deal_card(state, self.table, rules, self._open_shoe, now_ms))
            case Step.DECLARE_OUTCOME:
                await self._commit(machine.declare_outcome(state, self.table, rules, self._open_shoe, now_ms))
            case Step.FINISH_ROUND:
                await self._settle_round()
            case _:
                await self._between_rounds()

    async def _look_where_it_lies(self) -> None:
        """Notice that another server holds the table now, even if no call of ours failed over it: it was moved, or a
        replica took over. Raises `OutOfStep` where writes were lost."""
        if self._may_be_lost:  # somebody found out that the store was set back: the claim tells
            self._may_be_lost = False
            raise OutOfStep("writes were lost")
        places_seen = self._at.driver.places_seen
        if places_seen != self._places_seen:
            self._places_seen = places_seen
            await self._notice_rollback()
            await self._answer_rollback()

    async def _is_time_for(self, due: Due | None) -> bool:
        """Wait until a step is due, keeping the lease alive and the crowd told; false where the table may be left
        or has changed first."""
        state = self._now.state
        while not self._may_leave() and self._now.state is state and not (self._may_be_void or self._may_be_lost):
            self._nudged.clear()
            if due is not None and self._left_ms(due) <= 0:
                return True
            if self._is_to_be_looked_at(due):
                pulse = await self._pulse()
                if due is None and not self._may_rest(pulse):
                    return True
                if due is not None and due.step is Step.CLOSE_BETTING and self._may_close_early(pulse):
                    return True
                await self._attend(pulse)
            await self._sleep(self._rest_ms(due))
            if state.phase is Phase.PAUSED:
                return True  # those who leave, or are gone for too long, are seen off meanwhile
        return False

    def _left_ms(self, due: Due) -> int:
        return due.at_ms - self._clock.now_ms()

    def _is_to_be_looked_at(self, due: Due | None) -> bool:
        if due is None or self._left_ms(due) >= self._at.renew_ms:
            return True
        return due.step in WATCHED_FOR and self._left_ms(due) > LAST_PULSE_MS / 2

    def _rest_ms(self, due: Due | None) -> int:
        """Say how long the table can be left alone."""
        if due is None:
            return IDLE_PULSE_MS
        left_ms = self._left_ms(due)
        if due.step in WATCHED_FOR and left_ms > LAST_PULSE_MS:
            left_ms -= LAST_PULSE_MS
        return min(left_ms, self._at.renew_ms)

    def _may_rest(self, pulse: Pulse) -> bool:
        """Say whether a table without a next step stays as it is until something happens."""
        match self._now.state.phase:
            case Phase.PAUSED:
                return self._wishes.mode == operating.PAUSED
            case Phase.CLOSED:
                return self._wishes.mode == operating.CLOSED
            case _:
                return not pulse.seated and self._wishes.mode == operating.OPEN

    async def _sleep(self, wait_ms: float) -> None:
        """Sleep, unless nudged."""
        try:
            async with asyncio.timeout(max(wait_ms, 1) / 1000):
                await self._nudged.wait()
        except TimeoutError:
            pass

    def _may_close_early(self, pulse: Pulse) -> bool:
        return pulse.all_ready and self._clock.now_ms() >= pulse.last_join_at_ms + NEW_SEAT_MS

    async def _pulse(self) -> Pulse:
        """Renew the lease, and heed what the operator wants."""
        sent_at_ms = self._clock.now_ms()
        return await self._heed(await self._tables.renew(self.table, self._now.lease), sent_at_ms)

    async def _heed(self, pulse: Pulse, sent_at_ms: int) -> Pulse:
        """Take in what a renewal, asked for at that instant, has told."""
        self._clock.hear(pulse.now_ms)
        if pulse.is_void_asked:  # and its nudge was lost
            self.nudge("void")
        await self._give_time_back(sent_at_ms)  # a store that stood still answers late, but on its own clock
        if pulse.operated != self._operated:
            self._wishes, self._operated = await self._at.operating.wishes(self.table), pulse.operated
        return pulse

    async def _attend(self, pulse: Pulse) -> None:
        """Do what no step waits for: see to the seats of dead nodes, and tell the crowd what has changed."""
        if self._at.live() != self._cleared_for or 0 < self._look_again_at_ms < pulse.now_ms:
            await self._clear_dead_seats()
        if pulse.touched != self._told_crowd and pulse.now_ms >= self._tell_crowd_at_ms:
            self._told_crowd = pulse.touched
            self._tell_crowd_at_ms = pulse.now_ms + min(pulse.seated * CROWD_MS_A_SEAT, CROWD_MS_MAX)
            view = (await self._tables.view(self.table)).view
            crowd = Crowd(table=self.table, round=view.round, crowd=view.crowd)
            await bus.publish(self._at.driver, self.table, "crowd", pack(crowd))

    async def _clear_dead_seats(self) -> None:
        """Let nobody wait for the seats of dead nodes; look twice after each change of the set of live ones."""
        live = self._at.live()
        self._look_again_at_ms = self._clock.now_ms() + SECOND_LOOK_MS if live != self._cleared_for else 0
        self._cleared_for = live
        await self._tables.clear_dead_seats(self.table, live)

    @property
    def _now(self) -> Claimed:
        assert self._claimed is not None, "only an owner keeps appointments"
        return self._claimed

    @property
    def _open_shoe(self) -> OpenShoe:
        assert self._shoe is not None, "cards come from an open shoe"
        return self._shoe

    @property
    def _secret(self) -> bytes:
        return b"" if self._shoe is None else self._shoe.secret

    async def _commit(self, change: Change) -> None:
        """Write a step; where the operator wants the round void, that is done instead, and a table that is to stay open
        after all stays so."""
        try:
            now_ms = await self._tables.commit(self.table, self._now.lease, change)
        except Refused as refused:
            if refused.code == "VOID_ASKED":
                await self._void_if_asked()
            elif refused.code != "STAYS_OPEN":
                raise
            return
        self._clock.hear(now_ms)
        self._claimed = self._now._replace(state=change.state)

    # --- a round ------------------------------------------------------------------------------------------------------

    async def _between_rounds(self) -> None:
        """Let leavers go; then do what the operator wants, open the next round, or fall idle where nobody is left."""
        at, lease, sent_at_ms = self._at, self._now.lease, self._clock.now_ms()
        leaving, pulse = await asyncio.gather(
            departures(self.table, self._now.rules.grace_ms, at.tables), self._tables.renew(self.table, lease)
        )
        if leaving:
            await see_off(self.table, leaving, at.cashier, at.driver)
            pulse = await self._tables.renew(self.table, lease)
        is_seated, state, wishes = bool((await self._heed(pulse, sent_at_ms)).seated), self._now.state, self._wishes
        match wishes.mode, state.phase:
            case (operating.PAUSED, Phase.PAUSED) | (operating.CLOSED, Phase.CLOSED):
                pass
            case operating.PAUSED, Phase.IDLE | Phase.SETTLING:
                await self._commit(machine.pause(state, self.table, wishes.reason))
            case operating.CLOSED, _ if is_seated:
                await asyncio.sleep(spread_s(*RETRY_MS))  # then the next ones are seen off
            case (operating.CLOSED, _) | (operating.DRAINING, Phase.IDLE | Phase.SETTLING) if not is_seated:
                await self._close_table()
            case _, Phase.PAUSED | Phase.CLOSED:
                await self._commit(machine.resume(state, self.table))
            case _ if is_seated:
                await self._open_round()
            case _, Phase.SETTLING:
                await self._fall_idle()

    async def _fall_idle(self) -> None:
        await self._commit(machine.fall_idle(self._now.state, self.table, await self._seal()))
        self._sealed.set()

    async def _close_table(self) -> None:
        """Close the table, in which nobody sits any more: its ledger sealed, its shoe revealed."""
        if self._now.state.phase is not Phase.IDLE:
            await self._fall_idle()
        if self._now.state.has_shoe:
            state, rules = self._now.state, self._now.rules
            await self._commit(machine.break_shoe(state, self.table, rules, operating.CLOSED, self._secret))
            self._shoe = None
        await self._commit(machine.close(self._now.state, self.table, self._wishes.reason))
        if self._now.state.phase is Phase.CLOSED:
            log.warning("table_closed", extra={"table": self.table, "round": self._now.state.round})

    async def _open_round(self) -> None:
        """Open betting, by changed rules where they were changed, on a fresh shoe where none is open."""
        state, before = self._now.state, self._now.rules
        change, rules = Change(state, ()), self._rules_for(before, has_shoe=state.has_shoe)
        if state.has_shoe and rules.stacked != self._rules_wanted(before).stacked:
            change = change.then(machine.break_shoe(state, self.table, before, "changed", self._secret))
            rules = self._rules_for(before, has_shoe=False)
        if rules != before:
            change = change.then(machine.change_rules(change.state, self.table, before, rules))
        if not change.state.has_shoe:
            fresh = self._at.shoes.fresh(self.table, state.shoe + 1, rules)
            change = change.then(machine.start_shoe(change.state, self.table, rules, fresh))
        change = change.then(machine.open_betting(change.state, self.table, rules, self._clock.now_ms()))
        try:
            now_ms = await self._tables.open_betting(
                self.table, self._now.lease, change, rules if rules != before else None
            )
        except Refused as refused:
            if refused.code != "NOT_OPEN":
                raise
            return
        if change.state.shoe != state.shoe:
            self._shoe = self._at.shoes.open(self.table, change.state, rules, ())
        self._clock.hear(now_ms)
        self._claimed = self._now._replace(state=change.state, rules=rules)

    def _rules_wanted(self, before: TableRules) -> TableRules:
        """The operator's for this table, else the house's, else those that it has."""
        return self._wishes.rules or self._wanted_rules or before

    def _rules_for(self, before: TableRules, *, has_shoe: bool) -> TableRules:
        """The rules of the next round: the house's, but what an open shoe was made by stays until it ends."""
        wanted = self._rules_wanted(before)
        if not has_shoe:
            return wanted
        return replace(wanted, decks=before.decks, cut_card=before.cut_card, stacked=before.stacked)

    async def _close_betting(self) -> None:
        """Have the store freeze the bets, then tell everybody; too early means going on waiting."""
        state = self._now.state
        try:
            frozen = await self._tables.freeze_bets(self.table, self._now.lease, state.round, NEW_SEAT_MS)
        except Refused as refused:
            if refused.code != "TOO_EARLY":
                raise
            self._clock.hear(refused.number(0))
            return
        self._clock.hear(frozen.now_ms)
        cuts = None
        if state.takes_cuts:
            found = await self._tables.frozen_cuts(self.table)
            cuts = FrozenCuts(len(found), cuts_digest(found))
        closed_at_ms, early, bettors, totals = frozen[1:]
        await self._commit(machine.close_betting(state, self.table, closed_at_ms, early, totals, bettors, cuts))
        self._sealer.read_ahead()

    async def _shuffle_shoe(self) -> None:
        """Shuffle by the secret and the frozen cuts, and publish the root before any card."""
        await self._reopen_shoe()
        if self._now.state.phase is Phase.DEALING:  # else the store held something else than was told
            await self._commit(machine.shuffle_shoe(self._now.state, self.table, self._open_shoe))

    async def _settle_round(self) -> None:
        """Pay every bet once, seal the ledger and finish the round; a shoe that is out ends with it."""
        await settle_bets(self._tables, self.table, self._now.lease, self._now.state, self._now.rules)
        (paid, settled), totals, seal = await asyncio.gather(
            self._tables.settled_sums(self.table), self._tables.final_totals(self.table), self._seal()
        )
        state, rules, now_ms = self._now.state, self._now.rules, self._clock.now_ms()
        change = machine.finish_round(state, self.table, rules, now_ms, paid, settled, seal, self._secret)
        finished = finished_round(state, now_ms, totals, settled, paid)
        self._clock.hear(await self._tables.finish_round(self.table, self._now.lease, change, finished))
        self._claimed = self._now._replace(state=change.state)
        self._sealed.set()
        metrics.ROUNDS.labels("void" if state.is_void else "decided").inc()
        if not self._now.state.has_shoe:
            self._shoe = None

    async def _seal(self) -> Seal:
        """Seal what was entered into the ledger since it was sealed last."""
        return await self._sealer.seal(self._now.state.seal)
