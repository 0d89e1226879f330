"""Seats: sit, go_away, come_back, clear_dead_seats, leave, departures; and the count of connected seats."""

import asyncio
from typing import Any, cast

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.store.bus import Subscription
from server.store.driver import Driver
from server.store.errors import Refused
from server.store.tables import Leaving, Seated, Tables
from tests.integration.store.checks import NODE, Ledger, Owner, age_seats, attempt, fresh_id, refusal_of
from tests.integration.store.conftest import PATIENCE_MS
from tests.support.table_rules import rules_of


@pytest.fixture
async def owner(tables: Tables, ledger: Ledger) -> Owner:
    return await Owner.of_new_table(tables, ledger)


async def seats_of(tables: Tables, table: str) -> dict[str, bool]:
    """Who is seated, and whether connected."""
    seats = (await tables.view(table)).view.crowd.seats
    assert seats is not None
    return {seat.patron: seat.connected for seat in seats}


# --- sit --------------------------------------------------------------------------------------------------------------


async def test_a_seat_with_chips(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    assert await tables.sit(owner.table, "p", "Pia", True, NODE, "c1", 1, 500) == Seated(500, "", True)
    row = await tables.view(owner.table, "p")
    assert row.connection == "c1"
    assert row.view.you is not None
    assert (row.view.you.stack, row.view.you.bets, row.view.you.last_bets) == (500, {}, {})
    assert row.view.crowd.seats is not None
    (seat,) = row.view.crowd.seats
    assert (seat.patron, seat.name, seat.bot, seat.connected, seat.ready) == ("p", "Pia", True, True, False)
    assert await tables.sit(owner.table, "p", "Pia", True, NODE, "c1", 2, 250) == Seated(750, "", True)
    assert await tables.sit(owner.table, "p", "Pia", True, NODE, "c1") == Seated(750, "", True)
    assert await tables.sit(owner.table, "p", "Pia", True, NODE, "c2", take_back=True) == Seated(750, "c1", True)
    await ledger.check(owner.table)


async def test_sit_refusals_in_their_order(tables: Tables, ledger: Ledger) -> None:
    nowhere = fresh_id("nowhere")
    before = await ledger.contents()
    assert await refusal_of(tables.sit(nowhere, "p", "P", False, NODE, "c")) == "UNKNOWN_TABLE"
    assert await refusal_of(tables.expect_buy_in(nowhere, "p")) == "UNKNOWN_TABLE"
    assert await ledger.contents() == before
    assert await refusal_of(tables.sit(nowhere, "p", "P", False, NODE, "c", 1, 10)) == "UNKNOWN_TABLE"
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=2))
    for patron in ("a", "b"):
        await owner.seat(patron)
    before = await ledger.contents()
    taking_back = tables.sit(owner.table, "p", "P", False, NODE, "c", take_back=True)
    assert await refusal_of(taking_back) == "NOT_SEATED"
    assert await refusal_of(tables.sit(owner.table, "p", "P", False, NODE, "c")) == "TABLE_FULL"
    assert await ledger.contents() == before
    before = await ledger.contents("transfers")
    assert await refusal_of(tables.sit(owner.table, "p", "P", False, NODE, "c", 1, 10)) == "TABLE_FULL"
    assert await ledger.contents("transfers") == before
    assert await owner.seat("a", 10) == "c-a"  # who has a seat is not kept out by a full table
    await ledger.check(owner.table)


async def test_a_transfer_is_decided_once(tables: Tables, ledger: Ledger) -> None:
    """Whether it was taken or refused: the first answer stands, also when it would be another one by now."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))

    async def sit(patron: str, n: int, amount: int) -> Seated:
        return await tables.sit(owner.table, patron, patron, False, NODE, f"c-{patron}", n, amount)

    assert (await sit("a", 1, 100)).stack == 100
    assert (await sit("a", 1, 100)).stack == 100
    assert await refusal_of(sit("b", 1, 100)) == "TABLE_FULL"
    await tables.leave(owner.table, "a", "c-a")
    assert await refusal_of(sit("b", 1, 100)) == "TABLE_FULL"  # there is room, but the giver may have its money back
    assert (await sit("b", 2, 70)).stack == 70
    assert await sit("a", 1, 100) == Seated(0, "", False), "taken, and carried home since: a refusal would refund"
    assert await seats_of(tables, owner.table) == {"b": True}
    await tables.leave(owner.table, "b", "c-b")
    assert (await sit("a", 1, 100)).stack == 0
    assert await seats_of(tables, owner.table) == {"a": True}
    await ledger.check(owner.table)
    head = await ledger.hash_of(owner.key)
    assert (head["bought_in"], head["cashed_out"]) == (b"170", b"170")


@pytest.mark.usefixtures("patient")
async def test_five_hundred_sit_down_at_once_where_seven_seats_are_left(
    tables: Tables, ledger: Ledger, store_url: str
) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=10))
    for patron in ("x", "y", "z"):
        await owner.seat(patron)
    async with Driver(store_url, call_timeout_ms=PATIENCE_MS) as other:
        nodes = [tables, Tables(other)]

        async def sit(number: int) -> str:
            try:
                await nodes[number % 2].sit(owner.table, f"p{number}", "P", False, NODE, f"c{number}", 1, 10)
            except Refused as refused:
                return refused.code
            return "ok"

        codes = await asyncio.gather(*(sit(number) for number in range(500)))
    assert codes.count("ok") == 7
    assert codes.count("TABLE_FULL") == 493
    pulse = await tables.renew(owner.table, owner.lease)
    assert (pulse.seated, pulse.connected) == (10, 10)
    await ledger.check(owner.table)


# --- Two connections of one patron ------------------------------------------------------------------------------------


async def test_a_second_connection_takes_the_seat_over(
    driver: Driver, tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    subscription = Subscription(driver)
    await subscription.add(owner.table)
    await owner.seat("p", 500, "old")
    await owner.open_betting()
    await owner.act("p", "place", "player", 25, connection="old")
    assert await tables.sit(owner.table, "p", "P", False, "node-2", "new") == Seated(475, "old", True)
    assert (await tables.view(owner.table, "p")).connection == "new"
    kinds = []
    while (envelope := await asyncio.wait_for(subscription.next(), 5)).kind != "seat":
        kinds.append(envelope.kind)
    assert msgpack.unpackb(envelope.body) == ["p", "old"]
    assert kinds.count("event") == 2

    lying = await ledger.contents()
    assert not await tables.go_away(owner.table, "p", "old"), "the late close of the first"
    assert not await tables.come_back(owner.table, "p", NODE, "old")
    assert await refusal_of(tables.leave(owner.table, "p", "old")) == "SEAT_TAKEN_OVER"
    assert await ledger.contents() == lying
    assert (await owner.act("p", "undo", connection="new")).stack == 500
    await ledger.check(owner.table)
    await subscription.close()


async def test_a_takeover_keeps_readiness_and_the_clock_of_joins(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """A reconnect of a connected seat is no join; one of an away seat is."""
    await owner.seat("p", 500)
    await owner.open_betting()
    await owner.act("p", "ready")
    await cast("Any", ledger.raw.hset(owner.key, "last_join_at_ms", "5"))
    await owner.seat("p", connection="new")
    pulse = await tables.renew(owner.table, owner.lease)
    assert (pulse.all_ready, pulse.last_join_at_ms) == (True, 5)
    await tables.go_away(owner.table, "p", "new")
    await owner.seat("p", connection="newer")
    pulse = await tables.renew(owner.table, owner.lease)
    assert not pulse.all_ready
    assert pulse.last_join_at_ms > 5
    await ledger.check(owner.table)


async def test_away_and_back(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p", 500)
    assert await tables.go_away(owner.table, "p", "c-p")
    lying = await ledger.contents()
    assert not await tables.go_away(owner.table, "p", "c-p")
    assert not await tables.go_away(owner.table, "stranger", "c-p")
    assert not await tables.come_back(owner.table, "p", NODE, "other")
    assert not await tables.come_back(owner.table, "stranger", NODE, "c-p")
    assert await ledger.contents() == lying
    assert await seats_of(tables, owner.table) == {"p": False}
    assert not await tables.come_back(owner.table, "p", NODE, "c-p"), "that connection is gone for good"
    await owner.seat("p")
    assert await seats_of(tables, owner.table) == {"p": True}
    assert not await tables.come_back(owner.table, "p", NODE, "c-p")
    await ledger.check(owner.table)


async def test_a_seat_whose_node_was_only_slow_comes_back(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p", 500)
    await age_seats(ledger, owner.table)
    assert await tables.clear_dead_seats(owner.table, []) == 1
    lying = await ledger.contents()
    assert not await tables.go_away(owner.table, "p", "c-p"), "it is away already"
    assert not await tables.come_back(owner.table, "p", NODE, "other")
    assert await ledger.contents() == lying
    assert await tables.come_back(owner.table, "p", "node-2", "c-p")
    assert await seats_of(tables, owner.table) == {"p": True}
    assert await tables.clear_dead_seats(owner.table, []) == 0, "it came back a moment ago"
    await ledger.check(owner.table)


async def test_seats_of_dead_nodes_count_as_away(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    for number in range(4):
        await tables.sit(owner.table, f"p{number}", "P", False, f"node-{number % 2}", f"c{number}")
    before = await ledger.contents()
    assert await tables.clear_dead_seats(owner.table, ["node-0", "node-1"]) == 0
    assert await tables.clear_dead_seats(owner.table, ["node-0"]) == 0, "they sat down a moment ago"
    assert await ledger.contents() == before
    await age_seats(ledger, owner.table)
    await owner.open_betting()
    for number in range(4):
        await owner.act(f"p{number}", "ready", connection=f"c{number}")
    assert await tables.clear_dead_seats(owner.table, ["node-0"]) == 2
    assert await tables.clear_dead_seats(owner.table, ["node-0"]) == 0
    assert await seats_of(tables, owner.table) == {"p0": True, "p1": False, "p2": True, "p3": False}
    assert (await tables.renew(owner.table, owner.lease)).all_ready
    await ledger.check(owner.table)
    assert await tables.clear_dead_seats(owner.table, []) == 2
    assert not (await tables.renew(owner.table, owner.lease)).all_ready
    await ledger.check(owner.table)


# --- Leaving ----------------------------------------------------------------------------------------------------------


async def test_leave_takes_the_stack_along_as_the_next_transfer(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p", 500)
    assert await tables.leave(owner.table, "p", "c-p") == Leaving("gone", 1, 500)
    await ledger.check(owner.table)
    assert await seats_of(tables, owner.table) == {}
    lying = await ledger.contents()
    for connection in ("c-p", "other", ""):
        assert await tables.leave(owner.table, "p", connection) == Leaving("open", 1, 500)
    assert await ledger.contents() == lying
    await tables.close_cash_out(owner.table, "p", 2)  # not that one
    await tables.close_cash_out(owner.table, "q", 1)
    assert await ledger.contents() == lying
    await tables.close_cash_out(owner.table, "p", 1)
    await tables.close_cash_out(owner.table, "p", 1)
    assert await refusal_of(tables.leave(owner.table, "p", "c-p")) == "NOT_SEATED"
    await tables.sit(owner.table, "p", "P", False, NODE, "c-p", 2, 70)
    assert await tables.leave(owner.table, "p", "c-p") == Leaving("gone", 2, 70)
    await ledger.check(owner.table)


async def test_leave_refusals_in_their_order_change_nothing(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    before = await ledger.contents()
    assert await refusal_of(tables.leave(owner.table, "p", "c-p")) == "NOT_SEATED"
    assert await refusal_of(tables.leave(fresh_id("nowhere"), "p", "c-p")) == "NOT_SEATED"
    assert await ledger.contents() == before
    await owner.seat("p", 500)
    before = await ledger.contents()
    assert await refusal_of(tables.leave(owner.table, "p", "other")) == "SEAT_TAKEN_OVER"
    assert await ledger.contents() == before


async def test_a_leaver_takes_its_readiness_along(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """Or it would stand for a seat that is not ready."""
    for patron in ("p", "q"):
        await owner.seat(patron, 500)
    await owner.open_betting()
    await owner.act("p", "ready")
    await tables.leave(owner.table, "p", "c-p")
    assert not (await tables.renew(owner.table, owner.lease)).all_ready
    await ledger.check(owner.table)


async def test_an_empty_stack_leaves_without_a_transfer(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p")
    assert await tables.leave(owner.table, "p", "c-p") == Leaving("gone", 0, 0)
    assert await tables.open_cash_outs(owner.table, 10) == []
    await ledger.check(owner.table)


async def test_a_leaver_with_bets_goes_after_the_round_unless_it_joins_again(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    for patron in ("p", "q"):
        await owner.seat(patron, 500)
    await owner.open_betting()
    for patron in ("p", "q"):
        await owner.act(patron, "place", "player", 25)
        assert await tables.leave(owner.table, patron, f"c-{patron}") == Leaving("after_round", 0, 0)
    row = await tables.view(owner.table, "p")
    assert row.view.you is not None
    assert row.view.you.leaving
    assert await tables.departures(owner.table, 30_000, 60, 10) == []  # their bets lie
    await owner.seat("q")
    await owner.end_round()
    assert await tables.departures(owner.table, 30_000, 60, 10) == [("p", "left")]
    assert (await tables.leave(owner.table, "p")).how == "gone"
    assert await seats_of(tables, owner.table) == {"q": True}
    assert await tables.departures(owner.table, 30_000, 60, 10) == []
    await ledger.check(owner.table)


async def test_departures_after_the_grace_time(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    for patron in ("long", "short", "here"):
        await owner.seat(patron, 500)
    for patron in ("long", "short"):
        await tables.go_away(owner.table, patron, f"c-{patron}")
    since_ms = await owner.now_ms() - 30_000
    await ledger.raw.zadd(f"{owner.key}:away", {"long": since_ms})
    before = await ledger.contents()
    assert await tables.departures(owner.table, 30_000, 60, 10) == [("long", "away")]
    assert await ledger.contents() == before
    await owner.seat("long")
    assert await tables.departures(owner.table, 30_000, 60, 10) == []
    assert sorted(await tables.departures(owner.table, -1, 60, 10)) == [("short", "away")]


async def test_an_idle_seat_is_warned_one_round_before_it_is_freed(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    await owner.seat("idle", 500)
    await owner.seat("plays", 500)
    told = []
    for _ in range(6):
        await owner.open_betting()
        await owner.act("plays", "place", "player", 25)
        await owner.end_round()
        leaving = await tables.departures(owner.table, 30_000, 4, 10)
        told.append(leaving)
        for patron, reason in leaving:
            if reason == "idle":
                await tables.leave(owner.table, patron)
    assert told == [[], [], [("idle", "warn")], [("idle", "idle")], [], []]
    assert await seats_of(tables, owner.table) == {"plays": True}
    await ledger.check(owner.table)


async def test_a_bet_after_the_warning_keeps_the_seat(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p", 500)
    told = []
    for number in range(1, 9):
        await owner.open_betting()
        if number == 4:
            await owner.act("p", "place", "player", 25)
        await owner.end_round()
        told.append(await tables.departures(owner.table, 30_000, 4, 10))
    assert told == [[], [], [("p", "warn")], [], [], [], [("p", "warn")], [("p", "idle")]]
    assert await tables.departures(owner.table, 30_000, 0, 10) == []  # 0: never


async def test_each_patron_departs_for_one_reason_and_lists_are_bounded(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=50))
    patrons = [f"p{number}" for number in range(30)]
    for patron in patrons:
        await owner.seat(patron, 50)
    await owner.open_betting()
    for patron in patrons:
        await owner.act(patron, "place", "player", 25)
        await tables.leave(owner.table, patron, f"c-{patron}")
        await tables.go_away(owner.table, patron, f"c-{patron}")
    await owner.end_round()
    everybody = await tables.departures(owner.table, -1, 1, 50)
    assert sorted(everybody) == sorted((patron, "left") for patron in patrons)
    some = await tables.departures(owner.table, -1, 0, 7)
    assert len(some) == len({patron for patron, _ in some}) <= 14
    assert [reason for _, reason in some].count("left") == 7


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("patrons", [3, 700])
async def test_every_open_cash_out_is_found_sooner_or_later(tables: Tables, ledger: Ledger, patrons: int) -> None:
    """Closing those that were listed makes room for the rest, however many there are."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=patrons))
    names = {f"p{number}" for number in range(patrons)}
    await asyncio.gather(*(owner.seat(name, 10) for name in names))
    await asyncio.gather(*(tables.leave(owner.table, name) for name in names))
    found: set[str] = set()
    while page := await tables.open_cash_outs(owner.table, 100):
        assert len(page) == min(100, patrons - len(found))
        assert all((n, amount) == (1, 10) for _, n, amount in page)
        names_on_page = {patron for patron, _, _ in page}
        assert len(names_on_page) == len(page)
        found |= names_on_page
        await asyncio.gather(*(tables.close_cash_out(owner.table, patron, 1) for patron in names_on_page))
    assert found == names


# --- Any run of comings and goings ------------------------------------------------------------------------------------

moves = st.tuples(
    st.sampled_from(
        ["sit", "sit", "away", "away", "back", "leave", "freed", "clear", "clear", "bet", "ready", "round", "carry"]
    ),
    st.integers(0, 3),  # who
    st.integers(0, 2),  # by which connection
    st.integers(0, 1),  # on which node, or which node died
)


@settings(derandomize=True, deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(moves, min_size=10, max_size=40))
async def test_the_count_of_connected_seats_never_drifts(
    tables: Tables, ledger: Ledger, sequence: list[tuple[str, int, int, int]]
) -> None:
    """`Ledger.check` counts the seats after each move; who holds which seat is kept here a second time."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=3, cut_card=100))
    await owner.open_betting()
    held: dict[str, tuple[str, bool]] = {}
    transfers: dict[str, int] = {}
    for move, who, by, on in sequence:
        patron, connection = f"p{who}", f"c{by}"
        holds = held.get(patron, ("", False))
        match move:
            case "sit":
                n = transfers[patron] = transfers.get(patron, 0) + 1
                sit = tables.sit(owner.table, patron, "P", False, f"node-{on}", connection, n, 20)
                code, seated = await attempt(sit)
                assert code == ("TABLE_FULL" if len(held) == 3 and patron not in held else "ok")
                if seated is not None:
                    assert seated.connection_before == (holds[0] if holds[1] and holds[0] != connection else "")
                    held[patron] = (connection, True)
            case "away":
                done = await tables.go_away(owner.table, patron, connection)
                assert done is (holds == (connection, True))
                if done:
                    held[patron] = ("", False)
            case "back":
                done = await tables.come_back(owner.table, patron, f"node-{on}", connection)
                assert done is (holds == (connection, False))
                if done:
                    held[patron] = (connection, True)
            case "leave" | "freed":
                code, left = await attempt(tables.leave(owner.table, patron, connection if move == "leave" else ""))
                if left is None:
                    assert code == ("SEAT_TAKEN_OVER" if patron in held else "NOT_SEATED")
                    assert move == "leave" or patron not in held
                elif left.how == "gone":
                    del held[patron]
            case "clear":
                await age_seats(ledger, owner.table)
                await tables.clear_dead_seats(owner.table, [f"node-{on}"])
                connected = await seats_of(tables, owner.table)
                held = {name: (conn, connected[name]) for name, (conn, _) in held.items()}
            case "bet":
                await owner.act(patron, "place", "player", 10, connection=connection)
            case "ready":
                await owner.act(patron, "ready", connection=connection)
            case "carry":
                for name, number, _ in await tables.open_cash_outs(owner.table, 10):
                    await tables.close_cash_out(owner.table, name, number)
            case "round":
                await owner.end_round()
                await owner.open_betting()
        await ledger.check(owner.table)
        assert await seats_of(tables, owner.table) == {name: connected for name, (_, connected) in held.items()}
