"""Reads what the store holds at the end of a run, key by key and with a client of its own, on every server that holds
any. The service's own reading of it (`punto-server audit`) is a second opinion, not this one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import unquote

import msgpack

from server.audit import audit
from server.store.books import Books
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.tables import Tables
from tests.chaos.evidence import StoredTable, StoredWallet
from tests.support.stores import Store
from tests.support.valkey_server import ValkeyServer, run

_TABLE: Final = re.compile(r"punto:\{t:([^}]+)\}")
_WALLET: Final = re.compile(r"punto:\{w:([^}]+)\}")
Hash = Mapping[str, bytes]


async def read_books(store: Store) -> tuple[dict[str, StoredTable], dict[str, StoredWallet]]:
    """Read every table and every wallet."""
    hashes: dict[str, Hash] = {}
    streams: dict[str, dict[int, Any]] = {}
    for server in await store.primaries():
        await _read_server(server, hashes, streams)
    wallets = {unquote(found[1]): content for key, content in hashes.items() if (found := _WALLET.fullmatch(key))}
    tables = {unquote(found[1]): key for key in hashes if (found := _TABLE.fullmatch(key))}
    return (
        {table: _table(table, key, hashes, streams.get(key, {}), wallets) for table, key in tables.items()},
        {name: StoredWallet(int(wallet["balance"]), int(wallet["put_in"])) for name, wallet in wallets.items()},
    )


async def audited(store: Store) -> list[str]:
    """What the service's own audit finds."""
    async with Driver(store.url) as driver:
        return [
            str(difference) for difference in (await audit(Books(driver), Tables(driver), Ledgers(driver))).differences
        ]


async def _read_server(server: ValkeyServer, hashes: dict[str, Hash], streams: dict[str, dict[int, Any]]) -> None:
    async with server.admin() as admin:
        for name in cast("Sequence[bytes]", await run(admin, "KEYS", "punto:{*")):
            key, kind = name.decode(), await run(admin, "TYPE", name)
            if kind == b"hash":
                found = await run(admin, "HGETALL", name)
                hashes[key] = {field.decode(): value for field, value in found.items()}
            elif kind == b"stream" and key.endswith(":events"):
                entries = await run(admin, "XRANGE", name, "-", "+")
                streams[key.removesuffix(":events")] = {
                    int(entry.split(b"-")[0]): msgpack.unpackb(fields[b"event"]) for entry, fields in entries
                }


def _table(
    table: str, key: str, hashes: Mapping[str, Hash], stream: Mapping[int, Any], wallets: Mapping[str, Hash]
) -> StoredTable:
    head = hashes[key]
    transfers, outgoing = hashes.get(f"{key}:transfers", {}), hashes.get(f"{key}:outgoing", {})
    under_way = {patron: _buy_in_under_way(patron, table, wallet, transfers) for patron, wallet in wallets.items()}
    for patron, packed in outgoing.items():
        n, amount = msgpack.unpackb(packed)
        if int(wallets[patron].get(f"in:{table}", b"0")) < n:
            under_way[patron] += amount
    return StoredTable(
        incarnation=head["incarnation"].decode(),
        seq=int(head["seq"]),
        phase=head["phase"].decode(),
        round=int(head["round"]),
        stream=stream,
        stacks={patron: int(stack) for patron, stack in hashes.get(f"{key}:stacks", {}).items()},
        open_bets={patron: _laid(packed) for patron, packed in hashes.get(f"{key}:bets", {}).items()},
        house=int(head["house"]),
        under_way={patron: amount for patron, amount in under_way.items() if amount},
    )


def _buy_in_under_way(patron: str, table: str, wallet: Hash, transfers: Hash) -> int:
    n = int(wallet.get(f"out:{table}", b"0"))
    if not n or wallet.get(f"out_answer:{table}") != b"":
        return 0
    is_decided = int(transfers.get(f"in:{patron}", b"0")) >= n
    if is_decided and transfers.get(f"in_answer:{patron}") == b"ok":
        return 0
    return int(wallet[f"out_amount:{table}"])


def _laid(packed: bytes) -> int:
    return sum(amount for act in msgpack.unpackb(packed) for _, amount in act)
