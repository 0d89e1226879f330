"""What an operator wants of a table: noted in the store by any command, carried out by whichever node owns the table.

Each act is in the log of operator acts (`operator_acts.py`), entered by the same script as the wish itself.
"""

from typing import Final, NamedTuple

from client_sdk.protocol.messages import TableRules
from server.store import keys
from server.store.driver import Driver, Script
from server.store.operator_acts import Signed
from server.store.records import pack, unpack_rules

OPEN: Final = "open"
PAUSED: Final = "paused"
DRAINING: Final = "draining"
CLOSED: Final = "closed"
HOUSE_RULES: Final = "-"
"""In place of rules: the house's again."""
_OPERATE: Final = Script("operate_table", "_table")


class Wishes(NamedTuple):
    """What the operator wants of a table: how it is to run, why, and by which rules (None: the house's)."""

    mode: str = OPEN
    reason: str = ""
    rules: TableRules | None = None


class Asked(NamedTuple):
    """A wish was noted. Events after `after_seq` tell how it went; not `is_owned`: once a node owns the table.
    `void_round`: the round that does not count because of it (0 none)."""

    after_seq: int
    is_owned: bool
    void_round: int


class Operating:
    """The operator's hand on the tables of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def operate(
        self,
        table: str,
        signed: Signed,
        verb: str,
        *,
        mode: str = "",
        voids: bool = False,
        rules: TableRules | str = "",
        details: str = "",
    ) -> Asked:
        """Note a wish and enter it into the log. Raises `Refused` UNKNOWN_TABLE, TABLE_CLOSED, TABLE_OPEN."""
        packed = pack(rules) if isinstance(rules, TableRules) else rules
        args = (signed.by, verb, mode, signed.reason, int(voids), packed, details)
        _, _, after_seq, is_owned, void_round = await self._driver.run(_OPERATE, keys.table_keys(table), args)
        return Asked(after_seq, bool(is_owned), void_round)

    async def wishes(self, table: str) -> Wishes:
        """Read what is wanted of a table now."""
        key = keys.table_key(table)
        mode, reason, rules = await self._driver.call("HMGET", key, "mode", "mode_reason", "own_rules")
        return Wishes((mode or b"").decode() or OPEN, (reason or b"").decode(), unpack_rules(rules) if rules else None)
