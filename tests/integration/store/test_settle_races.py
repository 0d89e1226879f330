"""BL-145: two owners that settle one round at once, over and over. What was paid is the exact figure from the cards,
computed a second time from the stream, and each bet has one row in the ledger."""

import asyncio
import os
from collections import Counter
from random import Random
from typing import Any, cast

import msgpack

from server.settling import settle_bets
from server.store import keys
from server.store.driver import Driver
from server.store.errors import Fenced, OutOfStep, Refused, StoreAway
from server.store.tables import SettleLine, Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id
from tests.integration.store.faults import Fault, FaultyDriver
from tests.support import plain_rules
from tests.support.table_rules import rules_of

ROUNDS = max(30, int(os.environ.get("RACES", "0")) // 10)
"""A thousand in the long form (RACES=10000)."""
PATRONS = 5
CHIPS = [1, 7, 33, 100]


async def settle_twice_at_once(owner: Owner, heir: Owner, chance: Random, broken: Tables) -> None:
    """The old owner and the new one pay at once, chunks are replayed, and some answers are lost."""
    lines = await owner.settlements()

    async def old_owner() -> None:
        try:
            await settle_bets(broken, owner.table, owner.lease, owner.state, owner.rules)
        except (Fenced, OutOfStep, StoreAway):
            pass

    async def replay(chunk: list[SettleLine], of: Owner) -> None:
        await asyncio.sleep(chance.random() * 0.002)
        try:
            await owner.tables.settle(owner.table, of.lease, of.round, chunk)
        except (Fenced, Refused):
            pass

    async def new_owner() -> None:
        await asyncio.sleep(chance.random() * 0.002)
        heir.lease = (await owner.tables.claim(owner.table, owner.lease.node, 60_000)).lease
        await settle_bets(owner.tables, owner.table, heir.lease, heir.state, heir.rules)

    chunks = [chance.sample(lines, chance.randint(1, len(lines))) for _ in range(4)]
    await asyncio.gather(
        old_owner(),
        *(replay(chunk, chance.choice([owner, heir])) for chunk in chunks),
        new_owner(),
        *(replay(chunk, heir) for chunk in chunks),
    )


async def test_bl_145_two_owners_that_settle_at_once_pay_each_bet_once(
    store_url: str, driver: Driver, tables: Tables, ledger: Ledger
) -> None:
    chance = Random(145)
    rules = rules_of(
        "punto-banco", minimum=1, chips=CHIPS, maximums=dict.fromkeys(rules_of("punto-banco").maximums, 500)
    )
    owner = await Owner.of_new_table(tables, ledger, rules)
    patrons = [fresh_id("p") for _ in range(PATRONS)]
    for patron in patrons:
        await owner.seat(patron, 1_000_000)
    laid: dict[int, dict[str, dict[str, int]]] = {}
    log = CardLog()
    async with FaultyDriver(store_url) as faulty:
        broken = Tables(faulty)
        for _ in range(ROUNDS):
            number = await owner.open_betting()
            for patron in patrons:
                for _ in range(chance.randint(1, 3)):
                    spot = chance.choice(["player", "banker", "tie"])
                    assert (await owner.act(patron, "place", spot, chance.choice(CHIPS))).code == "ok"
            laid[number] = await ledger.layouts(owner.table)
            await owner.close_betting()
            await owner.deal()
            heir = Owner(tables, ledger, owner.table, owner.lease, owner._shoes)
            heir.state, heir.rules, heir.shoe = owner.state, owner.rules, owner.shoe
            faulty.arm(Fault(0, chance.choice(["before", "after", "late"])) if chance.random() < 0.5 else None)
            await settle_twice_at_once(owner, heir, chance, broken)
            faulty.arm(None)
            owner = heir
            assert await owner.settle() == 0
            await owner.finish_round()
            await faulty.let_late_runs_through()
            await ledger.check(owner.table)
            await log.read_on(tables, owner.table)

    payouts: Counter[str] = Counter()
    for number, dealt in log.cards.items():
        for patron, bets in laid[number].items():
            lines = plain_rules.results("punto-banco-1", bets, plain_rules.play(dealt).outcome)
            payouts[patron] += sum(line["payout"] - line["stake"] for line in lines.values())
    stacks = await ledger.numbers_of(f"{owner.key}:stacks")
    assert stacks == {patron: 1_000_000 + payouts[patron] for patron in patrons}
    assert int((await ledger.hash_of(owner.key))["house"]) == -payouts.total()
    assert await settlement_rows(driver, owner.table) == Counter(
        {(number, patron): 1 for number, layouts in laid.items() for patron in layouts}
    )


class CardLog:
    """The cards of each round, from the table's own stream, which keeps some thousand events."""

    def __init__(self) -> None:
        self.cards: dict[int, list[str]] = {}
        self._seq = 0

    async def read_on(self, tables: Tables, table: str) -> None:
        """Read what was added; not one event may be missing."""
        while page := await tables.events_after(table, self._seq):
            for seq, packed in page:
                assert seq == self._seq + 1
                self._seq, event = seq, cast("dict[str, Any]", msgpack.unpackb(packed))
                if event["type"] == "card_dealt":
                    self.cards.setdefault(event["round"], []).append(event["card"])


async def settlement_rows(driver: Driver, table: str) -> Counter[tuple[int, str]]:
    """How often each (round, patron) was settled, by the ledger."""
    found: Counter[tuple[int, str]] = Counter()
    for _, fields in await driver.call("XRANGE", keys.ledger_key(table), "-", "+"):
        entry = msgpack.unpackb(fields[b"entry"], raw=True)
        if entry[0] == b"settle":
            found.update((entry[2], patron.decode()) for patron, *_ in entry[4])
    return found
