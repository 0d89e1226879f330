"""What must hold in the store after every verb, read from its keys with a client of its own; and an owner to play with.

`Ledger` adds up money and counts; `Owner` runs a table through the machine and the store's verbs as a dealer does, but
when the test says so, and with time that the test lets pass.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgpack
from redis.asyncio import Redis

from client_sdk.game.proofs import cuts_digest
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import TableRules
from server.sealing import Sealer
from server.settling import settle_line
from server.shoes import Shoes
from server.store import keys
from server.store.errors import Refused
from server.store.ledgers import Ledgers
from server.store.tables import FRESH_SEAT_MS, ActAnswer, ActLine, Frozen, Lease, SettleLine, Tables
from server.table import machine
from server.table.history import finished_round
from server.table.machine import Change, FrozenCuts
from server.table.open_shoe import OpenShoe
from server.table.phases import Step
from server.table.state import TableState
from tests.support.shoes import opened, shuffled_shoes
from tests.support.table_rules import rules_of

NODE: Final = "node-1"
LEASE_MS: Final = 60_000
NEW_SEAT_MS: Final = 2_000
REQUESTS: Final = ("requests:0", "requests:1")
Contents: TypeAlias = dict[str, tuple[object, int]]

_numbers = count(1)
T = TypeVar("T")


def fresh_id(prefix: str) -> str:
    """An id that no other test has."""
    return f"{prefix}{next(_numbers)}"


async def refusal_of(call: Awaitable[object]) -> str:
    """The code with which a verb refuses."""
    try:
        done = await call
    except Refused as refused:
        return refused.code
    raise AssertionError(f"not refused: {done}")


async def attempt(call: Awaitable[T]) -> tuple[str, T | None]:
    """What became of a verb that may refuse: 'ok' and its answer, or the refusal's code."""
    try:
        return "ok", await call
    except Refused as refused:
        return refused.code, None


async def age_seats(ledger: "Ledger", table: str) -> None:
    """Let the time pass in which a seat is not taken for a dead node's."""
    key = f"{keys.table_key(table)}:seats"
    for patron, packed in (await ledger.hash_of(key)).items():
        seat = msgpack.unpackb(packed)
        seat["at_ms"] -= FRESH_SEAT_MS + 1
        await cast("Any", ledger.raw.hset(key, patron, msgpack.packb(seat)))


class Ledger:
    """Reads everything of tables and wallets, and adds it up."""

    def __init__(self, raw: Redis) -> None:
        self.raw = raw

    async def contents(self, *but: str) -> Contents:
        """Every key of the store as it lies, with its time to live, without those that end in any of `but`."""
        found: Contents = {}
        names: list[bytes] = await self.raw.execute_command("KEYS", "*")
        for name in sorted(names):
            key = name.decode()
            if not key.endswith(but):
                found[key] = (await self._value_of(key), await self.raw.ttl(key))
        return found

    async def _value_of(self, key: str) -> object:
        """What lies under a key; of a hash and a set without the order, which the store may change by itself."""
        match await self.raw.type(key):
            case b"hash":
                return await self.hash_of(key)
            case b"set":
                return await self.members_of(key)
            case _:
                return await self.raw.dump(key)

    async def hash_of(self, key: str) -> dict[str, bytes]:
        found = await cast("Awaitable[dict[bytes, bytes]]", self.raw.hgetall(key))
        return {name.decode(): value for name, value in found.items()}

    async def numbers_of(self, key: str) -> dict[str, int]:
        """A hash of amounts: every one a whole number and nothing else."""
        found = await self.hash_of(key)
        assert all(re.fullmatch(rb"-?\d+", value) for value in found.values()), found
        return {name: int(value) for name, value in found.items()}

    async def members_of(self, key: str) -> set[str]:
        """The members of a set, ordered or not."""
        command = ("ZRANGE", key, 0, -1) if key.endswith((":away", ":played")) else ("SMEMBERS", key)
        found: list[bytes] = await self.raw.execute_command(*command)
        return {member.decode() for member in found}

    async def layouts(self, table: str) -> dict[str, dict[str, int]]:
        """The open bets: patron -> spot -> sum."""
        found = {}
        for patron, packed in (await self.hash_of(keys.bets_key(table))).items():
            sums: dict[str, int] = {}
            for act in msgpack.unpackb(packed):
                for spot, amount in act:
                    assert type(amount) is int
                    assert amount > 0
                    sums[spot] = sums.get(spot, 0) + amount
            assert sums, "an empty layout is no layout"
            found[patron] = sums
        return found

    async def content_of(self, table: str) -> int:
        """What lies at a table, its house included; checked against what came in and went out."""
        key = keys.table_key(table)
        head = await self.hash_of(key)
        stacks = await self.numbers_of(f"{key}:stacks")
        layouts = await self.layouts(table)
        house, bought_in, cashed_out = (int(head[name]) for name in ("house", "bought_in", "cashed_out"))
        assert min(stacks.values(), default=0) >= 0
        content = sum(stacks.values()) + sum(sum(sums.values()) for sums in layouts.values()) + house
        assert content == bought_in - cashed_out
        return content

    async def check(self, table: str) -> None:
        """Money and counts of one table."""
        await self.content_of(table)
        key = keys.table_key(table)
        head = await self.hash_of(key)
        seats = {patron: msgpack.unpackb(packed) for patron, packed in (await self.hash_of(f"{key}:seats")).items()}
        connected = {patron for patron, seat in seats.items() if seat["connected"]}
        ready = await self.members_of(f"{key}:ready")
        away = await self.members_of(f"{key}:away")
        leaving = await self.members_of(f"{key}:leaving")
        played = await self.members_of(f"{key}:played")
        layouts = await self.layouts(table)
        assert int(head["connected"]) == len(connected)
        assert ready <= connected
        assert away == seats.keys() - connected
        assert leaving <= seats.keys()
        assert layouts.keys() <= seats.keys()
        assert played == seats.keys()
        assert (await self.numbers_of(f"{key}:stacks")).keys() == seats.keys()
        if head["phase"] in (b"betting", b"dealing"):
            await self._check_totals(table, layouts)

    async def _check_totals(self, table: str, layouts: Mapping[str, Mapping[str, int]]) -> None:
        totals = await self.numbers_of(f"{keys.table_key(table)}:totals")
        for spot in Spot:
            assert totals.get(spot, 0) == sum(sums.get(spot, 0) for sums in layouts.values())
            assert totals.get(f"bettors:{spot}", 0) == sum(spot in sums for sums in layouts.values())

    async def check_all(self, tables: Iterable[str], patrons: Iterable[str]) -> None:
        """Everything that was ever put in lies in a wallet, at a table, or is on its way between the two."""
        ids = list(tables)
        put_in = taken_out = held = under_way = 0
        content = sum([await self.content_of(table) for table in ids])
        for patron in patrons:
            wallet = await self.hash_of(keys.wallet_key(patron))
            assert int(wallet["balance"]) >= 0
            put_in += int(wallet["put_in"])
            taken_out += int(wallet.get("taken_out", b"0"))
            held += int(wallet["balance"])
            for table in ids:
                under_way += await self._under_way(wallet, patron, table)
        assert put_in - taken_out == held + content + under_way

    async def _under_way(self, wallet: Mapping[str, bytes], patron: str, table: str) -> int:
        """Amounts that one side has given and the other has not decided, of one pair; totals of both sides compared."""
        key = keys.table_key(table)
        transfers = await self.hash_of(f"{key}:transfers")
        number = lambda fields, name: int(fields.get(name, b"0"))  # noqa: E731
        given, taken = number(wallet, f"out:{table}"), number(transfers, f"in:{patron}")
        amount = 0
        was_taken = taken == given and transfers.get(f"in_answer:{patron}") == b"ok"
        if given and wallet[f"out_answer:{table}"] == b"" and not was_taken:
            amount += number(wallet, f"out_amount:{table}")
        assert taken <= given
        assert number(wallet, f"out_total:{table}") - amount == number(transfers, f"in_total:{patron}")
        outgoing = (await self.hash_of(f"{key}:outgoing")).get(patron)
        home = 0
        if outgoing is not None:
            n, chips = msgpack.unpackb(outgoing)
            assert n == number(transfers, f"out:{patron}")
            home = chips if number(wallet, f"in:{table}") < n else 0
        assert number(transfers, f"out_total:{patron}") - home == number(wallet, f"in_total:{table}")
        return amount + home


class Owner:
    """A dealer of one table that waits for nothing."""

    def __init__(self, tables: Tables, ledger: Ledger, table: str, lease: Lease, shoes: Shoes) -> None:
        self.tables = tables
        self.ledgers = Ledgers(tables._driver)
        self.table = table
        self.lease = lease
        self.state = TableState()
        self.rules = rules_of()
        self.shoe: OpenShoe | None = None
        self._ledger = ledger
        self._shoes = shoes

    @classmethod
    async def of_new_table(
        cls, tables: Tables, ledger: Ledger, rules: TableRules | None = None, shoes: Shoes | None = None
    ) -> "Owner":
        table = fresh_id("t")
        await tables.create(table, rules or rules_of(), "inc", "run")
        return await cls.of(tables, ledger, table, shoes=shoes)

    @classmethod
    async def of(
        cls, tables: Tables, ledger: Ledger, table: str, node: str = NODE, shoes: Shoes | None = None
    ) -> "Owner":
        """Claim a table and go on from what the store holds."""
        claimed = await tables.claim(table, node, LEASE_MS)
        owner = cls(tables, ledger, table, claimed.lease, shoes or shuffled_shoes())
        owner.state, owner.rules = claimed.state, claimed.rules
        await owner.reopen_shoe()
        return owner

    async def reopen_shoe(self) -> None:
        """Make the open shoe from what the store holds."""
        cuts = await self.tables.frozen_cuts(self.table)
        self.shoe = opened(self._shoes, self.table, self.state, self.rules, cuts)

    @property
    def round(self) -> int:
        return self.state.round

    @property
    def key(self) -> str:
        return keys.table_key(self.table)

    async def now_ms(self) -> int:
        seconds, micros = await self._ledger.raw.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def opening(self, now_ms: int) -> Change:
        """The change that opens the next round, with a fresh shoe where none is open."""
        change = Change(self.state, ())
        if not self.state.has_shoe:
            fresh = self._shoes.fresh(self.table, self.state.shoe + 1, self.rules)
            change = machine.start_shoe(self.state, self.table, self.rules, fresh)
            self.shoe = opened(self._shoes, self.table, change.state, self.rules)
        return change.then(machine.open_betting(change.state, self.table, self.rules, now_ms))

    @property
    def open_shoe(self) -> OpenShoe:
        assert self.shoe is not None
        return self.shoe

    async def open_betting(self) -> int:
        """Open the next round; returns its number."""
        change = self.opening(await self.now_ms())
        await self.tables.open_betting(self.table, self.lease, change)
        self.state = change.state
        return self.round

    async def let_betting_time_pass(self) -> int:
        """Move the deadline into the past; returns it."""
        closes_at_ms = await self.now_ms()
        await cast("Any", self._ledger.raw.hset(self.key, "closes_at_ms", str(closes_at_ms)))
        return closes_at_ms

    async def freeze(self) -> Frozen:
        await asyncio.sleep(0.002)  # it is never early in the millisecond of an act
        return await self.tables.freeze_bets(self.table, self.lease, self.round, NEW_SEAT_MS)

    async def close_betting(self) -> Frozen:
        """End betting by the timer."""
        await self.let_betting_time_pass()
        frozen = await self.freeze()
        await self.commit(await self.closing(frozen))
        await self.shuffle_if_due()
        return frozen

    async def shuffle_if_due(self) -> None:
        """Publish the root of a fresh shoe, by its secret and the frozen cuts."""
        due = machine.due(self.state, self.rules, self.shoe)
        if due is not None and due.step is Step.SHUFFLE_SHOE:
            await self.reopen_shoe()
            await self.commit(machine.shuffle_shoe(self.state, self.table, self.open_shoe))

    async def closing(self, frozen: Frozen) -> Change:
        """The change that tells the close, and the cuts where they are frozen with it."""
        found, cuts = await self.tables.frozen_cuts(self.table), None
        if self.state.takes_cuts:
            cuts = FrozenCuts(len(found), cuts_digest(found))
        _, closed_at_ms, early, bettors, totals = frozen
        return machine.close_betting(self.state, self.table, closed_at_ms, early, totals, bettors, cuts)

    async def commit(self, change: Change) -> None:
        await self.tables.commit(self.table, self.lease, change)
        self.state = change.state

    def next_card(self, now_ms: int) -> Change:
        """The next step of the deal, up to the outcome."""
        steps: dict[Step, Callable[[int], Change]] = {
            Step.BURN_CARDS: lambda now: machine.burn_cards(self.state, self.table, self.rules, self.open_shoe, now),
            Step.DEAL_CARD: lambda now: machine.deal_card(self.state, self.table, self.rules, self.open_shoe, now),
            Step.DECLARE_OUTCOME: lambda now: machine.declare_outcome(
                self.state, self.table, self.rules, self.open_shoe, now
            ),
        }
        due = machine.due(self.state, self.rules, self.shoe)
        assert due is not None
        return steps[due.step](now_ms)

    async def deal(self) -> None:
        """Deal every card and declare the outcome."""
        await self.shuffle_if_due()
        while self.state.outcome is None:
            await self.commit(self.next_card(await self.now_ms()))

    async def settlements(self) -> list[SettleLine]:
        """What every open bet comes to."""
        bets = self.tables.open_bets(self.table)
        return [settle_line(patron, layout, self.state, self.rules) async for patron, layout in bets]

    async def settle(self, lines: list[SettleLine] | None = None) -> int:
        """Settle these, or all; returns how many bets are left."""
        chosen = await self.settlements() if lines is None else lines
        return await self.tables.settle(self.table, self.lease, self.round, chosen)

    async def finish_round(self) -> None:
        paid, settled = await self.tables.settled_sums(self.table)
        before, now_ms = self.state.seal, await self.now_ms()
        seal = await Sealer(self.ledgers, self.table, before).seal(before)
        secret = self.open_shoe.secret
        change = machine.finish_round(self.state, self.table, self.rules, now_ms, paid, settled, seal, secret)
        totals = await self.tables.final_totals(self.table)
        finished = finished_round(self.state, now_ms, totals, settled, paid)
        await self.tables.finish_round(self.table, self.lease, change, finished)
        self.state = change.state
        if not self.state.has_shoe:
            self.shoe = None

    async def end_round(self) -> None:
        """From open betting to the settled round."""
        await self.close_betting()
        await self.deal()
        await self.settle()
        await self.finish_round()

    # --- patrons ------------------------------------------------------------------------------------------------------

    async def seat(self, patron: str, stack: int = 0, connection: str = "", node: str = NODE) -> str:
        """Give a patron a seat with chips from outside; returns the connection that holds it."""
        connection = connection or f"c-{patron}"
        n = 1 if stack else 0
        await self.tables.sit(self.table, patron, patron.title(), False, node, connection, n, stack)
        return connection

    def line(self, patron: str, verb: str, spot: str = "", chip: int | str = "", **changes: Any) -> ActLine:
        """An act of this round from the patron's own connection, under a request_id of its own."""
        line = ActLine(patron, f"c-{patron}", fresh_id("r"), self.round, verb, spot, chip)
        return line._replace(**changes)

    async def act(self, patron: str, verb: str, spot: str = "", chip: int | str = "", **changes: Any) -> ActAnswer:
        (answer,) = await self.tables.acts(self.table, [self.line(patron, verb, spot, chip, **changes)])
        return answer
