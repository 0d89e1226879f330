"""`settle`: every bet once, in chunks that may repeat and overlap; what came in is what is there, after every call."""

import asyncio
from typing import Any, cast

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import VARIANTS, Spot
from server.store.bus import Subscription
from server.store.driver import Driver
from server.store.errors import Fenced, Refused
from server.store.tables import SettleLine, Tables
from server.table import machine
from tests.integration.store.checks import Ledger, Owner, refusal_of
from tests.support.shoes import stacked_shoes
from tests.support.table_rules import rules_of

# One round for each outcome, as a file of stacked rounds would have it.
LINES = {Outcome.PLAYER: "9 8 K K", Outcome.BANKER: "8 9 K K", Outcome.TIE: "9 4 K 5"}


async def decided(
    tables: Tables, ledger: Ledger, layouts: dict[str, dict[str, int]], outcome: Outcome, variant: str = "red-lounge"
) -> Owner:
    """A round that is decided and not settled, with these bets."""
    chips = sorted({amount for layout in layouts.values() for amount in layout.values()})
    rules = rules_of(variant, chips=chips, minimum=1, seats_max=500, cut_card=None, stacked=True)
    owner = await Owner.of_new_table(tables, ledger, rules, stacked_shoes([LINES[outcome]]))
    for patron in layouts:
        await owner.seat(patron, 1_000)
    await owner.open_betting()
    for patron, layout in layouts.items():
        for spot, amount in layout.items():
            assert (await owner.act(patron, "place", spot, amount)).code == "ok"
    await owner.close_betting()
    await owner.deal()
    assert owner.state.outcome is outcome
    return owner


async def stack_of(tables: Tables, owner: Owner, patron: str) -> int:
    you = (await tables.view(owner.table, patron)).view.you
    assert you is not None
    return you.stack


# --- Refusals ---------------------------------------------------------------------------------------------------------


async def test_refusals_in_their_order_change_nothing(tables: Tables, ledger: Ledger) -> None:
    owner = await decided(tables, ledger, {"a": {"player": 10}, "b": {"tie": 5, "player": 10}}, Outcome.PLAYER)
    good = {line.patron: line for line in await owner.settlements()}
    wrong, too_much = good["b"]._replace(stake=14), good["b"]._replace(stake=16)
    before = await ledger.contents()
    with pytest.raises(Fenced):
        await tables.settle(owner.table, owner.lease._replace(epoch=9), 99, [wrong])
    assert await refusal_of(tables.settle(owner.table, owner.lease, 99, [wrong])) == "ROUND_OVER"
    for chunk in ([wrong], [too_much], [good["a"], wrong], [wrong, good["a"]], [good["b"], wrong]):
        with pytest.raises(Refused) as refused:
            await owner.settle(chunk)
        assert refused.value.code == "STAKE_DIFFERS"
        assert refused.value.details[1] == b"b"
    assert await ledger.contents() == before
    await ledger.check(owner.table)


async def test_nothing_is_settled_before_the_outcome(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("a", 100)
    line = SettleLine("a", 10, 0, b"")
    for number in (0, 1):
        assert await refusal_of(tables.settle(owner.table, owner.lease, number, [line])) == "ROUND_OVER"
    await owner.open_betting()
    await owner.act("a", "place", "player", 10)
    assert await refusal_of(owner.settle([line])) == "ROUND_OVER"
    await owner.close_betting()
    assert await refusal_of(owner.settle([line])) == "ROUND_OVER"
    await ledger.check(owner.table)


# --- Once -------------------------------------------------------------------------------------------------------------


async def test_bl_145_a_bet_is_settled_once(tables: Tables, ledger: Ledger) -> None:
    """BL-145, BL-146: the same chunk again, an overlapping one, one that names a patron twice, a new owner's own."""
    owner = await decided(tables, ledger, {"a": {"player": 10}, "b": {"banker": 10}, "c": {"tie": 10}}, Outcome.PLAYER)
    a, b, c = sorted(await owner.settlements())
    assert await owner.settle([a, a]) == 2
    assert await stack_of(tables, owner, "a") == 1_010
    lying = await ledger.contents(owner.table + "}")  # all but the hash of the table, whose lease was renewed
    assert await owner.settle([a]) == 2
    assert await ledger.contents(owner.table + "}") == lying
    assert await owner.settle([a, b]) == 1
    heir = await Owner.of(tables, ledger, owner.table, shoes=stacked_shoes([LINES[Outcome.PLAYER]]))
    with pytest.raises(Fenced):
        await owner.settle([c])
    assert await heir.settle() == 0
    assert await heir.settle([a, b, c]) == 0
    assert await tables.settled_sums(owner.table) == (20, 3)
    stacks = [await stack_of(tables, owner, patron) for patron in "abc"]
    assert stacks == [1_010, 990, 990]
    await heir.finish_round()
    for _ in range(20):
        await heir.open_betting()
        await heir.end_round()
    assert [await stack_of(tables, owner, patron) for patron in "abc"] == stacks
    await ledger.check(owner.table)


async def test_a_settlement_of_who_has_no_bet_is_passed_over(tables: Tables, ledger: Ledger) -> None:
    owner = await decided(tables, ledger, {"a": {"player": 10}, "b": {}}, Outcome.PLAYER)
    (line,) = await owner.settlements()
    assert await owner.settle([line._replace(patron="b"), line._replace(patron="stranger")]) == 1
    assert await stack_of(tables, owner, "b") == 1_000
    await ledger.check(owner.table)


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("variant", VARIANTS)
async def test_every_outcome_pays_what_the_house_says(
    tables: Tables, ledger: Ledger, variant: str, outcome: Outcome
) -> None:
    """BL-017, BL-018: the stacks after one bet of 100 on each spot."""
    pays = {
        ("player", Outcome.PLAYER): 100,
        ("banker", Outcome.BANKER): 96 if variant == "red-lounge" else 95,
        ("tie", Outcome.TIE): 900 if variant == "red-lounge" else 800,
    }
    spots = [spot.value for spot in VARIANTS[variant].spots]
    maximums = dict.fromkeys(VARIANTS[variant].spots, 100)
    rules = rules_of(variant, chips=[100], maximums=maximums, cut_card=None, stacked=True)
    owner = await Owner.of_new_table(tables, ledger, rules, stacked_shoes([LINES[outcome]]))
    for spot in spots:
        await owner.seat(spot, 1_000)
    await owner.open_betting()
    for spot in spots:
        await owner.act(spot, "place", spot, 100)
    await owner.end_round()
    for spot in spots:
        push = outcome is Outcome.TIE and spot != "tie"
        expected = 1_000 + pays.get((spot, outcome), 0 if push else -100)
        assert await stack_of(tables, owner, spot) == expected, f"{spot} when {outcome}"
    await ledger.check(owner.table)


async def test_bl_011_a_push_leaves_everything_as_it_was(tables: Tables, ledger: Ledger) -> None:
    """BL-010, BL-011, BL-013: odd stakes come back to the unit; the house has neither won nor lost."""
    owner = await decided(tables, ledger, {"a": {"player": 7}, "b": {"banker": 3}}, Outcome.TIE)
    assert await owner.settle() == 0
    assert [await stack_of(tables, owner, patron) for patron in "ab"] == [1_000, 1_000]
    assert (await ledger.hash_of(owner.key))["house"] == b"0"
    assert await tables.settled_sums(owner.table) == (10, 2)
    you = (await tables.view(owner.table, "b")).view.you
    assert you is not None
    assert you.last_results is not None
    assert you.last_round == 1
    result = you.last_results[Spot.BANKER]
    assert (result.stake, result.payout, result.commission, result.result.value) == (3, 3, 0, "push")


async def test_results_are_published_with_the_stack_after_them(driver: Driver, tables: Tables, ledger: Ledger) -> None:
    owner = await decided(tables, ledger, {"a": {"player": 10}, "b": {"banker": 10}}, Outcome.BANKER)
    subscription = Subscription(driver)
    await subscription.add(owner.table)
    lines = sorted(await owner.settlements())
    await owner.settle(lines)
    await owner.settle(lines)  # nothing left: nothing more is told
    await tables.renew(owner.table, owner.lease)
    envelope = await asyncio.wait_for(subscription.next(), 5)
    assert (envelope.kind, envelope.incarnation, envelope.seq) == ("results", "inc", owner.state.seq)
    assert msgpack.unpackb(envelope.body, raw=True) == [
        [b"a", 990, lines[0].record],
        [b"b", 1_009, lines[1].record],
    ]
    assert (await asyncio.wait_for(subscription.next(), 5)).kind == "alive"
    await subscription.close()


async def test_a_settlement_keeps_the_lease(tables: Tables, ledger: Ledger) -> None:
    owner = await decided(tables, ledger, {"a": {"player": 10}}, Outcome.PLAYER)
    await cast("Any", ledger.raw.hset(owner.key, "lease_until_ms", "1"))
    await owner.settle([])
    assert await refusal_of(tables.claim(owner.table, "other", 1_000)) == "OWNED"


async def test_bl_143_a_leaver_with_bets_stays_until_they_are_settled(tables: Tables, ledger: Ledger) -> None:
    """BL-143: the stake can't be carried away; the rest can't either before the round is over."""
    owner = await decided(tables, ledger, {"a": {"player": 100}}, Outcome.PLAYER)
    before = await stack_of(tables, owner, "a")
    assert before == 900
    assert (await tables.leave(owner.table, "a", "c-a")).how == "after_round"
    assert await stack_of(tables, owner, "a") == before
    await owner.settle()
    left = await tables.leave(owner.table, "a", "c-a")
    assert (left.how, left.amount) == ("gone", 1_100)
    await ledger.check(owner.table)


# --- Many -------------------------------------------------------------------------------------------------------------


async def test_open_bets_are_read_once_each_and_settled_in_chunks(tables: Tables, ledger: Ledger) -> None:
    layouts = {f"p{number}": {"player": 1 + number % 7, "tie": 2} for number in range(400)}
    owner = await decided(tables, ledger, layouts, Outcome.TIE)
    lines = await owner.settlements()
    assert sorted(line.patron for line in lines) == sorted(layouts)
    left = [await owner.settle(lines[start : start + 90]) for start in range(0, 400, 90)]
    assert left == [310, 220, 130, 40, 0]
    assert (await tables.settled_sums(owner.table))[1] == 400
    await ledger.check(owner.table)


@settings(derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    outcome=st.sampled_from(Outcome),
    layouts=st.lists(
        st.dictionaries(st.sampled_from(["player", "banker", "tie"]), st.integers(1, 50), min_size=1),
        min_size=1,
        max_size=6,
    ),
    chunks=st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6),
    takeovers=st.sets(st.integers(0, 5)),
)
async def test_any_chunks_pay_each_bet_once_and_make_no_money(
    tables: Tables,
    ledger: Ledger,
    outcome: Outcome,
    layouts: list[dict[str, int]],
    chunks: list[list[int]],
    takeovers: set[int],
) -> None:
    owner = await decided(tables, ledger, {f"p{n}": layout for n, layout in enumerate(layouts)}, outcome)
    lines = sorted(await owner.settlements())
    stacks = [await stack_of(tables, owner, line.patron) for line in lines]
    for number, chunk in enumerate(chunks):
        if number in takeovers:
            owner = await Owner.of(tables, ledger, owner.table, shoes=stacked_shoes([LINES[outcome]]))
        await owner.settle([lines[index % len(lines)] for index in chunk])
        await ledger.check(owner.table)
    assert await owner.settle(lines) == 0
    after = [await stack_of(tables, owner, line.patron) for line in lines]
    assert after == [stack + line.payout for stack, line in zip(stacks, lines, strict=True)]
    house = sum(line.stake - line.payout for line in lines)
    assert int((await ledger.hash_of(owner.key))["house"]) == house
    assert await tables.settled_sums(owner.table) == (sum(line.payout for line in lines), len(lines))
    await owner.finish_round()
    await ledger.check(owner.table)


@pytest.mark.parametrize("is_dealing", [False, True])
async def test_a_void_round_gives_every_stake_back_once(tables: Tables, ledger: Ledger, is_dealing: bool) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await owner.seat(patron, 1_000)
    await owner.open_betting()
    for patron, spot in (("a", "player"), ("b", "tie")):
        await owner.act(patron, "place", spot, 25)
    closed_at_ms = (await owner.close_betting()).closed_at_ms if is_dealing else None
    voided_at_ms = await owner.now_ms() + 1
    await owner.commit(machine.void_round(owner.state, owner.table, voided_at_ms, "lost"))
    late = await owner.act("a", "place", "tie", 25)
    assert (late.code, late.closed_at_ms) == ("BETTING_CLOSED", closed_at_ms or voided_at_ms)
    lines = sorted(await owner.settlements())
    assert [(line.stake, line.payout) for line in lines] == [(25, 25), (25, 25)]
    assert await owner.settle([*lines, *lines]) == 0
    assert await owner.settle(lines) == 0
    assert [await stack_of(tables, owner, patron) for patron in "ab"] == [1_000, 1_000]
    assert (await ledger.hash_of(owner.key))["house"] == b"0"
    await owner.finish_round()
    assert not owner.state.has_shoe
    await owner.open_betting()
    assert owner.state.shoe == 2
    assert (await owner.act("a", "rebet")).code == "ok"
    await owner.end_round()
    await ledger.check(owner.table)
