"""The names of all keys and channels; no other file makes one.

Everything of a table shares the hash tag `{t:ID}`, everything of a wallet `{w:PATRON}`, so that a script touches one
slot of a cluster. Ids are percent-encoded, so no id can reach into another's keys.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

TABLES: Final = "punto:tables"
SEAL_KEY: Final = "punto:seal_key"
NODES: Final = "punto:nodes"
NODE_SETTINGS: Final = f"{{{NODES}}}:settings"
"""In the slot of NODES."""
NODES_CHANNEL: Final = f"{{{NODES}}}:bus"
"""The sharded channel on which nodes tell each other to look into the register, in the slot of NODES."""
REVOKED: Final = "punto:revoked"
REVOKED_ACTS: Final = f"{{{REVOKED}}}:operated"
"""The stream of what operators revoked, in the slot of REVOKED."""
OPERATED_PATTERN: Final = "punto:{*}:operated"
WALLETS_PREFIX: Final = "punto:{w:"
WALLETS_PATTERN: Final = "punto:{w:*}"
_TABLE_PARTS: Final = (
    "events",
    "stacks",
    "seats",
    "bets",
    "totals",
    "last",
    "requests:0",
    "requests:1",
    "ready",
    "away",
    "leaving",
    "played",
    "transfers",
    "outgoing",
    "ledger",
    "consumers",
    "incoming",
    "operated",
    "rounds",
    "limited",
    "cuts",
    "cutters",
    "shoes",
)
_WALLET_PARTS: Final = ("ledger", "rounds", "operations", "operation_ids", "limits", "operated")


def table_key(table: str) -> str:
    """Name the hash of a table."""
    return f"punto:{{t:{quote(table, safe='')}}}"


@lru_cache(maxsize=4096)
def table_keys(table: str) -> tuple[str, ...]:
    """Name all keys of a table in the order in which `lua/_table.lua` takes them."""
    key = table_key(table)
    return (key, *(f"{key}:{part}" for part in _TABLE_PARTS))


def events_key(table: str) -> str:
    """Name the stream of a table's numbered events."""
    return f"{table_key(table)}:events"


def bets_key(table: str) -> str:
    """Name the hash of a table's open bets."""
    return f"{table_key(table)}:bets"


def seats_key(table: str) -> str:
    """Name the hash of a table's seats."""
    return f"{table_key(table)}:seats"


def stacks_key(table: str) -> str:
    """Name the hash of a table's stacks."""
    return f"{table_key(table)}:stacks"


def last_key(table: str) -> str:
    """Name the hash of the last round that each patron played."""
    return f"{table_key(table)}:last"


def totals_key(table: str) -> str:
    """Name the hash of the sums on each spot."""
    return f"{table_key(table)}:totals"


def rounds_key(table: str) -> str:
    """Name the stream of a table's finished rounds."""
    return f"{table_key(table)}:rounds"


def ledger_key(table: str) -> str:
    """Name the stream of every movement of money at a table."""
    return f"{table_key(table)}:ledger"


def consumers_key(table: str) -> str:
    """Name the hash of how far each consumer has taken a table's ledger."""
    return f"{table_key(table)}:consumers"


def operated_key(table: str) -> str:
    """Name the stream of what operators did to a table."""
    return f"{table_key(table)}:operated"


def patron_operated_key(patron: str) -> str:
    """Name the stream of what operators did to a patron's wallet and limits."""
    return f"{wallet_key(patron)}:operated"


def subject_of(operated: str) -> tuple[str, str]:
    """Say whose log of operator acts a key names: ("table", its id) or ("patron", its id)."""
    kind, _, quoted = operated.removeprefix("punto:{").removesuffix("}:operated").partition(":")
    return {"t": "table", "w": "patron"}[kind], unquote(quoted)


def cuts_key(table: str) -> str:
    """Name the list of the open shoe's cuts, in the order in which they were accepted."""
    return f"{table_key(table)}:cuts"


def shoes_key(table: str) -> str:
    """Name the hash of the newest shoes that have ended, with their cuts."""
    return f"{table_key(table)}:shoes"


def bus_channel(table: str) -> str:
    """Name the sharded channel on which a table's scripts publish."""
    return f"{table_key(table)}:bus"


def confirmation_key(key: str) -> str:
    """Name a key in the slot of `key` that is written only so that replicas can confirm what came before it."""
    return f"{key}:confirmed"


def wallet_key(patron: str) -> str:
    """Name the hash of a patron's wallet."""
    return f"{WALLETS_PREFIX}{quote(patron, safe='')}}}"


@lru_cache(maxsize=4096)
def wallet_keys(patron: str) -> tuple[str, ...]:
    """Name all keys of a wallet in the order in which `lua/_wallet.lua` takes them."""
    key = wallet_key(patron)
    return (key, *(f"{key}:{part}" for part in _WALLET_PARTS))


def patron_ledger_key(patron: str) -> str:
    """Name the stream of every movement of a patron's money."""
    return f"{wallet_key(patron)}:ledger"


def operations_key(patron: str) -> str:
    """Name the hash of what the operator did to a wallet, by operation id."""
    return f"{wallet_key(patron)}:operations"


def patron_rounds_key(patron: str) -> str:
    """Name the stream of the rounds that a patron has played."""
    return f"{wallet_key(patron)}:rounds"
