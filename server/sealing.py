"""The seal that ends a round: every entry of the table's ledger since the last one, read back and hashed.

Read from the store and not from memory, so that whoever owns the table by then computes the same. It is committed with
the step that ends the round; entries that come in between belong to the next seal.
"""

import logging

from client_sdk.game.seals import Seal, SealInMaking
from server.ledger.entries import is_movement
from server.store.ledgers import Ledgers

log = logging.getLogger(__name__)


async def seal_ledger(ledgers: Ledgers, table: str, previous: Seal) -> Seal:
    """Seal what was entered since `previous`; where no money has moved since, that one still stands.

    Raises `StoreError`.
    """
    making, has_moved = SealInMaking(previous), False
    async for number, entry in ledgers.entries_after(table, previous.sealed_to):
        if number != making.sealed_to + 1:  # play goes on; whoever checks an export will see it too
            log.error("ledger_gap", extra={"table": table, "after": making.sealed_to, "next": number})
        making.add(number, entry)
        has_moved = has_moved or is_movement(entry)
    return making.seal() if has_moved else previous
