"""Names of keys: no id reaches into another's, everything of a table shares a slot, scripts touch what they declare."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import combinations
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.crc import key_slot

from server.cashier import Cashier, Sitter
from server.projector import Projector
from server.store import keys
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.nodes import Nodes
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.integration.store.checks import NODE, Ledger, Owner, age_seats

ODD_IDS = [
    "a",
    "",
    "a}",
    "{a}",
    "a}:stacks",
    "a:stacks",
    "a:requests:0",
    "%7D",
    "t:a",
    "ä",
    "a b",
    "\0",
    "\r\n",
    "*",
    "../a",
]
anything = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(ODD_IDS)


def hash_tag(key: str) -> str:
    """What a cluster hashes of this key: the text between the first { and the next }, if there is any."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    assert opened
    assert closed
    assert tag
    return tag


@settings(derandomize=True, deadline=None)
@given(table=anything, patron=anything)
def test_everything_of_a_table_or_wallet_lies_in_one_slot(table: str, patron: str) -> None:
    names = [*keys.table_keys(table), keys.bus_channel(table), keys.events_key(table), keys.bets_key(table)]
    assert len({hash_tag(name) for name in names}) == 1
    assert len({key_slot(name.encode()) for name in names}) == 1
    assert {keys.ledger_key(table), keys.consumers_key(table)} <= set(keys.table_keys(table))
    own = keys.wallet_keys(patron)
    assert len(set(own)) == len(own)
    assert {hash_tag(name) for name in own} == {hash_tag(own[0])}
    assert {keys.patron_ledger_key(patron), keys.patron_rounds_key(patron), keys.operations_key(patron)} < set(own)
    wallet = keys.wallet_key(patron)
    assert hash_tag(wallet) == wallet.removeprefix("punto:").strip("{}")
    assert unquote(hash_tag(wallet)) == f"w:{patron}"
    assert unquote(hash_tag(names[0])) == f"t:{table}"
    assert all(name.isascii() and name.isprintable() and " " not in name for name in [*names, wallet])


@settings(derandomize=True, deadline=None)
@given(ids=st.lists(anything, min_size=2, max_size=4, unique=True))
def test_no_two_ids_share_a_key(ids: list[str]) -> None:
    for one, other in combinations(ids, 2):
        assert not {*keys.table_keys(one), keys.bus_channel(one)} & {*keys.table_keys(other), keys.bus_channel(other)}
        assert not set(keys.wallet_keys(one)) & set(keys.wallet_keys(other))
    named = {name for each in ids for name in (*keys.table_keys(each), keys.bus_channel(each))}
    assert not named & {name for each in ids for name in keys.wallet_keys(each)}
    assert not named & {keys.TABLES, keys.NODES, keys.NODES_CHANNEL, keys.SEAL_KEY}


def test_the_parts_named_alone_are_those_that_scripts_take() -> None:
    names = keys.table_keys("t1")
    assert len(set(names)) == len(names) == 24
    assert keys.events_key("t1") in names
    assert keys.bets_key("t1") in names
    assert {keys.cuts_key("t1"), keys.shoes_key("t1")} < set(names)


@pytest.mark.parametrize("odd", [patron for patron in ODD_IDS if patron])
async def test_patrons_with_odd_ids_have_seats_and_wallets_of_their_own(
    tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger, odd: str
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    for patron in (odd, "plain"):
        await wallets.create(patron, "P", False, "abc", 1_000)
        await cashier.sit_down(owner.table, Sitter(patron, "P", False, NODE, f"c-{patron}"), "r1", 100)
    await owner.open_betting()
    for patron, chip in ((odd, 10), ("plain", 25)):
        assert (await owner.act(patron, "place", "player", chip, request_id="r")).stack == 100 - chip
    await ledger.check(owner.table)
    await owner.end_round()
    for patron in (odd, "plain"):
        await cashier.get_up(owner.table, patron, f"c-{patron}")
    await ledger.check_all([owner.table], [odd, "plain"])


# --- What scripts touch -----------------------------------------------------------------------------------------------


async def test_scripts_touch_only_the_keys_that_they_declare(
    store_url: str, driver: Driver, tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger
) -> None:
    """BL-107: on a cluster a script may touch nothing else; the store's own log of commands is held against that."""
    touched: set[str] = set()
    scripts: set[str] = set()
    declared: list[str] = []
    async with commands_of(store_url) as commands:
        await _use_every_verb(driver, tables, wallets, cashier, ledger)
        await driver.call("ECHO", "that was all")
        async for is_scripts, name, words in commands:
            if words == ["that was all"]:
                break
            if name.startswith("EVAL"):
                scripts.add(words[0])
                declared = words[2 : 2 + int(words[1])]
            elif is_scripts and name != "TIME":
                names = words if name == "DEL" else words[:1]
                touched |= set(names)
                allowed = {f"{declared[0]}:bus", keys.NODES_CHANNEL} if name == "SPUBLISH" else set(declared)
                assert set(names) <= allowed, (name, names)
                assert len({key_slot(each.encode()) for each in (*declared, *names)}) == 1
    parts = {key.rpartition("}")[2] for key in touched}
    assert parts >= {"", ":events", ":stacks", ":bets", ":requests:0", ":requests:1", ":transfers", ":outgoing", ":bus"}
    assert parts >= {":ledger", ":consumers", ":rounds"}
    assert len(scripts) >= 34


@asynccontextmanager
async def commands_of(store_url: str) -> AsyncIterator[AsyncIterator[tuple[bool, str, list[str]]]]:
    """Every command that the store runs from now on: whether a script's, its name and its words."""
    reader, writer = await asyncio.open_unix_connection(unquote(urlsplit(store_url).path), limit=2**20)

    async def read() -> AsyncIterator[tuple[bool, str, list[str]]]:
        while True:
            where, _, command = (await reader.readline()).decode().partition("] ")
            name, *words = (word.group(1) for word in re.finditer(r'"((?:[^"\\]|\\.)*)"', command))
            yield where.endswith(" lua"), name.upper(), words

    try:
        writer.write(b"MONITOR\r\n")
        assert await reader.readline() == b"+OK\r\n"
        yield read()
    finally:
        writer.close()
        await writer.wait_closed()


async def _use_every_verb(driver: Driver, tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger) -> None:
    nodes = Nodes(driver)
    owner = await Owner.of_new_table(tables, ledger)
    await nodes.join(NODE, {"currency": "PTO"}, {"card_ms": "10"}, accepts_others=False)
    await nodes.heartbeat(NODE)
    await nodes.forget(NODE)
    await wallets.create("p", "P", False, "abc", 1_000)
    await cashier.sit_down(owner.table, Sitter("p", "P", False, NODE, "c-p"), "r1", 500)
    await tables.renew(owner.table, owner.lease)
    for number in range(2):
        await owner.open_betting()
        for verb in ("place", "double", "undo", "clear", "rebet", "place", "ready"):
            await owner.act("p", verb, *(("player", 10) if verb == "place" else ()))
        await tables.view(owner.table, "p")
        await tables.leave(owner.table, "p", "c-p")
        await owner.end_round()
        await tables.departures(owner.table, 1_000, 1, 10)
        if number == 0:
            await age_seats(ledger, owner.table)
            await tables.clear_dead_seats(owner.table, [])
            await tables.come_back(owner.table, "p", NODE, "c-p")
    await tables.go_away(owner.table, "p", "c-p")
    await tables.adopt_store(owner.table, owner.lease, "run-2", "inc-2", rollback=True)
    await tables.leave(owner.table, "p")
    await cashier.carry_all_home(owner.table)
    await cashier.carry_all_in(owner.table, age_ms=0)
    await cashier.carry_all_in_of("p")
    ledgers = Ledgers(driver)
    await ledgers.open_consumer(owner.table, "books")
    await Projector(owner.table, owner.lease, ledgers, asyncio.Event()).project()
    await ledgers.move_consumer(owner.table, "books", owner.state.seal.sealed_to)
    await ledgers.trim(owner.table, owner.lease)
    await tables.release(owner.table, owner.lease)
    await ledger.check_all([owner.table], ["p"])
