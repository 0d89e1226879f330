"""Our own cuts: puts one into a shoe, by itself where that is wished.

A cut is 8 to 32 bytes that nobody can know before they are put in; the order of the shoe follows from all cuts and
the house's secret together. One of ours is enough for us that the house can't have chosen that order alone.
"""

import asyncio
import logging
import secrets
from secrets import SystemRandom
from typing import Final

from client_sdk.calls import fresh_request_id
from client_sdk.exceptions import PuntoError
from client_sdk.follower import Follower
from client_sdk.protocol.messages import BettingOpened, Cut, CutAccepted, Snapshot
from client_sdk.session import Session
from client_sdk.shoe_audit import OwnCut

log = logging.getLogger(__name__)

CUT_BYTES: Final = 16
"""Of a cut that we draw."""
SPREAD_MS_MAX: Final = 1_000
"""Our own cuts come at different moments: up to this long after the opening, and within a third of the betting time."""


def fresh_cut() -> bytes:
    """Draw a cut."""
    return secrets.token_bytes(CUT_BYTES)


async def put_cut(session: Session, follower: Follower, shoe: int, cut: bytes) -> CutAccepted:
    """Put a cut into the open shoe. Raises what a call raises."""
    incarnation = follower.mirror.incarnation
    request = Cut(request_id=fresh_request_id(), table=follower.table, shoe=shoe, cut=cut.hex())

    def accept(accepted: CutAccepted) -> None:
        own = OwnCut(accepted.number, (_patron_of(session).encode(), cut))
        follower.cut_accepted(incarnation, shoe, own)

    return await session.desk.ask(request, CutAccepted, accept)


async def keep_cutting(session: Session, follower: Follower) -> None:
    """Put a cut of random bytes into each shoe whose first betting this seat is there for, until the table ends."""
    inbox = follower.subscribe()
    try:
        await _cut_if_wanted(session, follower)
        async for event in inbox:
            if isinstance(event, BettingOpened | Snapshot):
                await _cut_if_wanted(session, follower)
    except PuntoError:
        return  # what ended the table is told to its readers


async def _cut_if_wanted(session: Session, follower: Follower) -> None:
    if follower.shoe_to_cut() is None:
        return
    spread_ms = min(SPREAD_MS_MAX, follower.mirror.rules.betting_ms / 3)
    await asyncio.sleep(SystemRandom().uniform(0, spread_ms) / 1000)
    shoe = follower.shoe_to_cut()
    if shoe is None:
        return
    try:
        await put_cut(session, follower, shoe, fresh_cut())
    except PuntoError as error:  # betting closed first, or the seat is held elsewhere: others may cut
        log.debug("cut_not_taken", extra={"table": follower.table, "reason": str(error)})


def _patron_of(session: Session) -> str:
    assert session.patron is not None, "only a welcomed client is answered"
    return session.patron
