"""Money under everything that can go wrong at once: patrons who buy in, bet, leave and drop, an operator, two owners of
one table, finishers of one transfer that stall and overtake each other, crashes and lost answers between any two calls.

After every call to the store each patron has what a plain model says; after every deed the service's own audit is
balanced. `MONEY_RUNS=1000` is the long form. A failure prints the deeds that lead to it, the long form as few as
it can find.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import count, product
from typing import Any, Final, cast

import msgpack
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Search
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from server.audit import audit
from server.cashier import Cashier, Sitter
from server.ledger.copies import OWN_KINDS, statement_line
from server.projector import Projector
from server.store import keys
from server.store.books import Books
from server.store.driver import Driver
from server.store.errors import StoreError
from server.store.ledgers import Ledgers
from server.store.tables import ActAnswer, ActLine, Lease, Tables
from server.store.wallets import Wallets
from server.table import machine
from server.table.phases import Phase
from tests.integration.store.checks import Ledger, Owner, attempt, fresh_id
from tests.integration.store.errands import FATES, Call, Errand, Fate
from tests.integration.store.money_model import MAXIMUM, MAXIMUM_TIE, MINIMUM, VARIANTS, MoneyModel
from tests.support.table_rules import rules_of

RUNS_SHORT: Final = 6
RUNS: Final = int(os.environ.get("MONEY_RUNS", RUNS_SHORT))
IS_LONG: Final = RUNS > RUNS_SHORT
STEPS: Final = 30
CALL_S: Final = 60.0
PLAY_MONEY: Final = 1_000
SOCKETS: Final = ("a", "b")
NOT_KEPT: Final = {"UNKNOWN_TABLE", "NOT_SEATED", "SEAT_TAKEN_OVER", "TOO_MANY_ACTS"}
"""Refusals of an act that may become another answer when it is asked again."""
KNOWN: Final = {
    *("", "UNKNOWN_TABLE", "TABLE_FULL", "REQUEST_REUSED", "INSUFFICIENT_WALLET", "BUSY", "NOT_SEATED"),
    *("SEAT_TAKEN_OVER", "ROUND_OVER", "ROUND_DECIDED", "VOID_ASKED", "TOO_EARLY", "BETS_LEFT", "OPERATION_REUSED"),
    *("WALLET_TOO_FULL", "STAKE_DIFFERS", "OWNED"),
}
"""How an errand may be refused; anything else a patron would be told as a fault of the house."""

whos, wheres = st.integers(0, 2), st.integers(0, 1)
sockets = st.sampled_from(["", "", "", *SOCKETS])
"""'' is the one that holds the seat."""
done: Fate = "done"
fates = st.just(list[Fate]()) | st.builds(
    lambda good, fate: [*good, fate], st.lists(st.just(done), max_size=3), st.sampled_from(FATES)
)
"""What becomes of the first calls of an errand; then it goes on, if it can."""
chips = st.sampled_from([5, 10, 25, 100])
spots = st.sampled_from(["player", "banker", "tie"])
amounts = st.sampled_from([0, 1, 10, 150, 400, 2_000])


class MoneyMachine(RuleBasedStateMachine):
    """Runs in a thread; what touches the store runs in the loop of the test."""

    def __init__(self, driver: Driver, ledger: Ledger, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._driver = driver
        self._ledger = ledger
        self._loop = loop
        self._cashier = Cashier(Tables(driver), Wallets(driver))
        self._numbers = count(1)
        self._errands: list[Errand] = []
        self._late: list[Call] = []
        self._requests: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._leaves: dict[tuple[str, str], str] = {}
        self._operations: dict[str, tuple[str, Any, int]] = {}
        self._answered: list[tuple[str, ActLine, int, ActAnswer]] = []
        self._leases: dict[str, Lease] = {}
        self._run(self._open_house())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)

    async def _open_house(self) -> None:
        await self._ledger.raw.flushall()
        self._tables = [fresh_id("t") for _ in VARIANTS]
        self._patrons = [fresh_id("p") for _ in range(3)]
        for table, variant, seats in zip(self._tables, VARIANTS, (2, 5), strict=True):
            tie = {"maximums": {"player": MAXIMUM, "banker": MAXIMUM, "tie": MAXIMUM_TIE}, "minimum": MINIMUM}
            await Tables(self._driver).create(table, rules_of(variant, seats_max=seats, **tie), "inc", "run")
        for patron in self._patrons:
            await Wallets(self._driver).create(patron, "P", False, "abc", PLAY_MONEY)
        self._model = MoneyModel(self._ledger, self._tables, self._patrons)
        for patron, table in product(self._patrons, self._tables):
            sitter = Sitter(patron, "P", False, "n", f"{SOCKETS[0]}-{patron}")
            await attempt(self._cashier.sit_down(table, sitter, "r0", 400))  # one of the tables has two seats
        for table in self._tables:
            await self._play_on(self._driver, table, "n1")

    # --- errands ------------------------------------------------------------------------------------------------------

    def _begin(
        self, name: str, start: Callable[[Driver], Coroutine[Any, Any, object]], given: list[Fate], stays: bool
    ) -> Errand:
        """Begin an errand: its first calls have these fates, then it stays where it is, or goes on to its end."""
        return self._run(self._go(name, start, given, stays))  # type: ignore[no-any-return]

    async def _go(
        self, name: str, start: Callable[[Driver], Coroutine[Any, Any, object]], given: list[Fate], stays: bool
    ) -> Errand:
        errand = Errand(self._driver, self._late, start, name)
        await errand.reach()
        for fate in given:
            await self._step(errand, fate)
        if stays and not errand.is_over:
            self._errands.append(errand)
        else:
            await self._finish(errand)
        return errand

    async def _step(self, errand: Errand, fate: Fate) -> None:
        if not errand.is_over:
            await errand.step(fate)
            await self._model.look()

    async def _finish(self, errand: Errand) -> None:
        while not errand.is_over:
            await self._step(errand, "done")
        assert errand.refusal in KNOWN, errand.refusal

    def _nth(self, which: int) -> Errand:
        return self._errands[which % len(self._errands)]

    @precondition(lambda self: self._errands)
    @rule(which=st.integers(0, 5), given=st.lists(st.sampled_from(FATES), min_size=1, max_size=3))
    def goes_on(self, which: int, given: list[Fate]) -> None:
        """A stalled errand comes a little further."""
        errand = self._nth(which)
        for fate in given:
            self._run(self._step(errand, fate))
        if errand.is_over:
            self._errands.remove(errand)

    @precondition(lambda self: self._errands)
    @rule(which=st.integers(0, 5))
    def ends(self, which: int) -> None:
        errand = self._nth(which)
        self._errands.remove(errand)
        self._run(self._finish(errand))

    @precondition(lambda self: self._errands)
    @rule(which=st.integers(0, 5))
    def crashes(self, which: int) -> None:
        errand = self._nth(which)
        self._errands.remove(errand)
        self._run(errand.crash())

    @precondition(lambda self: self._late)
    @rule()
    def late_calls_arrive(self) -> None:
        self._run(self._let_late_calls_through())

    async def _let_late_calls_through(self) -> None:
        late, self._late[:] = list(self._late), []
        for script, names, args in late:
            with suppress(StoreError):  # nobody waits for the answer
                await self._driver.run(script, names, args)
            await self._model.look()

    # --- patrons ------------------------------------------------------------------------------------------------------

    @rule(
        who=whos,
        where=wheres,
        socket=sockets,
        amount=amounts,
        again=st.sampled_from([None, None, 0, 0, 1, 2]),
        given=fates,
        stays=st.booleans(),
    )
    def joins(
        self, who: int, where: int, socket: str, amount: int, again: int | None, given: list[Fate], stays: bool
    ) -> None:
        """Sits down or buys more chips, under a new request or one of the last (0: the very last)."""
        patron, table = self._patrons[who], self._tables[where]
        requests = self._requests.setdefault((patron, table), [])
        if again is None or again >= len(requests):
            requests.append((f"r{next(self._numbers)}", amount))
            again = 0
        request_id, buy_in = requests[-1 - again]
        sitter = Sitter(patron, "P", False, "n", self._socket(socket, patron, table))

        async def start(driver: Driver) -> object:
            return await Cashier(Tables(driver), Wallets(driver)).sit_down(table, sitter, request_id, buy_in)

        self._begin(f"{patron} joins {table} with {buy_in}", start, given, stays)

    @rule(who=whos, where=wheres, socket=sockets, again=st.booleans(), given=fates, stays=st.booleans())
    def leaves(self, who: int, where: int, socket: str, again: bool, given: list[Fate], stays: bool) -> None:
        patron, table = self._patrons[who], self._tables[where]
        if not again or (patron, table) not in self._leaves:
            self._leaves[patron, table] = f"l{next(self._numbers)}"
        request_id, connection = self._leaves[patron, table], self._socket(socket, patron, table)

        async def start(driver: Driver) -> object:
            cashier = Cashier(Tables(driver), Wallets(driver))
            return await cashier.get_up(table, patron, connection, request_id=request_id)

        self._begin(f"{patron} leaves {table}", start, given, stays)

    @rule(who=whos, where=wheres, reason=st.sampled_from(["left", "away", "idle"]), given=fates, stays=st.booleans())
    def is_seen_off(self, who: int, where: int, reason: str, given: list[Fate], stays: bool) -> None:
        """The house frees a seat; `left` and `away` only where that still holds."""
        patron, table = self._patrons[who], self._tables[where]

        async def start(driver: Driver) -> object:
            return await Cashier(Tables(driver), Wallets(driver)).get_up(table, patron, reason=reason)

        self._begin(f"{patron} is seen off {table}", start, given, stays)

    @rule(who=whos, given=fates, stays=st.booleans())
    def says_hello(self, who: int, given: list[Fate], stays: bool) -> None:
        patron = self._patrons[who]

        async def start(driver: Driver) -> object:
            return await Cashier(Tables(driver), Wallets(driver)).carry_all_in_of(patron)

        self._begin(f"{patron} says hello", start, given, stays)

    @rule(who=whos, where=wheres, socket=sockets, comes_back=st.booleans())
    def drops(self, who: int, where: int, socket: str, comes_back: bool) -> None:
        """The line drops; its node may have been taken for dead and find the seat again."""
        patron, table = self._patrons[who], self._tables[where]
        connection = self._socket(socket, patron, table)
        self._run(Tables(self._driver).go_away(table, patron, connection))
        if comes_back:
            self._run(Tables(self._driver).come_back(table, patron, "n", connection))

    @rule(
        who=whos,
        where=wheres,
        socket=sockets,
        verb=st.sampled_from(["place", "place", "place", "undo", "clear", "rebet", "double", "ready"]),
        spot=spots,
        chip=chips,
        late=st.sampled_from([-1, 0, 0, 0, 0, 1]),
        fate=st.sampled_from(["done", "done", "done", *FATES]),
    )
    def acts(self, who: int, where: int, socket: str, verb: str, spot: str, chip: int, late: int, fate: Fate) -> None:
        """An act, also of a round before or to come."""
        patron, table = self._patrons[who], self._tables[where]
        number = max(0, self._round(table) + late)
        on_spot = spot if verb in ("place", "undo") else ""
        request_id = f"a{next(self._numbers)}"
        line = ActLine(
            patron,
            self._socket(socket, patron, table),
            request_id,
            number,
            verb,
            on_spot,
            chip if verb == "place" else "",
        )
        self._send(table, line, fate)

    @precondition(lambda self: self._answered)
    @rule(which=st.integers(0, 9), socket=sockets, other_content=st.booleans())
    def repeats_an_act(self, which: int, socket: str, other_content: bool) -> None:
        """Over either socket: the first answer again; with another content a refusal."""
        table, line, at_round, first = self._answered[-1 - which % len(self._answered)]
        again = line._replace(connection=self._socket(socket, line.patron, table))
        if other_content:
            again = again._replace(round=line.round + 7)
        answer = self._send(table, again, "done", keeps=False)
        if self._round(table) <= at_round + 1:
            if other_content:
                assert answer.code == "REQUEST_REUSED"
            else:
                assert answer == first, "the same request has the same answer"

    def _socket(self, socket: str, patron: str, table: str) -> str:
        """The id of a connection."""
        if socket:
            return f"{socket}-{patron}"
        packed = self._run(self._ledger.hash_of(keys.table_key(table) + ":seats")).get(patron)
        return (packed and str(msgpack.unpackb(packed)["connection"])) or f"{SOCKETS[0]}-{patron}"

    def _round(self, table: str) -> int:
        return int(self._run(self._ledger.hash_of(keys.table_key(table)))["round"])

    def _send(self, table: str, line: ActLine, fate: Fate, *, keeps: bool = True) -> Any:
        at_round = self._round(table)
        errand = self._begin(
            f"{line.patron} {line.verb}", lambda driver: Tables(driver).acts(table, [line]), [fate], False
        )
        answer = (errand.result() or [None])[0]
        if keeps and answer is not None and answer.code not in NOT_KEPT:
            self._answered.append((table, line, at_round, answer))
        return answer

    # --- the house ----------------------------------------------------------------------------------------------------

    @rule(where=wheres, node=st.sampled_from(["n1", "n2"]), given=fates, stays=st.booleans())
    def an_owner_plays_on(self, where: int, node: str, given: list[Fate], stays: bool) -> None:
        """A new owner claims the table, whatever the one before is doing, and goes on to the next open round."""
        table = self._tables[where]
        self._begin(f"{node} plays on at {table}", lambda driver: self._play_on(driver, table, node), given, stays)

    async def _play_on(self, driver: Driver, table: str, node: str) -> None:
        raw: Any = self._ledger.raw
        await raw.hset(keys.table_key(table), "lease_until_ms", "0")
        owner = await Owner.of(Tables(driver), self._ledger, table, node)
        self._leases[table] = owner.lease
        asked, _ = await owner.tables.void_asked(table)
        if asked == owner.round and owner.state.phase in (Phase.BETTING, Phase.DEALING):
            change = machine.void_round(owner.state, table, await owner.now_ms(), "operator")
            await owner.tables.void_round(table, owner.lease, change)
            owner.state = change.state
        if owner.state.phase is Phase.BETTING:
            await owner.close_betting()
        if owner.state.phase is Phase.DEALING:
            await owner.deal()
        if not owner.state.is_settled:
            for line in await owner.settlements():
                await owner.settle([line])
            await owner.finish_round()
        await owner.open_betting()

    @rule(where=wheres, back=st.integers(0, 1))
    def the_operator_wants_a_round_void(self, where: int, back: int) -> None:
        table = self._tables[where]
        number = max(1, self._round(table) - back)
        self._run(attempt(Tables(self._driver).ask_void(table, number, "")))

    @rule(where=wheres, given=fates, stays=st.booleans())
    def the_house_looks_after_transfers(self, where: int, given: list[Fate], stays: bool) -> None:
        table = self._tables[where]

        async def start(driver: Driver) -> None:
            cashier = Cashier(Tables(driver), Wallets(driver))
            await cashier.carry_all_home(table)
            await cashier.carry_all_in(table, age_ms=0)

        self._begin(f"the house looks after {table}", start, given, stays)

    @precondition(lambda self: self._leases)
    @rule(where=wheres, given=fates, stays=st.booleans())
    def entries_are_copied(self, where: int, given: list[Fate], stays: bool) -> None:
        table = self._tables[where]
        lease = self._leases.get(table)
        if lease is not None:
            self._begin(
                f"projector of {table}",
                lambda driver: Projector(table, lease, Ledgers(driver), asyncio.Event()).project(),
                given,
                stays,
            )

    @rule(
        who=whos,
        kind=st.sampled_from(["credited", "debited"]),
        amount=st.sampled_from([1, 333, 5_000]),
        again=st.booleans(),
        given=fates,
    )
    def the_operator_moves_money(self, who: int, kind: Any, amount: int, again: bool, given: list[Fate]) -> None:
        """Under a new operation id, or that of the patron's last one."""
        patron = self._patrons[who]
        if not again or patron not in self._operations:
            self._operations[patron] = (f"o{next(self._numbers)}", kind, amount)
        operation, its_kind, its_amount = self._operations[patron]
        self._begin(
            f"{operation} of {patron}",
            lambda driver: Wallets(driver).operate(patron, operation, its_kind, its_amount),
            given,
            False,
        )

    # --- what holds ---------------------------------------------------------------------------------------------------

    @invariant()
    def all_of_it_adds_up(self) -> None:
        self._run(self._check())

    async def _check(self) -> None:
        await self._model.look()
        for table in self._tables:
            await self._ledger.check(table)
        found = await audit(Books(self._driver), Tables(self._driver), Ledgers(self._driver))
        assert found.differences == []
        assert found.replayed == len(self._tables)

    def teardown(self) -> None:
        self._run(self._come_to_an_end())

    async def _come_to_an_end(self) -> None:
        """Everything that stalls goes on, everybody goes home: all that is left is in wallets and with the house."""
        for errand in self._errands:
            await self._finish(errand)
        await self._let_late_calls_through()
        for table in self._tables:
            for _ in range(2):  # the round that was open, and one without a bet
                await self._go("the last owner", partial(self._play_on, table=table, node="last"), [], stays=False)
            await self._cashier.carry_all_home(table)
            await self._cashier.carry_all_in(table, age_ms=0)
        for patron, table in product(self._patrons, self._tables):
            await self._cashier.carry_all_in_of(patron)
            code, _ = await attempt(self._cashier.get_up(table, patron))
            assert code in ("ok", "NOT_SEATED")
            assert await self._cashier._wallets.open_buy_ins(patron) == []
            assert await self._cashier._tables.open_cash_outs(table, 10) == []
        await self._check()
        found = await audit(Books(self._driver), Tables(self._driver), Ledgers(self._driver))
        assert (found.stacks, found.open_bets, found.under_way) == (0, 0, 0)
        assert found.wallets + found.house == found.put_in - found.taken_out
        for patron in self._patrons:
            await self._check_once(patron)

    async def _check_once(self, patron: str) -> None:
        """No request and no operation has moved money twice."""
        moved: Counter[tuple[str, str, str]] = Counter()
        async for number, packed in Ledgers(self._driver).lines_after(patron, 0):
            line = statement_line(number, packed)
            if line.kind in OWN_KINDS and line.request_id:
                moved[line.kind, line.table or "", line.request_id] += 1
        assert max(moved.values(), default=0) <= 1, moved


@pytest.mark.timeout(60 + 40 * RUNS)
async def test_money_is_neither_lost_nor_made_whatever_happens(driver: Driver, ledger: Ledger) -> None:
    opened = partial(MoneyMachine, driver, ledger, asyncio.get_running_loop())
    await asyncio.to_thread(
        run_state_machine_as_test,
        cast("type[MoneyMachine]", opened),
        settings=settings(
            derandomize=not IS_LONG,
            phases=(Search.generate, Search.shrink) if IS_LONG else (Search.generate,),
            deadline=None,
            max_examples=RUNS,
            stateful_step_count=STEPS,
            suppress_health_check=list(HealthCheck),
        ),
    )
