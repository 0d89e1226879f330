"""The end of seats between two rounds: of who left, is away for too long, or never bets. Chips go home with them."""

import logging
from collections.abc import Sequence
from typing import Final

from client_sdk.protocol.messages import SeatFreed, SeatWarned
from server.cashier import Cashier
from server.store import bus
from server.store.driver import Driver
from server.store.errors import Refused
from server.store.records import pack
from server.store.tables import Tables

log = logging.getLogger(__name__)

DEPARTURES_MAX: Final = 100
IDLE_ROUNDS: Final = 60
"""A seat without a bet for so many rounds is freed, one round after a warning."""


async def departures(table: str, grace_ms: int, tables: Tables) -> list[tuple[str, str]]:
    """List some of those whose time has come, or nearly, and why. Raises `StoreError`."""
    return await tables.departures(table, grace_ms, IDLE_ROUNDS, DEPARTURES_MAX)


async def see_off(table: str, leaving: Sequence[tuple[str, str]], cashier: Cashier, driver: Driver) -> None:
    """Free their seats, or warn them, and tell those who held them. Raises `StoreError`."""
    told: list[tuple[str, object]] = []
    for patron, reason in leaving:
        if reason == "warn":
            told.append((patron, SeatWarned(table=table, rounds_left=1)))
            continue
        try:
            wallet = await cashier.get_up(table, patron, reason=reason)
        except Refused as refused:
            log.warning("seat_not_freed", extra={"table": table, "patron": patron, "reason": refused.code})
            continue
        if wallet is None:  # came back in the meantime
            continue
        log.info("seat_freed", extra={"table": table, "patron": patron, "reason": reason})
        told.append((patron, SeatFreed(table=table, reason=reason, wallet=wallet)))
    if told:
        await bus.publish(driver, table, "private", pack(told))
