"""Looks after the transfers of one table that stopped half-way, as long as a node owns it: whoever began them may be
gone. Beside the dealer and never in its way; how a transfer is driven on is `cashier.py`'s."""

import asyncio
import logging
from typing import Final

from server.cashier import Cashier
from server.jitter import spread_s
from server.store.errors import StoreError
from server.store.sender import go_first

log = logging.getLogger(__name__)

SWEEP_MS: Final = (1_500, 2_500)


async def sweep_for_ever(table: str, cashier: Cashier) -> None:
    """Drive on what was left, now and then, until cancelled."""
    go_first(False)
    while True:
        try:
            await cashier.carry_all_home(table)
            await cashier.carry_all_in(table)
        except StoreError as error:
            log.warning("sweep_waits", extra={"table": table, "reason": f"{type(error).__name__} {error}"})
        except Exception:
            log.exception("sweep_failed", extra={"table": table})
        await asyncio.sleep(spread_s(*SWEEP_MS))
