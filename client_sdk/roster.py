"""The tables a client follows: events to their followers, and what was missed asked for after a break.

Seats are taken back by `join`, all others watched; each request names what was seen last. It must
never take a seat that was given up, taken over or freed. Read next: `follower`, which knows what to ask.
"""

import asyncio
import logging
from collections.abc import Callable
from secrets import SystemRandom

from client_sdk.backoff import delays_ms
from client_sdk.calls import fresh_request_id
from client_sdk.desk import Desk
from client_sdk.exceptions import (
    ClientClosed,
    NotSeated,
    ProtocolMismatch,
    PuntoError,
    Refused,
    ServerFailed,
    ShoeDisputed,
    TimedOut,
)
from client_sdk.follower import Follower
from client_sdk.forgotten import is_forgotten
from client_sdk.game.proofs import Part
from client_sdk.judge import judge
from client_sdk.protocol.messages import AnyEvent, Join, Message, Request, Watching
from client_sdk.shoe_audit import ShoeAudit
from client_sdk.tasks import Tasks

log = logging.getLogger(__name__)


class Roster:
    """The followers by table. `give_up` drops a line that takes requests and gives no answers."""

    def __init__(self, desk: Desk, tasks: Tasks, give_up: Callable[[], None]) -> None:
        self.followers: dict[str, Follower] = {}
        self._desk = desk
        self._tasks = tasks
        self._give_up = give_up
        self._resumes: dict[str, asyncio.Task[None]] = {}

    def add(self, follower: Follower) -> None:
        """Follow one more table, on the present line."""
        self.followers[follower.table] = follower

    def drop(self, follower: Follower, error: PuntoError | None = None) -> None:
        """Follow a table no longer; its readers end with the error, or quietly."""
        if self.followers.get(follower.table) is follower:
            del self.followers[follower.table]
            resume = self._resumes.pop(follower.table, None)
            if resume is not None:
                resume.cancel()
        follower.end(error)
        self._desk.release(follower.table)

    def end(self, error: PuntoError | None) -> None:
        """End all readers."""
        for follower in self.followers.values():
            follower.end(error)

    # --- breaks ---

    def detach(self) -> None:
        """The line is gone: let requests wait until their tables are resumed."""
        for resume in self._resumes.values():
            resume.cancel()
        self._resumes.clear()
        for follower in self.followers.values():
            follower.detach()
            self._desk.hold(follower.table)

    def resume_all(self) -> None:
        """There is a line: ask for what every table has missed."""
        for follower in self.followers.values():
            self._resume(follower)

    def _resume(self, follower: Follower) -> None:
        """Ask for what one table has missed, unless that is being asked."""
        running = self._resumes.get(follower.table)
        if running is None or running.done():
            resuming = self._keep_asking(follower)
            self._resumes[follower.table] = self._tasks.start_stoppable(resuming, f"punto-resume {follower.table}")

    async def _keep_asking(self, follower: Follower) -> None:
        limits = self._desk.settings
        delays = delays_ms(limits.retry_ms_min, limits.retry_ms_first, limits.retry_ms_max, SystemRandom())
        while not follower.is_ended:
            request = follower.resume_request(fresh_request_id())
            accept = follower.accept_seat if isinstance(request, Join) else follower.accept_watch
            try:
                await self._desk.ask(request, Watching, accept, is_urgent=True)
            except Refused as refusal:
                if refusal.retry or isinstance(refusal, ServerFailed):  # which says nothing about the seat
                    await asyncio.sleep(next(delays) / 1000)
                else:
                    self._refused(follower, request, refusal)
            except TimedOut:
                self._give_up()
                return
            except ProtocolMismatch as error:
                self.drop(follower, error)
            except PuntoError:
                return  # the client has ended, and everybody was told
            else:
                self._desk.release(follower.table)
                if not follower.is_behind:
                    return

    def _refused(self, follower: Follower, request: Request, refusal: Refused) -> None:
        log.info("resume_refused", extra={"table": follower.table, "code": refusal.code})
        if isinstance(request, Join):
            follower.lose_seat("away" if isinstance(refusal, NotSeated) else "refused")
        else:
            self.drop(follower, refusal)

    # --- events ---

    def deliver(self, message: Message) -> AnyEvent | None:
        """Hand an event to its table's follower; returned where it told something new."""
        follower = self.followers.get(str(message.get("table")))
        if follower is None:
            log.debug("event_for_nobody", extra={"table": message.get("table")})
            return None
        return self._delivered(follower, follower.feed(message))

    def take(self, event: AnyEvent) -> None:
        """Hand an event that was decoded before to its table's follower."""
        follower = self.followers.get(event.table)
        if follower is not None:
            self._delivered(follower, follower.take(event))

    def _delivered(self, follower: Follower, event: AnyEvent | None) -> AnyEvent | None:
        if follower.is_ended:
            self.drop(follower, follower.error)
            return event
        self._judge_ended(follower)
        if follower.is_behind:
            self._resume(follower)
        return event

    # --- shoes that have ended ---

    def _judge_ended(self, follower: Follower) -> None:
        """Have each shoe judged that has just been revealed."""
        auditor = follower.auditor
        while auditor is not None and auditor.ended:
            audit = auditor.ended.pop(0)
            judging = self._judge(follower, audit, follower.mirror.incarnation)
            self._tasks.start(judging, f"punto-audit {follower.table}")

    async def _judge(self, follower: Follower, audit: ShoeAudit, incarnation: str) -> None:
        try:
            await judge(self._desk, audit)
        except ShoeDisputed as dispute:
            if dispute.proof.part is Part.CUTS and await is_forgotten(follower, incarnation):
                reason = "the store has forgotten what was told"
                log.warning("shoe_not_checked", extra={"table": audit.table, "shoe": audit.number, "reason": reason})
            else:
                self.drop(follower, dispute)
        except ClientClosed:
            pass  # its owner wants to know no more
        except PuntoError as error:
            log.warning("shoe_not_checked", extra={"table": audit.table, "shoe": audit.number, "reason": str(error)})
