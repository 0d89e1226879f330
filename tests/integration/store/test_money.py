"""Wallets, and transfers that stop half-way: nothing is lost, nothing doubled, and everything can be driven on."""

import asyncio
from collections import Counter
from itertools import product
from typing import get_args

import pytest
from redis.asyncio import Redis

from client_sdk.protocol.messages import AMOUNT_MAX
from server import sweeping
from server.cashier import Cashier, Sitter
from server.running import running
from server.store import keys
from server.store.driver import Driver
from server.store.errors import Refused, StoreAway, StoreRefused
from server.store.tables import ActLine, Leaving, Tables
from server.store.wallets import BuyIn, Wallet, Wallets
from tests.integration.store.checks import NODE, Ledger, Owner, attempt, fresh_id, refusal_of
from tests.integration.store.faults import Fault, FaultyDriver, Mode
from tests.support.table_rules import rules_of

MODES: tuple[Mode, ...] = get_args(Mode)
STEPS = list(product(range(3), MODES))
BUY_IN_STEPS = list(product(range(4), MODES))
"""Announced, given, taken, closed."""
REQUESTS_KEPT = 16


def sitter(patron: str, connection: str = "c1") -> Sitter:
    return Sitter(patron, patron.title(), False, NODE, connection)


async def balance_of(wallets: Wallets, patron: str) -> int:
    wallet = await wallets.read(patron)
    assert wallet is not None
    return wallet.balance


# --- Wallets ----------------------------------------------------------------------------------------------------------


async def test_a_wallet_is_opened_once(wallets: Wallets, ledger: Ledger) -> None:
    assert await wallets.create("p", "Pia", True, "abc", 1_000) == 1_000
    before = await ledger.contents()
    assert await refusal_of(wallets.create("p", "Other", False, "def", 5)) == "WALLET_EXISTS"
    assert await ledger.contents() == before
    assert await wallets.read("p") == Wallet(1_000, "Pia", True, "abc", 0, 0, 0, 0)
    await ledger.check_all([], ["p"])


async def test_bl_105_a_missing_wallet_is_an_error_never_a_new_one(wallets: Wallets, ledger: Ledger) -> None:
    """BL-105: no verb but `create` makes a wallet."""
    before = await ledger.contents()
    assert await wallets.read("ghost") is None
    assert await refusal_of(wallets.give_buy_in("ghost", "t", "r", 1)) == "UNKNOWN_PATRON"
    assert await refusal_of(wallets.close_buy_in("ghost", "t", 1, "ok")) == "UNKNOWN_PATRON"
    assert await refusal_of(wallets.take_cash_out("ghost", "t", 1, 5)) == "UNKNOWN_PATRON"
    assert await ledger.contents() == before


async def test_give_buy_in_and_its_refusals_in_their_order(wallets: Wallets, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 1_000)
    before = await ledger.contents()
    assert await refusal_of(wallets.give_buy_in("p", "t", "r1", 1_001)) == "INSUFFICIENT_WALLET"
    assert await ledger.contents() == before
    assert await wallets.give_buy_in("p", "t", "r1", 300) == BuyIn(1, 300, "")
    assert await wallets.read("p", "t") == Wallet(700, "Pia", False, "abc", 0, 1, 300, 0)
    assert await wallets.read("p", "u") == Wallet(700, "Pia", False, "abc", 0, 0, 0, 0)
    assert await wallets.read("p") == Wallet(700, "Pia", False, "abc", 0, 0, 0, open_count=1)
    before = await ledger.contents()
    assert await wallets.give_buy_in("p", "t", "r1", 300) == BuyIn(1, 300, "")
    assert await refusal_of(wallets.give_buy_in("p", "t", "r1", 301)) == "REQUEST_REUSED"
    with pytest.raises(Refused) as refused:
        await wallets.give_buy_in("p", "t", "r2", 10_000)
    assert (refused.value.code, refused.value.details) == ("OPEN", (1, 300))
    assert await ledger.contents() == before
    assert await wallets.give_buy_in("p", "u", "r1", 700) == BuyIn(1, 700, "")  # another table is another pair
    await ledger.check_all([], [])


async def test_close_buy_in_by_the_tables_answer_once(wallets: Wallets, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await wallets.give_buy_in("p", "t", "r1", 300)
    before = await ledger.contents()
    assert (await wallets.close_buy_in("p", "t", 2, "TABLE_FULL")).balance == 700
    assert (await wallets.close_buy_in("p", "u", 1, "TABLE_FULL")).balance == 700
    assert await ledger.contents() == before
    assert (await wallets.close_buy_in("p", "t", 1, "TABLE_FULL")).balance == 1_000
    before = await ledger.contents()
    for answer in ("TABLE_FULL", "ok"):
        assert (await wallets.close_buy_in("p", "t", 1, answer)).balance == 1_000
    assert await wallets.give_buy_in("p", "t", "r1", 300) == BuyIn(1, 300, "TABLE_FULL")
    assert await ledger.contents() == before
    assert await wallets.give_buy_in("p", "t", "r2", 300) == BuyIn(2, 300, "")
    assert (await wallets.close_buy_in("p", "t", 2, "ok")).balance == 700
    assert (await wallets.close_buy_in("p", "t", 2, "TABLE_FULL")).balance == 700
    assert await wallets.give_buy_in("p", "t", "r2", 300) == BuyIn(2, 300, "ok")
    assert await balance_of(wallets, "p") == 700


async def test_take_cash_out_once(wallets: Wallets, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 10)
    assert await wallets.take_cash_out("p", "t", 1, 5) == 15
    before = await ledger.contents()
    assert await wallets.take_cash_out("p", "t", 1, 5) == 15
    assert await wallets.take_cash_out("p", "t", 0, 5) == 15
    assert await ledger.contents() == before
    assert await wallets.take_cash_out("p", "t", 2, 5) == 20
    assert await wallets.take_cash_out("p", "u", 1, 5) == 25


async def test_a_wallet_of_sixteen_digits(wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", AMOUNT_MAX)
    assert (await cashier.sit_down(owner.table, sitter("p"), "r1", 2**52 + 1)).stack == 2**52 + 1
    assert await cashier.balance("p") == 2**52 - 2
    await ledger.check_all([owner.table], ["p"])
    assert await cashier.get_up(owner.table, "p", "c1") == AMOUNT_MAX
    await ledger.check_all([owner.table], ["p"])


# --- The cashier ------------------------------------------------------------------------------------------------------


async def test_buy_in_and_cash_out(wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    assert (await cashier.sit_down(owner.table, sitter("p"), "r0", 0)).stack == 0
    assert (await cashier.sit_down(owner.table, sitter("p"), "r1", 300)).stack == 300
    assert (await cashier.sit_down(owner.table, sitter("p"), "r1", 300)).stack == 300
    assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r1", 300)).connection_before == "c1"
    assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r2", 200)).stack == 500
    assert await cashier.balance("p") == 500
    assert await refusal_of(cashier.sit_down(owner.table, sitter("p", "c2"), "r3", 501)) == "INSUFFICIENT_WALLET"
    assert await refusal_of(cashier.sit_down(owner.table, sitter("p", "c2"), "r2", 201)) == "REQUEST_REUSED"
    assert await refusal_of(cashier.get_up(owner.table, "p", "c1")) == "SEAT_TAKEN_OVER"
    assert await cashier.get_up(owner.table, "p", "c2") == 1_000
    assert await refusal_of(cashier.get_up(owner.table, "p", "c2")) == "NOT_SEATED"
    await ledger.check_all([owner.table], ["p"])


async def test_a_full_table_gives_the_money_back_once(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await owner.seat("other")
    await wallets.create("p", "Pia", False, "abc", 1_000)
    for _ in range(3):
        assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), "r1", 300)) == "TABLE_FULL"
        assert await cashier.balance("p") == 1_000
    await tables.leave(owner.table, "other")
    assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), "r1", 300)) == "TABLE_FULL"  # the first answer
    assert (await cashier.sit_down(owner.table, sitter("p"), "r2", 300)).stack == 300
    assert await cashier.balance("p") == 700
    await ledger.check_all([owner.table], ["p"])


async def test_an_unknown_table_gives_the_money_back(wallets: Wallets, cashier: Cashier, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 1_000)
    nowhere = fresh_id("nowhere")
    assert await refusal_of(cashier.sit_down(nowhere, sitter("p"), "r1", 300)) == "UNKNOWN_TABLE"
    assert await cashier.balance("p") == 1_000
    await ledger.check_all([], ["p"])


async def test_get_up_with_bets_waits_for_the_round(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("p", "c-p"), "r1", 300)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    assert await cashier.get_up(owner.table, "p", "c-p") is None
    await ledger.check_all([owner.table], ["p"])
    await owner.end_round()
    assert (await cashier.get_up(owner.table, "p") or 0) in (975, 1_000, 1_025)
    await ledger.check_all([owner.table], ["p"])


@pytest.mark.parametrize(("run", "mode"), BUY_IN_STEPS)
async def test_a_buy_in_that_stopped_anywhere_is_driven_on_under_its_request(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    await ledger.check_all([owner.table], ["p"])
    assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r1", 300)).stack == 300
    await faulty.let_late_runs_through()
    assert (await cashier.sit_down(owner.table, sitter("p", "c3"), "r1", 300)).stack == 300
    assert await cashier.balance("p") == 700
    await ledger.check_all([owner.table], ["p"])


@pytest.mark.parametrize(("run", "mode"), BUY_IN_STEPS)
async def test_a_buy_in_that_stopped_anywhere_is_driven_on_by_the_next_one(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    was_given = run > 1 or (run == 1 and mode == "after")
    stack = 400 if was_given else 100
    assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r2", 100)).stack == stack
    assert await cashier.balance("p") == 1_000 - stack
    await ledger.check_all([owner.table], ["p"])
    await faulty.let_late_runs_through()
    await ledger.check_all([owner.table], ["p"])


@pytest.mark.parametrize(("run", "mode"), BUY_IN_STEPS)
async def test_chips_on_their_way_arrive_with_the_next_seat(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    """Also where the patron comes back without buying in."""
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    stack = 300 if run > 1 or (run == 1 and mode == "after") else 0
    for _ in range(2):
        assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r2", 0)).stack == stack
        assert await cashier.balance("p") == 1_000 - stack
    await faulty.let_late_runs_through()
    await ledger.check_all([owner.table], ["p"])


@pytest.mark.parametrize("driven_by", ["the next hello", "the table's owner"])
@pytest.mark.parametrize(("run", "mode"), BUY_IN_STEPS)
async def test_chips_on_their_way_arrive_without_their_patron(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
    driven_by: str,
) -> None:
    """Nobody joins again: the chips come to a seat that is away, and from there home like any other."""
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    was_taken = run == 3 or (run == 2 and mode == "after")
    for _ in range(2):
        if driven_by == "the next hello":
            await cashier.carry_all_in_of("p")
        else:
            await cashier.carry_all_in(owner.table, age_ms=0)
            assert await tables.expected_buy_ins(owner.table, 0, 10) == []
        was_given = run > 1 or (run == 1 and mode == "after")
        assert await cashier.balance("p") == (700 if was_given else 1_000)
        assert (await wallets.open_buy_ins("p"), await ledger.members_of(f"{owner.key}:away")) == (
            [],
            {"p"} if was_given and not was_taken else set(),
        )
        await ledger.check(owner.table)
        await ledger.check_all([owner.table], ["p"])
    await faulty.let_late_runs_through()
    await ledger.check_all([owner.table], ["p"])
    if was_given:  # the client comes back and asks what became of its request
        assert (await cashier.sit_down(owner.table, sitter("p", "c2"), "r1", 300)).stack == 300
        assert await cashier.get_up(owner.table, "p", "c2") == 1_000


async def test_a_seat_that_is_there_keeps_its_connection_when_chips_are_driven_on(
    faulty: FaultyDriver, wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("p", "c1"), "r1", 300)
    await wallets.give_buy_in("p", owner.table, "r2", 100)
    before = await ledger.hash_of(f"{owner.key}:seats")
    assert await cashier.carry_all_in_of("p") == 1
    assert await ledger.hash_of(f"{owner.key}:seats") == before
    assert await cashier.get_up(owner.table, "p", "c1") == 1_000
    await wallets.give_buy_in("p", owner.table, "r3", 100)
    seated = await tables.sit(owner.table, "p", "Pia", False, NODE, "c1", 3, 100)
    assert seated.stack == 100
    assert await tables.leave(owner.table, "p", "c1") == Leaving("gone", 2, 100)
    await cashier.carry_in(owner.table, "p")  # taken, and left again: no seat comes of it a second time
    assert (await tables.view(owner.table, "p")).view.you is None
    await cashier.carry_all_home(owner.table)
    assert await cashier.balance("p") == 1_000
    await ledger.check_all([owner.table], ["p"])


async def test_the_tables_owner_looks_after_transfers_by_itself_and_again_after_an_outage(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeping, "SWEEP_MS", (1, 5))
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("going", "p"):
        await wallets.create(patron, "P", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("going"), "r1", 300)
    await tables.leave(owner.table, "going")
    await tables.expect_buy_in(owner.table, "p")
    await wallets.give_buy_in("p", owner.table, "r1", 300)
    monkeypatch.setattr(Cashier.carry_all_in, "__defaults__", (0,))
    faulty.arm(Fault(1, "after"))
    sweep = sweeping.sweep_for_ever(owner.table, Cashier(Tables(faulty), Wallets(faulty)))
    async with running(sweep), asyncio.timeout(10):
        while await tables.open_cash_outs(owner.table, 1) or await wallets.open_buy_ins("p"):
            await asyncio.sleep(0.005)
    assert (await cashier.balance("going"), await cashier.balance("p")) == (1_000, 700)
    await ledger.check_all([owner.table], ["going", "p"])


async def test_chips_that_are_driven_on_to_a_full_table_come_back(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await owner.seat("other")
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await tables.expect_buy_in(owner.table, "p")
    await wallets.give_buy_in("p", owner.table, "r1", 300)
    await cashier.carry_all_in(owner.table, age_ms=0)
    assert await cashier.balance("p") == 1_000
    await ledger.check_all([owner.table], ["p"])


async def test_a_buy_in_is_left_to_whoever_brings_it_for_a_while(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await tables.expect_buy_in(owner.table, "p")
    await wallets.give_buy_in("p", owner.table, "r1", 300)
    ((patron, expected_at_ms),) = await tables.expected_buy_ins(owner.table, 0, 10)
    assert patron == "p"
    await cashier.carry_all_in(owner.table)
    assert await wallets.open_buy_ins("p") == [owner.table]
    await tables.forget_buy_ins(owner.table, [("p", expected_at_ms - 1)])  # it was announced again since then
    assert await tables.expected_buy_ins(owner.table, 0, 10) == [("p", expected_at_ms)]


async def test_a_cash_out_without_a_wallet_holds_nobody_elses_up(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger, raw: Redis
) -> None:
    """The wallets of a server that came back empty are gone; those of others get what is theirs."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("lost", "p"):
        await wallets.create(patron, "P", False, "abc", 1_000)
        await cashier.sit_down(owner.table, sitter(patron), "r1", 300)
        await tables.leave(owner.table, patron)
    await raw.delete(keys.wallet_key("lost"))
    await cashier.carry_all_home(owner.table)
    assert await tables.open_cash_outs(owner.table, 10) == [("lost", 1, 300)]
    assert await cashier.balance("p") == 1_000


async def test_a_transfer_that_an_unknown_table_refused_stays_refused(
    wallets: Wallets, tables: Tables, ledger: Ledger
) -> None:
    """Its giver has the money back, so a stalled finisher may not bring it to a table that was opened since."""
    table = fresh_id("t")
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await wallets.give_buy_in("p", table, "r1", 300)
    assert await refusal_of(tables.sit(table, "p", "P", False, NODE, "c", 1, 300)) == "UNKNOWN_TABLE"
    assert (await wallets.close_buy_in("p", table, 1, "UNKNOWN_TABLE")).balance == 1_000
    await tables.create(table, rules_of(), "inc", "run")
    assert await refusal_of(tables.sit(table, "p", "P", False, NODE, "c", 1, 300)) == "UNKNOWN_TABLE"
    await ledger.check_all([table], ["p"])


@pytest.mark.parametrize(("run", "mode"), BUY_IN_STEPS)
async def test_a_refused_buy_in_that_stopped_anywhere_gives_the_money_back_once(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await owner.seat("other")
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    await ledger.check_all([owner.table], ["p"])
    for request_id in ("r1", "r1", "r2"):
        assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), request_id, 300)) == "TABLE_FULL"
        assert await cashier.balance("p") == 1_000
    await tables.leave(owner.table, "other")  # room for a seat, but that transfer was decided
    await faulty.let_late_runs_through()
    await ledger.check_all([owner.table], ["p"])
    if not (run == 1 and mode == "late"):  # else the first request has only now reached the wallet
        assert await cashier.balance("p") == 1_000


@pytest.mark.parametrize("leaves", [True, False])
async def test_chips_that_were_taken_are_not_refunded_because_the_table_filled_up(
    faulty: FaultyDriver, wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger, leaves: bool
) -> None:
    """The answer to the buy-in was lost, the seat was given up meanwhile, and another patron took it."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await wallets.create("p", "Pia", False, "abc", 1_000)
    faulty.arm(Fault(2, "after"))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).sit_down(owner.table, sitter("p"), "r1", 300)
    if leaves:
        assert await cashier.get_up(owner.table, "p") == 1_000
        await owner.seat("other")
    seated = await cashier.sit_down(owner.table, sitter("p"), "r1", 300)
    assert seated.stack == (0 if leaves else 300)
    assert await cashier.balance("p") == (1_000 if leaves else 700)
    await ledger.check_all([owner.table], ["p"])


@pytest.mark.parametrize(("run", "mode"), STEPS)
async def test_a_cash_out_that_stopped_anywhere_is_driven_on(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    for driven_by in ("the patron", "the owner", "the next cash-out"):
        owner = await Owner.of_new_table(tables, ledger)
        patron = fresh_id("p")
        await wallets.create(patron, "Pia", False, "abc", 1_000)
        await cashier.sit_down(owner.table, sitter(patron), "r1", 300)
        faulty.arm(Fault(run, mode))
        with pytest.raises(StoreAway):
            await Cashier(Tables(faulty), Wallets(faulty)).get_up(owner.table, patron, "c1")
        await ledger.check_all([owner.table], [patron])
        if driven_by == "the owner":
            await cashier.carry_all_home(owner.table)
        elif driven_by == "the next cash-out":
            await cashier.sit_down(owner.table, sitter(patron), "r2", 200)
            await ledger.check_all([owner.table], [patron])
        assert await attempt(cashier.get_up(owner.table, patron, "c1")) in (("ok", 1_000), ("NOT_SEATED", None))
        assert await cashier.balance(patron) == 1_000
        await faulty.let_late_runs_through()
        await ledger.check_all([owner.table], [patron])
        assert await cashier.balance(patron) == 1_000
        assert await tables.open_cash_outs(owner.table, 10) == []


# --- The same request again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("run", "mode"), STEPS)
async def test_a_leave_that_stopped_anywhere_gets_its_first_answer_when_it_is_repeated(
    faulty: FaultyDriver,
    wallets: Wallets,
    tables: Tables,
    cashier: Cashier,
    ledger: Ledger,
    run: int,
    mode: Mode,
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("p"), "r1", 300)
    faulty.arm(Fault(run, mode))
    with pytest.raises(StoreAway):
        await Cashier(Tables(faulty), Wallets(faulty)).get_up(owner.table, "p", "c1", request_id="l1")
    for _ in range(3):
        assert await cashier.get_up(owner.table, "p", "c1", request_id="l1") == 1_000
    await faulty.let_late_runs_through()
    assert await cashier.get_up(owner.table, "p", "c2", request_id="l1") == 1_000  # over another connection
    await ledger.check_all([owner.table], ["p"])
    assert await refusal_of(cashier.get_up(owner.table, "p", "c1", request_id="l2")) == "NOT_SEATED"
    await cashier.sit_down(owner.table, sitter("p"), "r2", 400)
    assert await cashier.get_up(owner.table, "p", "c1", request_id="l1") == 600  # a late repeat frees no newer seat
    assert (await tables.view(owner.table, "p")).view.you is not None
    assert await cashier.get_up(owner.table, "p", "c1", request_id="l3") == 1_000
    await ledger.check_all([owner.table], ["p"])
    await ledger.check(owner.table)


async def test_a_leave_repeated_by_a_connection_that_took_the_seat_again_frees_it(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    """A client resumes its seats before it repeats what had no answer."""
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("p", "c1"), "r1", 300)
    assert await cashier.get_up(owner.table, "p", "c1", request_id="l1") == 1_000
    await cashier.sit_down(owner.table, sitter("p", "c2"), "resume", 0)
    for _ in range(2):
        assert await cashier.get_up(owner.table, "p", "c2", request_id="l1") == 1_000
        assert (await tables.view(owner.table, "p")).view.you is None
    await ledger.check(owner.table)


async def test_a_leave_with_bets_repeated_says_so_again(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await cashier.sit_down(owner.table, sitter("p", "c-p"), "r1", 300)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    for _ in range(2):
        assert await cashier.get_up(owner.table, "p", "c-p", request_id="l1") is None
    await owner.end_round()
    assert await cashier.get_up(owner.table, "p", "c-p", request_id="l1") is None
    await cashier.get_up(owner.table, "p", reason="left")
    assert await cashier.get_up(owner.table, "p", "c-p", request_id="l1") is None
    assert await refusal_of(cashier.get_up(owner.table, "p", "c-p", request_id="l2")) == "NOT_SEATED"
    await ledger.check_all([owner.table], ["p"])


async def test_the_newest_leaves_are_known(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    for number in range(REQUESTS_KEPT + 1):
        await owner.seat("p")
        assert (await tables.leave(owner.table, "p", "c-p", request_id=f"l{number}")).how == "gone"
    before = await ledger.contents()
    for number in range(1, REQUESTS_KEPT + 1):
        assert await tables.leave(owner.table, "p", "c-p", request_id=f"l{number}") == Leaving("gone", 0, 0)
    assert await refusal_of(tables.leave(owner.table, "p", "c-p", request_id="l0")) == "NOT_SEATED"
    assert await ledger.contents() == before


async def test_the_newest_buy_ins_are_known(wallets: Wallets, cashier: Cashier, tables: Tables, ledger: Ledger) -> None:
    """Each under its own request, whatever came after it; accepted or refused, with the same amount or another."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await wallets.create("p", "Pia", False, "abc", 10_000)
    await owner.seat("other")
    assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), "full", 5)) == "TABLE_FULL"
    await tables.leave(owner.table, "other")
    requests = [f"r{number}" for number in range(REQUESTS_KEPT - 1)]
    for number, request_id in enumerate(requests):
        assert (await cashier.sit_down(owner.table, sitter("p"), request_id, 10 + number)).is_seated
    laid = sum(range(10, 10 + len(requests)))
    before = await ledger.contents(":seats")
    for number, request_id in enumerate(requests):
        assert (await cashier.sit_down(owner.table, sitter("p"), request_id, 10 + number)).stack == laid
        assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), request_id, 9)) == "REQUEST_REUSED"
    assert await refusal_of(cashier.sit_down(owner.table, sitter("p"), "full", 5)) == "TABLE_FULL"
    assert {key: value for key, value in (await ledger.contents(":seats")).items() if "{t:" not in key} == {
        key: value for key, value in before.items() if "{t:" not in key
    }
    assert await cashier.balance("p") == 10_000 - laid
    await cashier.sit_down(owner.table, sitter("p"), "one more", 1)
    assert (await cashier.sit_down(owner.table, sitter("p"), "full", 5)).stack == laid + 6  # that one is forgotten
    await ledger.check_all([owner.table], ["p"])


async def test_stalled_and_reordered_buy_ins_count_once_each(
    faulty: FaultyDriver, wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger
) -> None:
    """A request that stalls on its way arrives after others, and after its own repeat."""
    owner = await Owner.of_new_table(tables, ledger)
    await wallets.create("p", "Pia", False, "abc", 10_000)
    stalled = Cashier(Tables(faulty), Wallets(faulty))
    for number in range(4):
        faulty.arm(Fault(1, "late"))
        with pytest.raises(StoreAway):
            await stalled.sit_down(owner.table, sitter("p"), f"r{number}", 100)
    for number in (2, 0, 3, 1):
        await cashier.sit_down(owner.table, sitter("p"), f"r{number}", 100)
    await faulty.let_late_runs_through()
    for number in (3, 1, 0, 2):
        assert (await cashier.sit_down(owner.table, sitter("p"), f"r{number}", 100)).stack == 400
    assert await cashier.balance("p") == 9_600
    await ledger.check_all([owner.table], ["p"])


# --- A store without memory -------------------------------------------------------------------------------------------


async def test_bl_106_a_full_memory_means_the_whole_effect_or_none(
    wallets: Wallets, tables: Tables, cashier: Cashier, ledger: Ledger, raw: Redis
) -> None:
    """BL-106: every verb, tried while the store takes no more: an error or an answer, never half a state."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("p", "q"):
        await wallets.create(patron, "P", False, "abc", 1_000)
        await cashier.sit_down(owner.table, sitter(patron, f"c-{patron}"), "r1", 300)
    await wallets.give_buy_in("p", owner.table, "r2", 100)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    opening_of_another = fresh_id("t")
    act = ActLine("p", "c-p", "r9", owner.round, "clear", "", "")
    tried: Counter[str] = Counter()
    await raw.config_set("maxmemory", "1")
    try:
        for call in (
            lambda: tables.create(opening_of_another, rules_of(), "inc", "run"),
            lambda: wallets.create("r", "R", False, "abc", 1_000),
            lambda: wallets.give_buy_in("q", owner.table, "r2", 100),
            lambda: wallets.close_buy_in("p", owner.table, 1, "ok"),
            lambda: tables.sit(owner.table, "p", "P", False, NODE, "c-p", 2, 100),
            lambda: tables.sit(owner.table, "new", "N", False, NODE, "c-n", 1, 100),
            lambda: tables.acts(owner.table, [act, act._replace(verb="place", spot="tie", chip=10, request_id="r8")]),
            lambda: tables.go_away(owner.table, "q", "c-q"),
            lambda: tables.leave(owner.table, "q", "c-q"),
            lambda: tables.freeze_bets(owner.table, owner.lease, owner.round, 0),
            lambda: tables.claim(owner.table, NODE, 1_000),
        ):
            before = await ledger.contents()
            try:
                code, _ = await attempt(call())
            except StoreRefused:
                code = "no memory"
            assert code in ("ok", "no memory", "TOO_EARLY")
            if code != "ok":
                assert await ledger.contents() == before
            tried[code] += 1
            await ledger.check(owner.table)
    finally:
        await raw.config_set("maxmemory", "0")
    assert tried.total() == 11
    assert tried["no memory"] >= 6
    claimed = await tables.claim(owner.table, NODE, 60_000)
    owner.lease = claimed.lease
    await owner.end_round()
    await ledger.check(owner.table)
    assert keys.table_key(opening_of_another) not in await ledger.contents()


async def test_a_store_without_memory_settles_afterwards(
    tables: Tables, ledger: Ledger, raw: Redis, driver: Driver
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 300)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    await owner.close_betting()
    await owner.deal()
    await raw.config_set("maxmemory", "1")
    try:
        left = await owner.settle()
        assert left == 0
        with pytest.raises(StoreRefused):
            await owner.finish_round()
    except StoreRefused:
        pass
    finally:
        await raw.config_set("maxmemory", "0")
    await ledger.check(owner.table)
    assert await owner.settle() == 0
    await owner.finish_round()
    assert (await tables.settled_sums(owner.table))[1] == 1
    await ledger.check(owner.table)
