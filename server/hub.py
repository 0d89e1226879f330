"""This node's connections and the tables they follow.

One subscription for all followed tables; the stream is the truth. The hub passes an event on only as the next in line,
and reads from the stream what it missed: on a gap, on silence, after its line to the store broke. It never decides
anything about a game. One table's followers are `feed.py`; one socket is `connection.py`.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import msgpack

from client_sdk.protocol.messages import Results, SeatTakenOver, Snapshot
from server import metrics
from server.audience import Listener
from server.feed import Feed
from server.jitter import jittered_s, spread_s
from server.store import keys
from server.store.bus import Envelope, Subscription
from server.store.driver import Driver
from server.store.errors import StoreError
from server.store.records import TableRow
from server.store.sender import go_first
from server.store.tables import EVENTS_PAGE_MAX, Tables

log = logging.getLogger(__name__)

SILENCE_MS: Final = 3_000
"""A followed table from which nothing was heard for this long is looked at in the stream."""
LAG_PAGES_MAX: Final = 8
"""Missed events are read in so many pages at most; whoever is further behind gets a snapshot."""
DRAIN_CHECK_MS: Final = 100
SNAPSHOTS_AT_ONCE: Final = 16
DRAIN_MS_MAX: Final = 10_000
"""A slow reader that has not drained by then is closed (reconnectable)."""
AWAY_RETRY_MS: Final = 500

Nudge = Callable[[str], None]


class Hub:
    """Local fan-out: from the bus and the streams to sockets."""

    def __init__(
        self,
        driver: Driver,
        tables: Tables,
        close_slow: Callable[[Listener], None],
        look_at_nodes: Callable[[], None],
    ) -> None:
        """`look_at_nodes` is called when a node says that it leaves."""
        self._driver = driver
        self._tables = tables
        self._close_slow = close_slow
        self._look_at_nodes = look_at_nodes
        self._feeds: dict[str, Feed] = {}
        self._opening = asyncio.Lock()
        self._subscription = Subscription(driver)
        self._nudges: dict[str, Nudge] = {}
        self._away: dict[tuple[str, str, str], None] = {}
        self._away_changed = asyncio.Event()
        self._marking_away = asyncio.Lock()
        self._behind_since_s: dict[tuple[str, str], float] = {}

    def __repr__(self) -> str:
        return f"<Hub tables={len(self._feeds)} listeners={sum(len(feed.listeners) for feed in self._feeds.values())}>"

    async def run(self) -> None:
        """Listen, repair and keep slow readers in check until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen_for_ever(), name="hub listens")
            group.create_task(self._watch_silence(), name="hub watches silence")
            group.create_task(self._tend_slow_readers(), name="hub tends slow readers")
            group.create_task(self._mark_away_for_ever(), name="hub marks away")

    # --- followers ----------------------------------------------------------------------------------------------------

    async def follow(self, table: str, nudge: Nudge) -> None:
        """Keep a table's feed open for the dealer that owns it; `nudge` is called when a script asks it to look."""
        self._nudges[table] = nudge
        await self._feed(table)

    def unfollow(self, table: str) -> None:
        """End what `follow` began."""
        self._nudges.pop(table, None)

    def knows(self, table: str) -> bool:
        """Whether there is such a table, as far as was seen here: tables are never taken away."""
        return table in self._feeds

    def has_told_after(self, table: str, incarnation: str, seq: int) -> bool:
        """Whether seats here were told events after this position: what the store does not know of, it has lost."""
        feed = self._feeds.get(table)
        return feed is not None and feed.incarnation == incarnation and feed.newest_seq > seq

    async def attach(
        self, listener: Listener, table: str, incarnation: str | None, seq: int | None, is_seated: bool
    ) -> tuple[bool, TableRow, Callable[[], None]]:
        """Join a listener to a table's events.

        Returns whether it can go on from (incarnation, seq), the table as it is now, and a function that starts the
        flow: to be called after the reply was written and without waiting in between. Raises `StoreError`.
        """
        feed = await self._feed(table)
        followed_before = listener in feed.listeners
        feed.hold(listener)
        if is_seated:
            feed.seats[listener.patron] = listener
        try:
            resumed, row, position = await self._position(feed, listener, incarnation, seq)
        except BaseException:
            if followed_before:  # it goes on following, and gets what was held for it in a snapshot
                feed.unhold(listener)
                feed.set_behind(listener, "recovered")
            else:
                feed.remove(listener)
            raise
        self._note_results(feed, listener, row)
        return resumed, row, lambda: feed.add(listener, position)

    async def _position(
        self, feed: Feed, listener: Listener, incarnation: str | None, seq: int | None
    ) -> tuple[bool, TableRow, int]:
        """Find the seq from which a listener can follow: its own, or that of a table row read now."""
        while True:
            row = await self._tables.view(feed.table, listener.patron)
            resumed = seq is not None and incarnation == row.view.incarnation and seq <= row.view.seq
            if seq is not None and incarnation == row.view.incarnation and seq > row.view.seq and not feed.was_doubted:
                feed.was_doubted = True  # it may lie, so this proves nothing; but an operator should know
                log.error("seat_ahead_of_store", extra={"table": feed.table, "seq": row.view.seq, "told": seq})
            if resumed and seq is not None and not feed.has_after(seq):
                await self._refill(feed, seq)
                resumed = feed.has_after(seq)
            position = seq if resumed and seq is not None else row.view.seq
            if feed.incarnation != row.view.incarnation:
                await self._repair(feed)
            elif feed.has_after(position):
                return resumed, row, position

    def detach(self, listener: Listener, table: str, *, asked_for_seat: bool) -> None:
        """Take a listener off a table. A seat that it holds, or may hold because it asked for one and the answer was
        lost, is marked as away, however long the store needs for that; another connection's seat is left alone."""
        if asked_for_seat or self.holds_seat(listener, table):
            self._away[(table, listener.patron, listener.id)] = None
            self._away_changed.set()
        feed = self._feeds.get(table)
        if feed is not None:
            feed.remove(listener)
        self._behind_since_s.pop((table, listener.id), None)

    async def keep_seat(self, listener: Listener, table: str) -> None:
        """Mark a seat as away no more: the same connection is about to take it again."""
        self._away.pop((table, listener.patron, listener.id), None)
        async with self._marking_away:  # what is under way comes to its end before the seat is taken
            pass

    def holds_seat(self, listener: Listener, table: str) -> bool:
        """Whether private messages of this patron's seat go to this listener."""
        feed = self._feeds.get(table)
        return feed is not None and feed.seats.get(listener.patron) is listener

    def give_up_seat(self, listener: Listener, table: str) -> None:
        """Forget that this listener holds a seat (it left, or another connection took it over)."""
        feed = self._feeds.get(table)
        if feed is not None:
            feed.free_seat(listener)

    async def take_seats_back(self, node: str) -> None:
        """Mark every seat held here as connected again: this node was taken for dead, but its sockets live."""
        for feed in list(self._feeds.values()):
            for patron, listener in list(feed.seats.items()):
                await self._tables.come_back(feed.table, patron, node, listener.id)

    async def _feed(self, table: str) -> Feed:
        async with self._opening:
            feed = self._feeds.get(table)
            if feed is None:
                view = (await self._tables.view(table)).view  # raises where there is no such table
                await self._subscription.add(table)
                feed = self._feeds[table] = Feed(table, view.incarnation, view.seq)
                feed.heard_at_s = monotonic()
            return feed

    async def _refill(self, feed: Feed, seq: int) -> None:
        """Read what a returning listener missed back from the stream into the feed's memory."""
        missed: list[tuple[int, bytes]] = []
        after = seq
        for _ in range(LAG_PAGES_MAX):
            page = await self._tables.events_after(feed.table, after)
            missed += [entry for entry in page if entry[0] <= feed.seq]
            if len(page) < EVENTS_PAGE_MAX:
                break
            after = page[-1][0]
        feed.remember(missed)

    # --- the bus ------------------------------------------------------------------------------------------------------

    async def _listen_for_ever(self) -> None:
        go_first()
        while True:
            try:
                await self._subscription.add_nodes()
                while True:
                    await self._take(await self._subscription.next())
            except StoreError as error:
                log.warning("bus_lost", extra={"reason": str(error)})
            self._driver.look_again()
            await self._resubscribe()

    async def _resubscribe(self) -> None:
        while True:
            await asyncio.sleep(spread_s(50, 300))
            await self._subscription.close()
            self._subscription = Subscription(self._driver)
            try:
                for table in list(self._feeds):
                    await self._subscription.add(table)
                for feed in list(self._feeds.values()):
                    await self._catch_up(feed)
            except StoreError:
                continue
            log.info("bus_found", extra={"tables": len(self._feeds)})
            return

    async def _take(self, envelope: Envelope) -> None:
        """Act on one publication; one that can't be read is dropped, and the listening goes on."""
        if envelope.kind == "nodes":
            self._look_at_nodes()
            return
        feed = self._feeds.get(envelope.table)
        if feed is None:
            return
        feed.heard_at_s = monotonic()
        try:
            if envelope.kind in ("alive", "results") and not feed.is_level(envelope.incarnation, envelope.seq):
                await self._repair(feed)  # what was published after events comes after them at every seat too
            match envelope.kind:
                case "event":
                    await self._take_event(feed, envelope)
                case "results":
                    self._tell_results(feed, envelope.body)
                case "private":
                    await self._tell_private(feed, msgpack.unpackb(envelope.body))
                case "seat":
                    self._tell_taken_over(feed, *msgpack.unpackb(envelope.body))
                case "crowd":
                    feed.tell(envelope.body)
                case "nudge" if envelope.table in self._nudges:
                    self._nudges[envelope.table](envelope.body.decode())
                case _:
                    pass
        except StoreError as error:
            log.warning("feed_repair_failed", extra={"table": envelope.table, "reason": str(error)})
        except Exception as error:  # a stranger's bytes may break anything that reads them, but never the listening
            reason = type(error).__name__
            log.warning("rubbish_on_bus", extra={"table": envelope.table, "kind": envelope.kind, "reason": reason})

    async def _take_event(self, feed: Feed, envelope: Envelope) -> None:
        is_strange = envelope.incarnation != feed.incarnation
        if not is_strange and feed.advance(envelope.seq, envelope.body):
            self._measure(envelope)
        elif is_strange or envelope.seq > feed.seq:
            await self._repair(feed)

    def _measure(self, envelope: Envelope) -> None:
        """Note how long it was from an event's commit until it was written to its last socket here."""
        now_ms = self._driver.now_ms(keys.bus_channel(envelope.table)) if envelope.at_ms else None
        if now_ms is not None:
            metrics.EVENT_LAG.observe(max(0, now_ms - envelope.at_ms) / 1000)

    @property
    def readers_behind(self) -> int:
        """How many followers wait for a snapshot."""
        return sum(len(feed.behind) for feed in self._feeds.values())

    def _tell_results(self, feed: Feed, body: bytes) -> None:
        """Hand each patron of a settled chunk its own results."""
        for name, stack, packed in msgpack.unpackb(body, raw=True):
            if (patron := name.decode()) in feed.seats:
                self._tell_result(feed, patron, stack, msgpack.unpackb(packed))

    def _tell_result(self, feed: Feed, patron: str, stack: int, record: dict[str, Any]) -> None:
        """Tell a seat what became of its bets, once."""
        if record["round"] <= feed.results_told.get(patron, 0):
            return
        feed.results_told[patron] = record["round"]
        results = Results(
            table=feed.table,
            round=record["round"],
            outcome=record["outcome"],
            bets=record["results"],
            stack=stack,
        )
        feed.tell_seat(patron, results)

    def _note_results(self, feed: Feed, listener: Listener, row: TableRow) -> None:
        """A view that a seat is given tells its last results too."""
        if feed.seats.get(listener.patron) is listener and row.view.you is not None:
            feed.results_told[listener.patron] = row.view.you.last_round or 0

    async def _tell_private(self, feed: Feed, told: list[tuple[str, dict[str, Any]]]) -> None:
        """Pass on what is for single seats. News of a freed seat may be old: who has sat down again meanwhile must not
        be told that it has no seat. Raises `StoreError`."""
        freed = [patron for patron, message in told if message["type"] == "seat_freed" and patron in feed.seats]
        seated_again = await self._seated(feed, freed)
        if held := [p for p in freed if p not in seated_again and p in feed.seats and feed.is_held(feed.seats[p])]:
            seated_again |= await self._seated(feed, held)  # in the middle of a join, or of nothing but a look
        for patron, message in told:
            if message["type"] != "seat_freed" or patron not in seated_again:
                feed.tell_seat(patron, message)

    async def _seated(self, feed: Feed, patrons: list[str]) -> set[str]:
        now = await self._tables.seats_now(feed.table, patrons)
        return {patron for patron, seat in zip(patrons, now, strict=True) if seat.connection}

    def _tell_taken_over(self, feed: Feed, patron: str, connection: str) -> None:
        listener = feed.follower(connection)
        if listener is not None and listener.patron == patron:
            feed.tell_one(listener, SeatTakenOver(table=feed.table))
            self.give_up_seat(listener, feed.table)

    # --- repair -------------------------------------------------------------------------------------------------------

    async def _repair(self, feed: Feed) -> None:
        """Catch up from the stream; where it does not lead on from here, everybody gets a snapshot. Raises
        `StoreError`."""
        metrics.FEED_REPAIRS.inc()
        async with feed.repairing:
            for _ in range(LAG_PAGES_MAX):
                page, told_seq = await self._tables.events_after(feed.table, feed.seq), feed.seq
                view = (await self._tables.view(feed.table, None, 0)).view
                if view.incarnation != feed.incarnation or (page and page[0][0] > feed.seq + 1):
                    break
                if view.seq < told_seq:  # the store was set back behind what seats have seen
                    fresh_incarnation = secrets.token_hex(8)
                    if await self._tables.report_loss(feed.table, feed.incarnation, told_seq, fresh_incarnation):
                        log.error("store_rolled_back", extra={"table": feed.table, "seq": view.seq, "told": told_seq})
                    break
                for seq, packed in page:
                    event = msgpack.unpackb(packed)
                    if event["type"] == "round_settled":  # results that were lost come before the next round is told
                        await self._catch_up_seats(feed, event["round"])
                    feed.advance(seq, packed)
                if feed.seq >= view.seq:
                    feed.heard_at_s = monotonic()
                    return
            view = (await self._tables.view(feed.table)).view
            log.warning("feed_restarted", extra={"table": feed.table, "seq": view.seq})
            feed.reset(view.incarnation, view.seq)

    async def _catch_up(self, feed: Feed) -> None:
        """Bring a feed level with the store, and then its seats. Raises `StoreError`."""
        for _ in range(LAG_PAGES_MAX):
            await self._repair(feed)
            view = (await self._tables.view(feed.table, None, 0)).view
            if feed.is_level(view.incarnation, view.seq):  # else more was committed meanwhile
                await self._catch_up_seats(feed, view.round if view.phase == "settling" else view.round - 1)
                return

    async def _catch_up_seats(self, feed: Feed, settled_round: int) -> None:
        """Tell every seat here what was for it alone and may be lost, since the stream does not hold it: its results
        up to a round, or that it is a seat no longer. Raises `StoreError`."""
        patrons = list(feed.seats)
        for patron, now in zip(patrons, await self._tables.seats_now(feed.table, patrons), strict=True):
            listener = feed.seats.get(patron)
            if listener is None:
                continue
            if not now.connection:
                freed = {"type": "seat_freed", "table": feed.table, "reason": "away", "wallet": None}
                feed.tell_seat(patron, freed)
            elif now.connection != listener.id:
                self._tell_taken_over(feed, patron, listener.id)
            elif now.last is not None and now.last["round"] <= settled_round:
                self._tell_result(feed, patron, now.stack, now.last)

    async def _watch_silence(self) -> None:
        """Look into the stream of every table that has been silent; the fast road may have lost something."""
        while True:
            await asyncio.sleep(jittered_s(SILENCE_MS / 2))
            await self._close_empty_feeds()
            for feed in list(self._feeds.values()):
                if monotonic() - feed.heard_at_s > SILENCE_MS / 1000:
                    feed.heard_at_s, seq = monotonic(), feed.seq
                    try:
                        await self._repair(feed)
                        if feed.seq > seq:  # events were committed, and none of them came
                            self._subscription.give_up("deaf")
                    except StoreError as error:
                        log.warning("feed_repair_failed", extra={"table": feed.table, "reason": str(error)})

    async def _close_empty_feeds(self) -> None:
        """Give up the feeds that nobody follows any more."""
        async with self._opening:
            for feed in [feed for feed in self._feeds.values() if feed.is_empty and feed.table not in self._nudges]:
                del self._feeds[feed.table]
                try:
                    await self._subscription.remove(feed.table)
                except StoreError as error:
                    log.warning("unsubscribe_failed", extra={"table": feed.table, "reason": str(error)})

    async def _send_snapshot(self, feed: Feed, listener: Listener) -> None:
        """Bring a listener that is behind level again; where that can't be done now, it stays behind."""
        feed.hold(listener)
        try:
            row = await self._tables.view(feed.table, listener.patron)
        except StoreError as error:
            log.warning("snapshot_failed", extra={"table": feed.table, "reason": str(error)})
            feed.unhold(listener)
            return
        reason = feed.behind.get(listener)
        if reason is None or row.view.incarnation != feed.incarnation or not feed.has_after(row.view.seq):
            feed.unhold(listener)
            return
        self._note_results(feed, listener, row)
        listener.outlet.send(Snapshot(table=feed.table, reason=reason, snapshot=row.view))
        feed.add(listener, row.view.seq)

    # --- slow readers and lost ones -----------------------------------------------------------------------------------

    async def _tend_slow_readers(self) -> None:
        """Send a snapshot to those that have drained, and close those that do not."""
        while True:
            await asyncio.sleep(DRAIN_CHECK_MS / 1000)
            for feed in list(self._feeds.values()):
                drained = [listener for listener in list(feed.behind) if self._tend(feed, listener)]
                for start in range(0, len(drained), SNAPSHOTS_AT_ONCE):
                    chunk = drained[start : start + SNAPSHOTS_AT_ONCE]
                    await asyncio.gather(*(self._send_snapshot(feed, listener) for listener in chunk))

    def _tend(self, feed: Feed, listener: Listener) -> bool:
        """Close a listener that has been behind for too long; returns whether it has taken all that waited for it."""
        key = (feed.table, listener.id)
        since_s = self._behind_since_s.setdefault(key, monotonic())
        if listener.outlet.waiting_bytes == 0:
            self._behind_since_s.pop(key, None)
            return True
        if monotonic() - since_s > DRAIN_MS_MAX / 1000:
            self._behind_since_s.pop(key, None)
            self._close_slow(listener)
        return False

    async def _mark_away_for_ever(self) -> None:
        """Mark the seats of lost connections as away, again and again until the store has taken it."""
        while True:
            await self._away_changed.wait()
            self._away_changed.clear()
            while self._away:
                table, patron, connection = next(iter(self._away))
                try:
                    async with self._marking_away:
                        if (table, patron, connection) in self._away:
                            await self._tables.go_away(table, patron, connection)
                except StoreError as error:
                    log.warning("away_not_marked", extra={"table": table, "reason": str(error)})
                    await asyncio.sleep(AWAY_RETRY_MS / 1000)
                else:
                    self._away.pop((table, patron, connection), None)
