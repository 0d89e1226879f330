"""`freeze_bets`: not before the deadline, unless every connected seat is ready; and then for good."""

import asyncio
from itertools import cycle
from typing import Any, cast

import pytest

from client_sdk.game.variants import Spot
from server.store.errors import Fenced, Refused
from server.store.tables import Tables
from server.table import machine
from tests.integration.store.checks import NEW_SEAT_MS, REQUESTS, Ledger, Owner, refusal_of


@pytest.fixture
async def owner(tables: Tables, ledger: Ledger) -> Owner:
    """A table in betting with two seats that sat down a while ago."""
    opened = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await opened.seat(patron, 1_000)
    await opened.open_betting()
    await long_seated(ledger, opened)
    return opened


async def long_seated(ledger: Ledger, owner: Owner) -> None:
    """Let the time pass for which a new seat holds an early close back."""
    earlier = str(await owner.now_ms() - NEW_SEAT_MS)
    await cast("Any", ledger.raw.hset(owner.key, "last_join_at_ms", earlier))


async def test_refusals_in_their_order_change_nothing(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    before = await ledger.contents()
    for lease in (owner.lease._replace(epoch=0), owner.lease._replace(node="other"), owner.lease._replace(epoch=2)):
        with pytest.raises(Fenced):
            await tables.freeze_bets(owner.table, lease, 99, NEW_SEAT_MS)
    for number in (0, 2, 99):
        assert await refusal_of(tables.freeze_bets(owner.table, owner.lease, number, NEW_SEAT_MS)) == "ROUND_OVER"
    with pytest.raises(Refused) as refused:
        await owner.freeze()
    assert refused.value.code == "TOO_EARLY"
    now_ms, closes_at_ms = refused.value.details
    assert isinstance(now_ms, int)
    assert abs(now_ms - await owner.now_ms()) < 5_000
    assert closes_at_ms == owner.state.closes_at_ms
    assert await ledger.contents() == before


async def test_at_the_deadline_the_sums_are_final(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.act("a", "place", "player", 25)
    await owner.act("a", "place", "tie", 10)
    await owner.act("b", "place", "player", 100)
    closes_at_ms = await owner.let_betting_time_pass()
    frozen = await owner.freeze()
    assert (frozen.closed_at_ms, frozen.early, frozen.bettors) == (closes_at_ms, False, 2)
    assert frozen.totals == {Spot.PLAYER: 125, Spot.TIE: 10}
    assert frozen.now_ms >= closes_at_ms
    lying = await ledger.contents(*REQUESTS)
    assert (await owner.act("a", "clear")).code == "BETTING_CLOSED"
    assert (await owner.freeze())._replace(now_ms=0) == frozen._replace(now_ms=0)
    assert await ledger.contents(*REQUESTS) == lying


async def test_no_bets_at_all(owner: Owner) -> None:
    await owner.let_betting_time_pass()
    frozen = await owner.freeze()
    assert (frozen.bettors, frozen.totals) == (0, {})


async def test_early_when_every_connected_seat_is_ready(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.act("a", "place", "banker", 25)
    assert (await owner.act("a", "ready")).ready
    assert await refusal_of(owner.freeze()) == "TOO_EARLY"
    await owner.act("b", "ready")
    before_ms = await owner.now_ms()
    frozen = await owner.freeze()
    assert frozen.early
    assert before_ms <= frozen.closed_at_ms == frozen.now_ms < (owner.state.closes_at_ms or 0)
    assert frozen.totals == {Spot.BANKER: 25}
    late = await owner.act("b", "place", "player", 25)
    assert (late.code, late.closed_at_ms) == ("BETTING_CLOSED", frozen.closed_at_ms)
    assert late.at_ms >= frozen.closed_at_ms
    assert (await owner.freeze())._replace(now_ms=0) == frozen._replace(now_ms=0)
    assert (await tables.view(owner.table)).view.closes_at_ms == frozen.closed_at_ms


async def test_no_close_is_early_in_the_millisecond_of_an_act(ledger: Ledger, owner: Owner) -> None:
    """What a close tells is the instant before which an act counted."""
    for patron in ("a", "b"):
        answer = await owner.act(patron, "ready")
    assert await cast("Any", ledger.raw.hget(owner.key, "acted_at_ms")) == str(answer.at_ms).encode()
    hour_ms = 3_600_000
    await cast("Any", ledger.raw.hset(owner.key, "acted_at_ms", str(answer.at_ms + hour_ms)))
    assert await refusal_of(owner.freeze()) == "TOO_EARLY"
    await cast("Any", ledger.raw.hset(owner.key, "acted_at_ms", str(answer.at_ms)))
    frozen = await owner.freeze()
    assert frozen.early
    assert frozen.closed_at_ms > answer.at_ms


async def test_late_acts_are_told_the_early_close_until_the_next_round(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """Also after the close was committed: the deadline that was first told lies in the future then."""
    for patron in ("a", "b"):
        await owner.act(patron, "ready")
    frozen = await owner.freeze()
    await owner.commit(await owner.closing(frozen))
    for _ in range(2):
        late = await owner.act("a", "place", "player", 25)
        assert (late.code, late.closed_at_ms) == ("BETTING_CLOSED", frozen.closed_at_ms)
        assert late.at_ms >= late.closed_at_ms
        await owner.deal()


async def test_an_away_seat_holds_nobody_up_and_a_new_one_does(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.act("a", "ready")
    await tables.go_away(owner.table, "b", "c-b")
    await owner.seat("new")
    await owner.act("new", "ready")
    assert await refusal_of(owner.freeze()) == "TOO_EARLY"  # within two seconds of a join
    assert not await joined_long_ago(owner)
    await long_seated(ledger, owner)
    assert (await owner.freeze()).early


async def joined_long_ago(owner: Owner) -> bool:
    pulse = await owner.tables.renew(owner.table, owner.lease)
    return pulse.now_ms >= pulse.last_join_at_ms + NEW_SEAT_MS


async def test_bl_048_a_join_holds_back_the_early_close_only(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """BL-048, BL-050: twenty joins and leaves move no deadline."""
    for _ in range(20):
        await owner.seat("restless")
        await tables.leave(owner.table, "restless", "c-restless")
    view = (await tables.view(owner.table)).view
    assert (view.closes_at_ms, view.phase, view.round) == (owner.state.closes_at_ms, "betting", 1)
    await owner.let_betting_time_pass()
    assert not (await owner.freeze()).early


async def test_bl_051_a_table_without_connected_seats_closes_by_the_timer(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """BL-051: nobody there is not "all are ready"."""
    for patron in ("a", "b"):
        await owner.act(patron, "ready")
        await tables.go_away(owner.table, patron, f"c-{patron}")
    assert await refusal_of(owner.freeze()) == "TOO_EARLY"
    await owner.let_betting_time_pass()
    assert not (await owner.freeze()).early


async def test_frozen_bets_stay_frozen_when_the_stores_clock_is_set_back(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """A failover to a server whose clock lags: by that clock the deadline lies ahead again."""
    await owner.act("a", "place", "player", 25)
    await owner.let_betting_time_pass()
    frozen = await owner.freeze()
    ahead = str(await owner.now_ms() + 30_000)
    await cast("Any", ledger.raw.hset(owner.key, "closes_at_ms", ahead))
    assert (await owner.act("b", "place", "player", 25)).code == "BETTING_CLOSED"
    again = await owner.freeze()
    assert (again.early, again.totals, again.bettors) == (frozen.early, frozen.totals, frozen.bettors)
    await owner.commit(await owner.closing(frozen))
    await owner.deal()
    await owner.settle()
    await owner.finish_round()
    await owner.open_betting()
    assert (await owner.act("b", "place", "player", 25)).code == "ok"  # the next round is another matter


async def test_refused_in_every_other_phase(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.close_betting()
    assert await refusal_of(owner.freeze()) == "ROUND_OVER"
    await owner.deal()
    assert await refusal_of(owner.freeze()) == "ROUND_OVER"
    await owner.settle()
    await owner.finish_round()
    assert await refusal_of(owner.freeze()) == "ROUND_OVER"


async def test_a_new_owner_finds_an_early_close_that_was_not_told_yet(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """The old owner died between freezing and telling."""
    for patron in ("a", "b"):
        await owner.act(patron, "ready")
    frozen = await owner.freeze()
    await tables.release(owner.table, owner.lease)
    heir = await Owner.of(tables, ledger, owner.table, "node-2")
    assert heir.state.closes_at_ms == frozen.closed_at_ms
    due = machine.due(heir.state, heir.rules, heir.shoe)
    assert due is not None
    assert due.at_ms == frozen.closed_at_ms
    assert (await heir.freeze())._replace(now_ms=0) == frozen._replace(now_ms=0)


async def test_acts_that_race_with_the_close_count_wholly_or_not_at_all(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """BL-040: whatever was accepted is in the final sums; whatever was refused is not."""
    await owner.let_betting_time_pass()
    soon = str(await owner.now_ms() + 30)
    await cast("Any", ledger.raw.hset(owner.key, "closes_at_ms", soon))

    async def bet(patron: str) -> int:
        lying = 0
        for verb in cycle(("place",) * 5 + ("clear",)):
            answer = await owner.act(patron, verb, *(("tie", 10) if verb == "place" else ()))
            if answer.code != "ok":
                assert answer.code == "BETTING_CLOSED"
                assert answer.at_ms >= int(soon)
                break
            assert answer.at_ms < int(soon)
            lying = sum(answer.bets.values())
        return lying

    async def close() -> Any:
        while True:
            try:
                return await owner.freeze()
            except Refused:
                await asyncio.sleep(0)

    *lying, frozen = await asyncio.gather(bet("a"), bet("b"), close())
    assert sum(lying) == frozen.totals.get(Spot.TIE, 0)
    await ledger.check(owner.table)


async def test_time_given_back_after_an_outage_opens_the_round_again(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    """The store froze the bets, the answer was lost with the store, and nobody was told of the close."""
    await owner.act("a", "ready")
    await owner.act("b", "ready")
    await owner.freeze()
    heir = await Owner.of(tables, ledger, owner.table)
    extended_to_ms = await owner.now_ms() + 30_000
    await heir.commit(machine.extend_betting(heir.state, heir.table, extended_to_ms))
    assert (await tables.view(owner.table)).view.closes_at_ms == extended_to_ms
    assert (await heir.act("a", "place", "player", 25)).code == "ok"
    assert await refusal_of(heir.freeze()) == "TOO_EARLY"
    await heir.act("a", "ready")
    assert (await heir.freeze()).early
    await ledger.check(owner.table)
