"""A round that the operator wants void: nothing else may become of it, and every stake comes back once."""

import pytest

from client_sdk.game.proofs import cuts_digest
from server.store.errors import Fenced, Refused
from server.store.tables import Tables, VoidAsked
from server.table import machine
from server.table.machine import Change, FrozenCuts
from tests.integration.store.checks import LEASE_MS, Ledger, Owner, fresh_id, refusal_of

NO_CUTS = FrozenCuts(0, cuts_digest(()))


def void(owner: Owner, now_ms: int) -> Change:
    return machine.void_round(owner.state, owner.table, now_ms, "operator")


async def with_bets(tables: Tables, ledger: Ledger) -> Owner:
    """A table with two patrons, each with bets in the open round."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    await owner.act("a", "place", "player", 25)
    await owner.act("b", "place", "banker", 10)
    await owner.act("b", "place", "tie", 10)
    return owner


async def carry_out(owner: Owner) -> None:
    """What an owner does: the void commit, and the ordinary settlement."""
    change = void(owner, await owner.now_ms())
    await owner.tables.void_round(owner.table, owner.lease, change)
    owner.state = change.state
    await owner.settle()
    await owner.finish_round()


async def assert_all_is_back(owner: Owner, ledger: Ledger) -> None:
    assert await ledger.layouts(owner.table) == {}
    assert await ledger.numbers_of(f"{owner.key}:stacks") == {"a": 100, "b": 100}
    assert int((await ledger.hash_of(owner.key))["house"]) == 0
    await ledger.check(owner.table)


async def test_refusals_in_their_order(tables: Tables, ledger: Ledger) -> None:
    assert await refusal_of(tables.ask_void(fresh_id("nowhere"), 1, "")) == "UNKNOWN_TABLE"
    owner = await Owner.of_new_table(tables, ledger)
    before = await ledger.contents()
    assert await refusal_of(tables.ask_void(owner.table, 1, "")) == "ROUND_OVER"
    assert await refusal_of(tables.ask_void(owner.table, 0, "")) == "ROUND_DECIDED"
    assert await ledger.contents() == before
    await owner.open_betting()
    before = await ledger.contents()
    for other in (owner.round - 1, owner.round + 1):
        with pytest.raises(Refused) as refused:
            await tables.ask_void(owner.table, other, "")
        assert (refused.value.code, refused.value.details[1]) == ("ROUND_OVER", owner.round)
    assert await ledger.contents() == before
    await owner.close_betting()
    await owner.deal()
    before = await ledger.contents()
    for _ in range(2):
        assert await refusal_of(tables.ask_void(owner.table, owner.round, "")) == "ROUND_DECIDED"
    assert await ledger.contents() == before
    await owner.settle()
    await owner.finish_round()
    assert await refusal_of(tables.ask_void(owner.table, owner.round, "")) == "ROUND_DECIDED"


@pytest.mark.parametrize("cards", [None, 0, 1, 3])
async def test_once_asked_nothing_but_the_void_is_taken(tables: Tables, ledger: Ledger, cards: int | None) -> None:
    """While betting (None), at the first card, in the middle of the deal: no other step, and no decision, gets in."""
    owner = await with_bets(tables, ledger)
    if cards is not None:
        await owner.close_betting()
        for _ in range(cards):
            await owner.commit(owner.next_card(await owner.now_ms()))
    asked = await tables.ask_void(owner.table, owner.round, "a card fell")
    assert asked == VoidAsked(owner.state.seq, True)
    assert await tables.void_asked(owner.table) == (owner.round, "a card fell")
    assert await tables.ask_void(owner.table, owner.round, "again") == asked
    assert (await tables.renew(owner.table, owner.lease)).is_void_asked
    await ledger.check(owner.table)
    now_ms = await owner.now_ms()
    if cards is None:
        step = machine.close_betting(owner.state, owner.table, now_ms, early=False, totals={}, bettors=0, cuts=NO_CUTS)
        assert (await owner.act("a", "place", "player", 10)).code == "ok"  # until the owner says so, bets are taken
    else:
        step = owner.next_card(now_ms)
    before = await ledger.contents()
    assert await refusal_of(tables.commit(owner.table, owner.lease, step)) == "VOID_ASKED"
    assert await ledger.contents() == before
    dealt = owner.state.dealt
    await carry_out(owner)
    assert (owner.state.is_void, owner.state.dealt) == (True, dealt)
    await assert_all_is_back(owner, ledger)
    assert not (await tables.renew(owner.table, owner.lease)).is_void_asked
    assert await tables.ask_void(owner.table, owner.round, "") == asked  # it is told again what it was told first
    assert not owner.state.has_shoe  # it ends with the round, when every stake is back
    await owner.open_betting()
    assert await tables.ask_void(owner.table, owner.round - 1, "") == asked
    await owner.end_round()
    await ledger.check(owner.table)


async def test_the_next_owner_finds_the_wish(tables: Tables, ledger: Ledger) -> None:
    """Nobody owns the table when it is asked; whoever does next can do nothing else."""
    owner = await with_bets(tables, ledger)
    await tables.release(owner.table, owner.lease)
    assert await tables.ask_void(owner.table, owner.round, "") == VoidAsked(owner.state.seq, False)
    heir = await Owner.of(tables, ledger, owner.table, node="heir")
    assert await tables.void_asked(heir.table) == (heir.round, "")
    await carry_out(heir)
    await assert_all_is_back(heir, ledger)


async def test_a_void_whose_answer_was_lost_and_its_refunds_are_done_once(tables: Tables, ledger: Ledger) -> None:
    owner = await with_bets(tables, ledger)
    await tables.ask_void(owner.table, owner.round, "")
    change = void(owner, await owner.now_ms())
    for _ in range(2):
        await tables.void_round(owner.table, owner.lease, change)
    owner.state = change.state
    lines = await owner.settlements()
    assert [(line.stake, line.payout) for line in sorted(lines)] == [(25, 25), (20, 20)]
    for chunk in (lines[:1], lines, lines):
        await owner.settle(chunk)
    heir = await Owner.of(tables, ledger, owner.table)  # the same node claims anew
    await heir.settle(lines)
    await heir.finish_round()
    await assert_all_is_back(heir, ledger)
    assert (await tables.settled_sums(owner.table)) == (45, 2)


async def test_an_owner_that_was_replaced_can_not_void(tables: Tables, ledger: Ledger) -> None:
    owner = await with_bets(tables, ledger)
    await tables.ask_void(owner.table, owner.round, "")
    stale = owner.lease
    claimed = await tables.claim(owner.table, owner.lease.node, LEASE_MS)
    before = await ledger.contents()
    with pytest.raises(Fenced):
        await tables.void_round(owner.table, stale, void(owner, await owner.now_ms()))
    assert await ledger.contents() == before
    owner.lease = claimed.lease
    await carry_out(owner)
    await assert_all_is_back(owner, ledger)
