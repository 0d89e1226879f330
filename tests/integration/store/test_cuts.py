"""Cuts in the store: who may put one in and until when, their list, and owners that change between any two commits."""

from typing import Any, cast

import msgpack
import pytest

from client_sdk.game.proofs import cuts_digest
from server.shoes import ALTERED, ShoeBroken
from server.store import keys
from server.store.errors import Fenced
from server.store.tables import CUTS_MAX, Tables
from server.table import machine
from tests.integration.store.checks import Ledger, Owner, refusal_of
from tests.support.shoes import shuffled_shoes
from tests.support.table_rules import rules_of

CUT, OTHER = bytes(range(8)), bytes(range(32))


@pytest.fixture
async def owner(tables: Tables, ledger: Ledger) -> Owner:
    """A table with two seats in the first betting of its first shoe."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    return owner


async def test_each_refusal_in_its_order_and_nothing_changed(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    table = owner.table
    before = await ledger.contents()
    assert await refusal_of(tables.cut("nowhere", "a", "c-a", 1, CUT)) == "UNKNOWN_TABLE"
    assert await refusal_of(tables.cut(table, "a", "c-a", 2, CUT)) == "SHOE_OVER"
    assert await refusal_of(tables.cut(table, "z", "c-z", 1, CUT)) == "NOT_SEATED"
    assert await refusal_of(tables.cut(table, "a", "c-b", 1, CUT)) == "SEAT_TAKEN_OVER"
    assert await ledger.contents() == before
    assert (await tables.cut(table, "a", "c-a", 1, CUT)).number == 1
    after = await ledger.contents()
    assert await refusal_of(tables.cut(table, "a", "c-a", 1, OTHER)) == "ALREADY_CUT"
    await owner.let_betting_time_pass()
    assert await refusal_of(tables.cut(table, "b", "c-b", 1, CUT)) == "CUTS_CLOSED"
    assert await refusal_of(tables.list_cuts(table, 1, 0, 10)) == "UNKNOWN_SHOE"  # not told yet: the close comes first
    assert {key for key, value in (await ledger.contents()).items() if after.get(key) != value} <= {owner.key}


async def test_the_same_cut_again_gets_the_first_answer(tables: Tables, owner: Owner) -> None:
    """Also after the close, and over another connection: a lost answer costs nobody the cut."""
    first = await tables.cut(owner.table, "b", "c-b", 1, OTHER)
    assert await tables.cut(owner.table, "b", "c-b", 1, OTHER) == first
    await owner.close_betting()
    assert await tables.cut(owner.table, "b", "another", 1, OTHER) == first
    assert (owner.state.shoe_cuts, owner.state.shoe_cuts_digest) == (1, cuts_digest([(b"b", OTHER)]))


async def test_the_list_is_frozen_with_the_close_and_read_in_pages(tables: Tables, ledger: Ledger) -> None:
    """And kept with the shoe when it has ended; one patron has one cut in a shoe, whoever leaves and comes back."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=10))
    patrons = [f"p{n}" for n in range(7)]
    for patron in patrons:
        await owner.seat(patron)
    await owner.open_betting()
    wanted = []
    for n, patron in enumerate(patrons):
        assert (await tables.cut(owner.table, patron, f"c-{patron}", 1, bytes([n]) * 8)).number == n + 1
        wanted.append((patron.encode(), bytes([n]) * 8))
    await tables.leave(owner.table, "p0", "c-p0")
    await owner.seat("p0")
    assert await refusal_of(tables.cut(owner.table, "p0", "c-p0", 1, OTHER)) == "ALREADY_CUT"
    view = (await tables.view(owner.table, "p3")).view
    assert view.you is not None
    assert view.you.cut == (bytes([3]) * 8).hex()
    await owner.close_betting()
    for _ in range(2):
        found, after, more = [], 0, True
        while more:
            page, more = await tables.list_cuts(owner.table, 1, after, 3)
            found += page
            after += len(page)
        assert found == wanted
        assert await tables.list_cuts(owner.table, 1, 100, 3) == ([], False)
        if owner.state.outcome is None:
            await owner.deal()
            await owner.finish_round()
            change = machine.break_shoe(owner.state, owner.table, owner.rules, "closed", owner.open_shoe.secret)
            await owner.commit(change)  # the second time it is read from where ended shoes are kept
    ended = await tables.ended_shoe(owner.table, None)
    assert ended is not None
    assert (ended.shoe, ended.cuts, ended.reason) == (1, 7, "closed")
    assert ended == await tables.ended_shoe(owner.table, 1)
    assert await tables.ended_shoe(owner.table, 2) is None
    await owner.open_betting()
    assert (await tables.cut(owner.table, "p0", "c-p0", 2, OTHER)).number == 1


async def test_a_shoe_takes_no_more_than_it_may(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    raw: Any = ledger.raw
    filler = [msgpack.packb([f"x{n}", CUT, 1]) for n in range(CUTS_MAX)]
    await raw.rpush(keys.cuts_key(owner.table), *filler)
    assert await refusal_of(tables.cut(owner.table, "a", "c-a", 1, CUT)) == "TOO_MANY_CUTS"


async def test_the_newest_ended_shoes_are_kept(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("a")
    for _ in range(20):
        await owner.open_betting()
        change = machine.void_round(owner.state, owner.table, await owner.now_ms(), "lost")
        await tables.void_round(owner.table, owner.lease, change)
        owner.state = change.state
        await owner.finish_round()
    kept = await cast("Any", ledger.raw.hkeys(keys.shoes_key(owner.table)))
    assert sorted(int(name) for name in kept if b":" not in name) == list(range(5, 21))
    assert len(kept) == 32
    assert await refusal_of(tables.list_cuts(owner.table, 4, 0, 10)) == "UNKNOWN_SHOE"


@pytest.mark.parametrize("steps", range(6))
async def test_a_new_owner_deals_the_same_cards(tables: Tables, ledger: Ledger, owner: Owner, steps: int) -> None:
    """Taken over after the freeze, after the close, after the root, after the burn or a card: same root, same cards."""
    await tables.cut(owner.table, "a", "c-a", 1, CUT)
    await owner.let_betting_time_pass()
    frozen = await owner.freeze()
    if steps > 0:
        await owner.commit(await owner.closing(frozen))
    if steps > 1:
        await owner.shuffle_if_due()
    for _ in range(steps - 2):
        await owner.commit(owner.next_card(await owner.now_ms()))
    await tables.release(owner.table, owner.lease)
    heir = await Owner.of(tables, ledger, owner.table, "node-2")
    assert steps == 0 or heir.state == owner.state  # the deadline was moved in the store alone
    if steps == 0:
        await heir.commit(await heir.closing(await heir.freeze()))
        owner.state = heir.state
    await heir.shuffle_if_due()
    with pytest.raises(Fenced):  # the old one writes nothing any more
        await owner.commit(machine.void_round(owner.state, owner.table, await owner.now_ms(), "lost"))
    await owner.reopen_shoe()
    assert heir.open_shoe.dealt_from == owner.open_shoe.dealt_from
    assert heir.state.shoe_root == owner.open_shoe.root
    await heir.deal()
    shoe, position = heir.open_shoe.dealt_from, heir.state.position
    assert [card.card for card in heir.state.dealt] == list(shoe.cards[shoe.burned : position])


@pytest.mark.parametrize("what", ["a cut", "a cut more", "the seal"])
async def test_what_was_altered_in_the_store_is_not_dealt_on(
    tables: Tables, ledger: Ledger, owner: Owner, what: str
) -> None:
    raw: Any = ledger.raw
    await tables.cut(owner.table, "a", "c-a", 1, CUT)
    await owner.close_betting()
    if what == "the seal":
        state = msgpack.unpackb(await raw.hget(owner.key, "state"))
        state["shoe_sealed"] = shuffled_shoes().fresh("elsewhere", 1, owner.rules).sealed
        await raw.hset(owner.key, "state", msgpack.packb(state))
    elif what == "a cut":
        await raw.lset(keys.cuts_key(owner.table), 0, msgpack.packb(["a", OTHER, 1]))
    else:
        await raw.rpush(keys.cuts_key(owner.table), msgpack.packb(["b", OTHER, 1]))
    await tables.release(owner.table, owner.lease)
    with pytest.raises(ShoeBroken) as broken:
        await Owner.of(tables, ledger, owner.table, "node-2")
    assert broken.value.reason == ALTERED
