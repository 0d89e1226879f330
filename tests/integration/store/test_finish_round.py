"""`finish_round`: a round's record is kept in the very act that ends it, once, and the newest rounds are kept."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from client_sdk.game.cards import Card
from client_sdk.game.replay import replay_round
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import FinishedRound
from server.sealing import Sealer
from server.store import keys
from server.store.errors import Fenced, OutOfStep, Refused
from server.store.tables import Tables
from server.table import machine
from server.table.history import finished_round
from server.table.machine import Change
from tests.integration.store.checks import Ledger, Owner, fresh_id

LUA = Path(__file__).resolve().parents[3] / "server" / "store" / "lua" / "finish_round.lua"


async def settled(tables: Tables, ledger: Ledger) -> Owner:
    """A table of two patrons with bets, whose round is settled and not finished."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    for patron, spot, chip in (("a", "player", 25), ("b", "banker", 10), ("b", "tie", 10)):
        assert (await owner.act(patron, "place", spot, chip)).code == "ok"
    await owner.close_betting()
    await owner.deal()
    await owner.settle()
    return owner


async def ending(owner: Owner) -> tuple[Change, FinishedRound]:
    """What ends the owner's round."""
    before, now_ms = owner.state.seal, await owner.now_ms()
    seal = await Sealer(owner.ledgers, owner.table, before).seal(before)
    paid, patrons = await owner.tables.settled_sums(owner.table)
    change = machine.finish_round(
        owner.state, owner.table, owner.rules, now_ms, paid, patrons, seal, owner.open_shoe.secret
    )
    totals = await owner.tables.final_totals(owner.table)
    return change, finished_round(owner.state, now_ms, totals, patrons, paid)


async def test_the_record_is_the_round(tables: Tables, ledger: Ledger) -> None:
    owner = await settled(tables, ledger)
    change, finished = await ending(owner)
    await tables.finish_round(owner.table, owner.lease, change, finished)
    assert await tables.rounds_before(owner.table, None, 10) == [finished]
    state, shoe = owner.state, owner.open_shoe.dealt_from
    assert (finished.id, finished.round, finished.shoe, finished.commitment) == ("1", 1, 1, state.shoe_commitment)
    assert finished.totals == {Spot.PLAYER: 25, Spot.BANKER: 10, Spot.TIE: 10}
    assert (finished.paid, finished.settled) == await tables.settled_sums(owner.table)
    player, banker = [Card(card) for card in finished.player], [Card(card) for card in finished.banker]
    cards = [card.card for card in replay_round(player, banker, finished.outcome)]
    assert cards == list(shoe.cards[shoe.burned : shoe.burned + len(cards)])
    assert finished.first_card == shoe.burned


async def test_refused_or_repeated_it_is_kept_once_or_not_at_all(tables: Tables, ledger: Ledger) -> None:
    owner = await settled(tables, ledger)
    change, finished = await ending(owner)
    before = await ledger.contents()
    with pytest.raises(Fenced):
        await tables.finish_round(owner.table, owner.lease._replace(epoch=9), change, finished)
    with pytest.raises(OutOfStep):
        await tables.finish_round(owner.table, owner.lease._replace(incarnation="other"), change, finished)
    assert await ledger.contents() == before
    for _ in range(2):  # the first answer was lost
        await tables.finish_round(owner.table, owner.lease, change, finished)
    assert [kept.round for kept in await tables.rounds_before(owner.table, None, 10)] == [1]


async def test_a_void_round_is_kept_with_what_was_dealt(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("a", 100)
    await owner.open_betting()
    await owner.act("a", "place", "player", 25)
    await owner.close_betting()
    for _ in range(4):  # the burn and three cards
        await owner.commit(owner.next_card(await owner.now_ms()))
    voided = machine.void_round(owner.state, owner.table, await owner.now_ms(), "operator: why")
    await tables.void_round(owner.table, owner.lease, voided)
    owner.state = voided.state
    await owner.settle()
    await owner.finish_round()
    await owner.open_betting()
    await owner.end_round()
    counted, void = await tables.rounds_before(owner.table, None, 10)
    assert (void.outcome, void.void_reason, void.totals, void.paid) == (None, "operator: why", {Spot.PLAYER: 25}, 25)
    assert (len(void.player), len(void.banker)) == (2, 1)
    burned = owner.open_shoe.dealt_from.burned
    assert (counted.void_reason, counted.shoe, counted.first_card) == (None, void.shoe + 1, burned)


async def test_pages_and_the_newest_are_kept(tables: Tables, ledger: Ledger) -> None:
    """Some ROUNDS_MAX of them: the stream is cut in whole blocks of its entries, so a few more may be there."""
    found = re.search(r"^local ROUNDS_MAX = (\d+)$", LUA.read_text(), re.MULTILINE)
    assert found is not None
    rounds_max = int(found[1])
    owner = await settled(tables, ledger)
    change, finished = await ending(owner)
    await tables.finish_round(owner.table, owner.lease, change, finished)
    owner.state = change.state
    for _ in range(3):
        await owner.open_betting()
        await owner.end_round()
    assert [kept.round for kept in await tables.rounds_before(owner.table, None, 3)] == [4, 3, 2]
    assert [kept.round for kept in await tables.rounds_before(owner.table, 2, 3)] == [1]
    assert await tables.rounds_before(owner.table, 1, 3) == []
    with pytest.raises(Refused, match="UNKNOWN_TABLE"):
        await tables.rounds_before(fresh_id("nowhere"), None, 3)
    for number in range(5, rounds_max + 300):
        await ledger.raw.xadd(keys.rounds_key(owner.table), {"round": b"old"}, id=f"{number}-0")
    late = Change(replace(owner.state, round=rounds_max + 300), ())
    await tables.finish_round(owner.table, owner.lease, late, finished)
    length = await ledger.raw.xlen(keys.rounds_key(owner.table))
    assert rounds_max <= length <= rounds_max + 128
