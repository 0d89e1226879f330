"""Keeps the clock of a followed table by pings: a few at once, then one now and then and after every break.

Read next: `clock`, which makes an estimate of them.
"""

import asyncio
import logging
from secrets import SystemRandom
from typing import Final

from client_sdk.calls import fresh_request_id
from client_sdk.clock import ClockSample
from client_sdk.exceptions import PuntoError
from client_sdk.follower import Follower
from client_sdk.protocol.messages import Ping, Pong
from client_sdk.session import Session

log = logging.getLogger(__name__)

QUICK_PINGS: Final = 3
"""Enough that one of them meets no queue on its way."""


async def ping(session: Session, table: str | None) -> ClockSample:
    """Ask for the time on a table's clock, or on the node's own. Raises what a call raises."""
    call = await session.desk.call(Ping(request_id=fresh_request_id(), table=table), Pong)
    assert call.sent_ms is not None, "an answered call was sent"
    assert call.answered_ms is not None, "an answered call was answered"
    sample = ClockSample(call.sent_ms, call.answered_ms, call.answer.result().at_ms)
    follower = session.roster.followers.get(table or "")
    if follower is not None:
        follower.clock.add(sample)
    return sample


async def keep_clock(session: Session, follower: Follower) -> None:
    """Ping a table until it is followed no longer; a ping without an answer is only a worse estimate."""
    for _ in range(QUICK_PINGS - 1):
        await _try_ping(session, follower)
    chance = SystemRandom()
    while not follower.is_ended:
        await _try_ping(session, follower)
        await _until_turned(follower, session.settings.clock_ms * chance.uniform(0.8, 1.2))


async def _until_turned(follower: Follower, clock_ms: float) -> None:
    """Wait for the next ping's time; a resume makes it due, as the break may have been a sleep of this machine."""
    follower.turned.clear()
    if not follower.is_ended:
        try:
            async with asyncio.timeout(clock_ms / 1000):
                await follower.turned.wait()
        except TimeoutError:
            pass


async def _try_ping(session: Session, follower: Follower) -> None:
    try:
        await ping(session, follower.table)
    except PuntoError as error:
        log.debug("ping_failed", extra={"table": follower.table, "reason": str(error)})
