"""Which node should deal which table: rendezvous hashing, so that a node that comes or goes moves only its own share.

Pure. Every node computes the same answer from the same set of live nodes; where the sets differ for a moment two nodes
may want one table, and the lease decides (`server/store/lua/claim.lua`).
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache


def preferred_node(table: str, live_nodes: Iterable[str]) -> str | None:
    """Name the node that should deal `table`; None where no node is alive."""
    return max(live_nodes, key=lambda node: _weight(table, node), default=None)


@lru_cache(maxsize=4)
def tables_of(node: str, tables: frozenset[str], live_nodes: tuple[str, ...]) -> frozenset[str]:
    """List the tables that `node` should deal; it is asked again and again, and the answer seldom changes."""
    return frozenset(table for table in tables if preferred_node(table, live_nodes) == node)


def _weight(table: str, node: str) -> bytes:
    return hashlib.sha256(f"{table} {node}".encode()).digest()
