"""The verbs of a table, each beside the Lua script of its name.

What is atomic: each verb, whole. What order may be relied on: a table's verbs are decided one after another by its
store, and events come out in that order on the bus and in the stream. The owner's verbs take a `Lease` and are refused
(`Fenced`) once another owner has claimed the table. Instants are on the clock of the table's store.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

import msgpack
import msgspec

from client_sdk.game.fairness import Cut
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import EndedShoe, FinishedRound, TableRules
from server.store import keys
from server.store.driver import Answer, Driver, Script
from server.store.errors import Refused
from server.store.records import (
    SPOTS,
    TableRow,
    nonzero,
    pack,
    pack_limits,
    sums_of_layout,
    table_row,
    unpack_round,
    unpack_rules,
    unpack_state,
)
from server.table.machine import Change
from server.table.state import TableState

SEATS_SHOWN_MAX: Final = 12
"""Tables with more seats tell counts and sums, not each seat."""
TABLES_PAGE_MAX: Final = 50
EVENTS_PAGE_MAX: Final = 512
SEATS_PAGE_MAX: Final = 500
"""Seats in one read when a node catches up with what it may have missed."""
CUTS_MAX: Final = 5_000
"""In one shoe; the next one is refused."""
FRESH_SEAT_MS: Final = 1_000
"""A seat taken so recently is not taken for a dead node's: that node may be newer than the list of live ones."""

_MONEY: Final = frozenset({"acts", "settle", "sit", "leave", "close_cash_out"})
_SCRIPTS: Final = {
    name: Script(name, "_table", moves_money=name in _MONEY)
    for name in (
        "create_table",
        "claim",
        "release",
        "renew",
        "commit",
        "void_round",
        "finish_round",
        "ask_void",
        "open_betting",
        "freeze_bets",
        "acts",
        "settle",
        "sit",
        "go_away",
        "clear_dead_seats",
        "leave",
        "close_cash_out",
        "departures",
        "open_cash_outs",
        "expect_buy_in",
        "expected_buy_ins",
        "forget_buy_ins",
        "come_back",
        "adopt_store",
        "report_loss",
        "view",
        "cut",
        "list_cuts",
    )
}


class Lease(NamedTuple):
    """The right to run a table: the fence that every write of an owner carries."""

    node: str
    epoch: int
    incarnation: str
    lease_ms: int


class Claimed(NamedTuple):
    """A table as its new owner found it. `run_id` is that of the store's run in which the table was last written by an
    owner; `rollback` says that lost writes were noticed and are still to be answered; `was_silent` that the owner
    before did not give it back."""

    lease: Lease
    now_ms: int
    state: TableState
    rules: TableRules
    run_id: str
    rollback: bool
    was_silent: bool = False


class Pulse(NamedTuple):
    """What an owner learns when it renews its lease."""

    now_ms: int
    touched: int
    seated: int
    connected: int
    all_ready: bool
    last_join_at_ms: int
    is_void_asked: bool
    operated: int


class VoidAsked(NamedTuple):
    """An operator's wish was noted. Events after `after_seq` tell how it went; not `is_owned`: once a node owns the
    table."""

    after_seq: int
    is_owned: bool


class Frozen(NamedTuple):
    """The bets of a round after which none is taken."""

    now_ms: int
    closed_at_ms: int
    early: bool
    bettors: int
    totals: dict[Spot, int]


class ActLine(NamedTuple):
    """One act on its way to the store. `spot` and `chip` are '' where the verb has none."""

    patron: str
    connection: str
    request_id: str
    round: int
    verb: str
    spot: str
    chip: int | str


class Need(NamedTuple):
    """What a bet of a patron with limits needs before it can be decided: the sums of `day` to which the table must be
    allowed to go. `turn` and `version` say by which allowance and which limits it was judged."""

    version: int
    day: int
    turn: int
    stake: int
    loss: int


class ActAnswer(NamedTuple):
    """What the store decided. `code` is 'ok' or the refusal; `at_ms` when the act arrived. With a `need` it was not
    decided yet; `need.turn` 0: it only waits behind another one of its patron."""

    code: str
    at_ms: int
    closed_at_ms: int = 0
    stack: int = 0
    ready: bool = False
    bets: dict[Spot, int] = {}  # noqa: RUF012 - a NamedTuple's default is never changed
    need: Need | None = None


class SettleLine(NamedTuple):
    """One patron's settlement on its way to the store; `record` is kept as the last round played."""

    patron: str
    stake: int
    payout: int
    record: bytes


class Seated(NamedTuple):
    """A seat that was taken. `connection_before` held it until now ('' none). Not `is_seated`: the chips of this
    transfer were taken before, but the patron has left since and no seat is free."""

    stack: int
    connection_before: str
    is_seated: bool


class SeatNow(NamedTuple):
    """A seat as it is: the connection that holds it ('' no seat), and the record of the last round played there (None
    none)."""

    connection: str
    stack: int
    last: dict[str, Any] | None


class CutTaken(NamedTuple):
    """A cut that is in the shoe; `number` is its place in the list, from 1."""

    number: int
    accepted_at_ms: int


class Leaving(NamedTuple):
    """How a leave went: `gone`, `after_round`, `stayed` (the reason holds no more), or `open` (cash-out `n` of before
    must be driven on first)."""

    how: str
    n: int
    amount: int


class Tables:
    """All tables of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _run(self, name: str, table: str, *args: str | bytes | int) -> Answer:
        return await self._driver.run(_SCRIPTS[name], keys.table_keys(table), args)

    # --- the house ---------------------------------------------------------------------------------------------------

    async def create(self, table: str, rules: TableRules, incarnation: str, run_id: str, mode: str = "") -> bool:
        """Put a table into the store and the index; say whether it is new. `mode` as in `operating`, '' for open."""
        state = TableState()
        answer = await self._run(
            "create_table",
            table,
            incarnation,
            pack(state),
            pack(rules),
            pack_limits(rules),
            state.phase.value,
            run_id,
            mode,
        )
        await self._driver.call("ZADD", keys.TABLES, 0, table)
        return bool(answer[2])

    async def ask_void(self, table: str, round_number: int, reason: str, by: str = "") -> VoidAsked:
        """Have the open round made void by whichever node owns the table, once. Raises `Refused` UNKNOWN_TABLE,
        ROUND_OVER (details: now_ms, the round at the table), ROUND_DECIDED."""
        _, _, after_seq, is_owned = await self._run("ask_void", table, round_number, reason, by)
        return VoidAsked(after_seq, bool(is_owned))

    async def void_asked(self, table: str) -> tuple[int, str]:
        """Read which round the operator wanted void last (0 none), and why."""
        round_number, reason = await self._driver.call("HMGET", keys.table_key(table), "void_round", "void_reason")
        return int(round_number or 0), (reason or b"").decode()

    async def page(self, after: str | None, count: int = TABLES_PAGE_MAX) -> list[str]:
        """List table ids in order, at most `count` after the given one."""
        start = "-" if after is None else f"({after}"
        ids = await self._driver.call("ZRANGE", keys.TABLES, start, "+", "BYLEX", "LIMIT", 0, count)
        return [table.decode() for table in ids]

    async def every(self) -> list[str]:
        """List the ids of all tables, in order."""
        found: list[str] = []
        while page := await self.page(found[-1] if found else None):
            found += page
        return found

    async def view(self, table: str, patron: str | None = None, seats_shown_max: int = SEATS_SHOWN_MAX) -> TableRow:
        """Read a table at one instant. Raises `Refused` UNKNOWN_TABLE."""
        return table_row(table, await self._run("view", table, patron or "", seats_shown_max))

    async def events_after(self, table: str, seq: int) -> list[tuple[int, bytes]]:
        """Read the next numbered events from the stream, oldest first, at most EVENTS_PAGE_MAX: (seq, bytes)."""
        entries = await self._driver.call("XRANGE", keys.events_key(table), f"({seq}-0", "+", "COUNT", EVENTS_PAGE_MAX)
        return [(int(entry_id.split(b"-")[0]), fields[b"event"]) for entry_id, fields in entries]

    async def rounds_before(self, table: str, before: int | None, count: int) -> list[FinishedRound]:
        """Read finished rounds, the newest first, from the newest on or those before a number. Raises `Refused`
        UNKNOWN_TABLE."""
        start = "+" if before is None else f"({before}-0"
        entries = await self._driver.call("XREVRANGE", keys.rounds_key(table), start, "-", "COUNT", count)
        if not entries and not await self._driver.call("EXISTS", keys.table_key(table)):
            raise Refused("UNKNOWN_TABLE")
        return [unpack_round(fields[b"round"]) for _, fields in entries]

    async def seats_now(self, table: str, patrons: Sequence[str]) -> list[SeatNow]:
        """Read what the seats of these patrons hold; a record is never newer than the stack beside it."""
        found = []
        for start in range(0, len(patrons), SEATS_PAGE_MAX):
            page = patrons[start : start + SEATS_PAGE_MAX]
            lasts = await self._driver.call("HMGET", keys.last_key(table), *page)
            stacks = await self._driver.call("HMGET", keys.stacks_key(table), *page)
            seats = await self._driver.call("HMGET", keys.seats_key(table), *page)
            found += [
                SeatNow(
                    msgpack.unpackb(seat)["connection"] if seat else "",
                    int(stack or 0),
                    msgpack.unpackb(last) if last else None,
                )
                for seat, stack, last in zip(seats, stacks, lasts, strict=True)
            ]
        return found

    # --- the owner ----------------------------------------------------------------------------------------------------

    async def claim(self, table: str, node: str, lease_ms: int) -> Claimed:
        """Become the owner. Raises `Refused` OWNED (details: now_ms, owner, lease_until_ms), UNKNOWN_TABLE."""
        answer = await self._run("claim", table, node, lease_ms)
        _, now_ms, epoch, incarnation, _, state, rules, closes_at_ms, _, run_id, rollback, was_silent = answer
        return Claimed(
            Lease(node, epoch, incarnation.decode(), lease_ms),
            now_ms,
            unpack_state(state, closes_at_ms),
            unpack_rules(rules),
            run_id.decode(),
            bool(rollback),
            bool(was_silent),
        )

    async def release(self, table: str, lease: Lease) -> None:
        """Give the table back at once."""
        await self._run("release", table, lease.epoch, lease.node)

    async def renew(self, table: str, lease: Lease) -> Pulse:
        """Keep the lease, and tell the hubs the present seq."""
        _, now_ms, touched, seated, connected, ready, last_join_at_ms, is_void_asked, operated = await self._run(
            "renew", table, lease.epoch, lease.node, lease.lease_ms
        )
        return Pulse(now_ms, touched, seated, connected, bool(ready), last_join_at_ms, bool(is_void_asked), operated)

    async def commit(self, table: str, lease: Lease, change: Change, rules: TableRules | None = None) -> int:
        """Write a step and publish its events; `rules` where they change with it. Returns the store's time, ms. Raises
        `Refused` VOID_ASKED where the operator wants the round void: then only `void_round` may follow."""
        return await self._commit("commit", table, lease, change, rules)

    async def void_round(self, table: str, lease: Lease, change: Change) -> int:
        """Write the step that makes the open round void."""
        return await self._commit("void_round", table, lease, change, None)

    async def finish_round(self, table: str, lease: Lease, change: Change, finished: FinishedRound) -> int:
        """Write the step that ends a round, and keep its record."""
        return await self._commit("finish_round", table, lease, change, None, pack(finished))

    async def open_betting(self, table: str, lease: Lease, change: Change, rules: TableRules | None = None) -> int:
        """Write the step that begins a round. Raises `Refused` BETS_LEFT while a bet of the last round lies, NOT_OPEN
        where the operator wants no round."""
        return await self._commit("open_betting", table, lease, change, rules)

    async def _commit(
        self, verb: str, table: str, lease: Lease, change: Change, rules: TableRules | None, *before: bytes
    ) -> int:
        state, events = change.state, change.events
        answer = await self._run(
            verb,
            table,
            *before,
            lease.epoch,
            lease.node,
            lease.lease_ms,
            lease.incarnation,
            state.seq - len(events),
            pack(state),
            state.phase.value,
            state.round,
            state.closes_at_ms or 0,
            state.closed_at_ms or 0,
            pack(rules) if rules else "",
            pack_limits(rules) if rules else "",
            state.seal.digest,
            state.seal.sealed_to,
            state.shoe,
            state.shoe_first_round if state.takes_cuts else 0,
            0 if change.ended is None else change.ended.shoe,
            "" if change.ended is None else pack(change.ended),
            *(pack(event) for event in events),
        )
        return int(answer[1])

    async def freeze_bets(self, table: str, lease: Lease, round_number: int, settle_in_ms: int) -> Frozen:
        """End the taking of bets. Raises `Refused` TOO_EARLY (details: now_ms, closes_at_ms) or ROUND_OVER."""
        _, now_ms, closed_at_ms, early, bettors, *sums = await self._run(
            "freeze_bets", table, lease.epoch, lease.node, round_number, settle_in_ms
        )
        return Frozen(now_ms, closed_at_ms, bool(early), bettors, nonzero(sums))

    async def frozen_cuts(self, table: str) -> list[Cut]:
        """Read all cuts of the open shoe in the order in which they were accepted; after `freeze_bets` none is
        added."""
        packed = await self._driver.call("LRANGE", keys.cuts_key(table), 0, -1)
        return [_cut(entry) for entry in packed]

    async def sealed_secret(self, table: str) -> str | None:
        """Read the sealed secret of the open shoe; "" for prepared cards, None where no shoe is open."""
        packed = await self._driver.call("HGET", keys.table_key(table), "state")
        return None if packed is None else unpack_state(packed, 0).shoe_sealed

    async def open_bets(self, table: str) -> AsyncIterator[tuple[str, dict[Spot, int]]]:
        """Read the frozen bets, page by page: (patron, sum per spot), each patron once."""
        cursor, seen = 0, set()
        while True:
            cursor, page = await self._driver.call("HSCAN", keys.bets_key(table), cursor, "COUNT", 500)
            for name, packed in page.items():
                if name not in seen:
                    seen.add(name)
                    yield name.decode(), sums_of_layout(msgpack.unpackb(packed))
            if cursor == 0:
                return

    async def settle(self, table: str, lease: Lease, round_number: int, lines: Sequence[SettleLine]) -> int:
        """Settle a chunk of patrons, each exactly once; returns how many bets are left."""
        flat = (value for line in lines for value in line)
        answer = await self._run("settle", table, lease.epoch, lease.node, lease.lease_ms, round_number, *flat)
        return int(answer[3])

    async def settled_sums(self, table: str) -> tuple[int, int]:
        """Read what this round paid so far, and to how many patrons."""
        paid, settled = await self._driver.call("HMGET", keys.table_key(table), "paid", "settled")
        return int(paid or 0), int(settled or 0)

    async def final_totals(self, table: str) -> dict[Spot, int]:
        """Read what lay on each spot when the betting of this round had ended, paid or not."""
        totals = await self._driver.call("HMGET", keys.totals_key(table), *SPOTS)
        return nonzero([int(total or 0) for total in totals])

    async def departures(self, table: str, grace_ms: int, idle_rounds: int, limit: int) -> list[tuple[str, str]]:
        """List who is to leave between rounds and who is to be warned: (patron, left | away | idle | closed | warn)."""
        flat = (await self._run("departures", table, grace_ms, idle_rounds, limit))[2:]
        return [(patron.decode(), reason.decode()) for patron, reason in zip(flat[::2], flat[1::2], strict=True)]

    async def clear_dead_seats(self, table: str, live_nodes: Sequence[str]) -> int:
        """Mark the seats of dead nodes as away; returns how many."""
        return int((await self._run("clear_dead_seats", table, FRESH_SEAT_MS, *live_nodes))[2])

    async def adopt_store(self, table: str, lease: Lease, run_id: str, incarnation: str, *, rollback: bool) -> None:
        """Note the store's run_id; a new incarnation ('' keeps it) where it may have forgotten writes."""
        await self._run("adopt_store", table, lease.epoch, lease.node, run_id, incarnation, int(rollback))

    async def report_loss(self, table: str, incarnation: str, seq: int, fresh_incarnation: str) -> bool:
        """Say that seats were told events up to `seq`; where the store does not know them the incarnation changes."""
        return bool((await self._run("report_loss", table, incarnation, seq, fresh_incarnation))[2])

    async def loss_waits(self, table: str) -> bool:
        """Say whether lost writes were noted at a table and are still to be answered by its owner."""
        return bool(int(await self._driver.call("HGET", keys.table_key(table), "rollback") or 0))

    # --- patrons ------------------------------------------------------------------------------------------------------

    async def acts(self, table: str, lines: Sequence[ActLine]) -> list[ActAnswer]:
        """Decide acts in the order given, each by itself; an answer for each."""
        answers = await self._run("acts", table, msgpack.packb(lines))
        return [_act_answer(packed) for packed in answers[2:]]

    async def cut(self, table: str, patron: str, connection: str, shoe: int, cut: bytes) -> CutTaken:
        """Put a patron's cut into the open shoe. Raises `Refused` UNKNOWN_TABLE, SHOE_OVER, NOT_SEATED,
        SEAT_TAKEN_OVER, ALREADY_CUT, CUTS_CLOSED, TOO_MANY_CUTS."""
        _, _, number, accepted_at_ms = await self._run("cut", table, patron, connection, shoe, cut, CUTS_MAX)
        return CutTaken(number, accepted_at_ms)

    async def list_cuts(self, table: str, shoe: int, after: int, limit: int) -> tuple[list[Cut], bool]:
        """Read a page of a shoe's frozen cuts; say whether more follow. Raises `Refused` UNKNOWN_TABLE,
        UNKNOWN_SHOE."""
        _, _, more, *packed = await self._run("list_cuts", table, shoe, after, limit)
        return [_cut(entry) for entry in packed], bool(more)

    async def ended_shoe(self, table: str, shoe: int | None) -> EndedShoe | None:
        """Read what is kept of a shoe that has ended, the last one for None; None where nothing is."""
        if shoe is None:
            newest = int(await self._driver.call("HGET", keys.table_key(table), "shoe") or 0)
            wanted = [newest, newest - 1]
        else:
            wanted = [shoe]
        found = await self._driver.call("HMGET", keys.shoes_key(table), *wanted)
        packed = next(filter(None, found), None)
        return None if packed is None else msgspec.convert(msgpack.unpackb(packed), EndedShoe)

    async def sit(
        self,
        table: str,
        patron: str,
        name: str,
        bot: bool,
        node: str,
        connection: str,
        n: int = 0,
        amount: int = 0,
        *,
        take_back: bool = False,
    ) -> Seated:
        """Take a seat (or take one's own over, and only that with `take_back`) and the chips of transfer `n`; without a
        `connection` only the chips, to the seat as it is or to one that is away. Raises `Refused` UNKNOWN_TABLE,
        NOT_SEATED, TABLE_CLOSED, TABLE_FULL."""
        answer = await self._run("sit", table, patron, name, int(bot), node, connection, n, amount, int(take_back))
        return Seated(int(answer[2]), answer[3].decode(), bool(answer[4]))

    async def expect_buy_in(self, table: str, patron: str) -> None:
        """Note that a buy-in is about to be given. Raises `Refused` UNKNOWN_TABLE."""
        await self._run("expect_buy_in", table, patron)

    async def expected_buy_ins(self, table: str, age_ms: int, limit: int) -> list[tuple[str, int]]:
        """List buy-ins that have been expected for so long, the oldest first: (patron, expected_at_ms)."""
        flat = (await self._run("expected_buy_ins", table, age_ms, limit))[2:]
        return [(patron.decode(), at_ms) for patron, at_ms in zip(flat[::2], flat[1::2], strict=True)]

    async def forget_buy_ins(self, table: str, expected: Sequence[tuple[str, int]]) -> None:
        """Expect buy-ins no longer, as they were listed, unless the same patron's was announced again since."""
        await self._run("forget_buy_ins", table, *(word for each in expected for word in each))

    async def go_away(self, table: str, patron: str, connection: str) -> bool:
        """Mark a seat as away, if it is still this connection's."""
        return bool((await self._run("go_away", table, patron, connection))[2])

    async def come_back(self, table: str, patron: str, node: str, connection: str) -> bool:
        """Mark a seat as connected again, if it is still this connection's."""
        return bool((await self._run("come_back", table, patron, node, connection))[2])

    async def leave(
        self, table: str, patron: str, connection: str = "", reason: str = "", request_id: str = ""
    ) -> Leaving:
        """Give a seat up, once for each `request_id`, or have the house free it for a `reason` that must still hold.
        Raises `Refused` NOT_SEATED, SEAT_TAKEN_OVER."""
        _, _, how, n, amount = await self._run("leave", table, patron, connection, reason, request_id)
        return Leaving(how.decode(), n, amount)

    async def close_cash_out(self, table: str, patron: str, n: int) -> None:
        """Forget a cash-out that the wallet has taken."""
        await self._run("close_cash_out", table, patron, n)

    async def open_cash_outs(self, table: str, limit: int) -> list[tuple[str, int, int]]:
        """List cash-outs under way: (patron, n, amount)."""
        flat = (await self._run("open_cash_outs", table, limit))[2:]
        return [
            (patron.decode(), n, amount) for patron, n, amount in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        ]


def _cut(packed: bytes) -> Cut:
    patron, cut, _ = msgpack.unpackb(packed, raw=True)
    return patron, cut


def _act_answer(packed: bytes) -> ActAnswer:
    code, at_ms, *rest = msgpack.unpackb(packed)
    if code == "ALLOWANCE":
        return ActAnswer(code, at_ms, need=Need(*rest[1:]))
    if code != "ok":
        return ActAnswer(code, at_ms, closed_at_ms=rest[0])
    stack, ready, *sums = rest
    return ActAnswer(code, at_ms, 0, stack, ready, nonzero(sums))
