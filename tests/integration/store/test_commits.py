"""The owner's verbs: claim, release, renew, commit, open_betting; the fence, the order of events, lost replies."""

import asyncio
from typing import Any, cast

import msgpack
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from client_sdk.protocol.messages import RulesChanged
from server.store import keys
from server.store.bus import Envelope, Subscription
from server.store.driver import Driver
from server.store.errors import Fenced, NewerSchema, OutOfStep, Refused
from server.store.records import pack
from server.store.tables import Lease, Tables
from server.table.machine import Change
from server.table.state import TableState
from tests.integration.store.checks import LEASE_MS, NODE, Ledger, Owner, fresh_id, refusal_of
from tests.support.table_rules import rules_of


def told(owner: Owner, events: int = 1) -> Change:
    """A change of so many events that fits any phase."""
    seq = owner.state.seq
    changed = [RulesChanged(table=owner.table, seq=seq + number, rules=owner.rules) for number in range(1, events + 1)]
    return Change(replace(owner.state, seq=seq + events), tuple(changed))


async def stream_of(tables: Tables, table: str) -> list[tuple[int, Any]]:
    return [(seq, msgpack.unpackb(packed)) for seq, packed in await tables.events_after(table, 0)]


@pytest.fixture
async def owner(tables: Tables, ledger: Ledger) -> Owner:
    return await Owner.of_new_table(tables, ledger)


# --- create, claim, release, renew ------------------------------------------------------------------------------------


async def test_create_once(tables: Tables, ledger: Ledger) -> None:
    table = fresh_id("t")
    assert await tables.create(table, rules_of(), "inc-1", "run-1")
    before = await ledger.contents()
    assert not await tables.create(table, rules_of("stand-off"), "inc-2", "run-2")
    assert await ledger.contents() == before
    row = await tables.view(table)
    assert (row.view.incarnation, row.view.seq, row.view.phase, row.view.rules) == ("inc-1", 0, "idle", rules_of())
    assert (row.view.closes_at_ms, row.view.shoe, row.view.you, row.connection) == (None, None, None, None)
    assert row.view.crowd.seats == []
    assert table in await tables.page(None)


async def test_tables_are_listed_in_pages(tables: Tables, raw: Redis) -> None:
    names = [f"page-{number:03}" for number in range(120)]
    for name in names:
        await raw.zadd(keys.TABLES, {name: 0})
    pages = []
    after = None
    while page := await tables.page(after):
        pages.append(len(page))
        after = page[-1]
    assert pages == [50, 50, 20]
    assert await tables.page("page-117") == ["page-118", "page-119"]


async def test_a_table_of_a_newer_shape_is_left_alone(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """A node that is older than another takes no bet and no seat there, and does not deal; it says why."""
    await owner.seat("p", 1_000)
    await owner.open_betting()
    (schema,) = await cast("Any", ledger.raw.hmget(owner.key, "schema"))
    await cast("Any", ledger.raw.hset(owner.key, "schema", str(int(schema) + 1)))
    before = await ledger.contents()
    for call in (
        tables.claim(owner.table, "other", LEASE_MS),
        tables.view(owner.table),
        tables.sit(owner.table, "q", "Q", False, NODE, "c-q"),
        tables.leave(owner.table, "p"),
        tables.renew(owner.table, owner.lease),
        owner.act("p", "place", "player", 10),
        tables.settle(owner.table, owner.lease, 1, []),
    ):
        with pytest.raises(NewerSchema, match="NEWER_SCHEMA: a newer version"):
            await call
    assert await ledger.contents() == before


async def test_claim_refusals_in_their_order_change_nothing(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    assert await refusal_of(tables.claim(fresh_id("nowhere"), NODE, LEASE_MS)) == "UNKNOWN_TABLE"
    before = await ledger.contents()
    with pytest.raises(Refused) as refused:
        await tables.claim(owner.table, "other", LEASE_MS)
    now_ms, node, lease_until_ms = refused.value.details
    assert (refused.value.code, node) == ("OWNED", NODE.encode())
    assert isinstance(now_ms, int)
    assert isinstance(lease_until_ms, int)
    assert now_ms < lease_until_ms <= now_ms + LEASE_MS
    assert await ledger.contents() == before


async def test_a_claim_is_a_new_epoch_and_the_old_one_is_fenced(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    first = owner.lease
    again = await tables.claim(owner.table, NODE, LEASE_MS)  # the same node, after a doubt
    assert again.lease == Lease(NODE, first.epoch + 1, "inc", LEASE_MS)
    with pytest.raises(Fenced):
        await tables.renew(owner.table, first)
    await tables.release(owner.table, again.lease)
    with pytest.raises(Fenced):
        await tables.renew(owner.table, again.lease)
    other = await tables.claim(owner.table, "other", LEASE_MS)
    assert other.lease.epoch == first.epoch + 2
    assert (other.state, other.rules) == (TableState(), rules_of())


async def test_a_lease_that_ran_out_may_be_taken_over(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await cast("Any", ledger.raw.hset(owner.key, "lease_until_ms", str(await owner.now_ms())))
    heir = await tables.claim(owner.table, "other", LEASE_MS)
    assert heir.lease.node == "other"
    with pytest.raises(Fenced):
        await owner.commit(told(owner))


async def test_the_same_epoch_number_on_another_node_is_fenced(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """A failover can lose a claim: then two nodes hold one number, and only one of them is the owner."""
    twin = owner.lease._replace(node="twin")
    before = await ledger.contents()
    change = told(owner)
    for verb in (tables.commit, tables.open_betting):
        with pytest.raises(Fenced):
            await verb(owner.table, twin, change)
    with pytest.raises(Fenced):
        await tables.renew(owner.table, twin)
    with pytest.raises(Fenced):
        await tables.release(owner.table, twin)
    with pytest.raises(Fenced):
        await tables.freeze_bets(owner.table, twin, 0, 0)
    with pytest.raises(Fenced):
        await tables.settle(owner.table, twin, 0, [])
    with pytest.raises(Fenced):
        await tables.adopt_store(owner.table, twin, "run-2", "inc-2", rollback=True)
    assert await ledger.contents() == before


async def test_renew_keeps_the_lease_and_tells_the_seq(
    driver: Driver, tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    subscription = Subscription(driver)
    await subscription.add(owner.table)
    await owner.open_betting()
    await owner.seat("a")
    await owner.seat("b")
    await tables.go_away(owner.table, "b", "c-b")
    await cast("Any", ledger.raw.hset(owner.key, "lease_until_ms", "1"))
    pulse = await tables.renew(owner.table, owner.lease)
    assert await refusal_of(tables.claim(owner.table, "other", LEASE_MS)) == "OWNED"
    assert (pulse.seated, pulse.connected, pulse.all_ready) == (2, 1, False)
    assert pulse.touched == 3
    assert 0 <= pulse.now_ms - pulse.last_join_at_ms < 5_000
    envelopes = [await asyncio.wait_for(subscription.next(), 5) for _ in range(3)]
    assert envelopes[-1]._replace(at_ms=0) == Envelope(owner.table, "alive", "inc", 2, b"")
    await subscription.close()


# --- commit -----------------------------------------------------------------------------------------------------------


async def test_a_commit_is_state_events_publication_and_lease(
    driver: Driver, tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    subscription = Subscription(driver)
    await subscription.add(owner.table)
    change = told(owner, events=3)
    await cast("Any", ledger.raw.hset(owner.key, "lease_until_ms", "1"))
    assert abs(await tables.commit(owner.table, owner.lease, change) - await owner.now_ms()) < 5_000
    assert await stream_of(tables, owner.table) == [
        (seq, {"type": "rules_changed", "table": owner.table, "seq": seq, "rules": msgpack.unpackb(pack(owner.rules))})
        for seq in (1, 2, 3)
    ]
    assert [entry[0] for entry in await ledger.raw.xrange(f"{owner.key}:events") or ()] == [b"1-0", b"2-0", b"3-0"]
    published = [await asyncio.wait_for(subscription.next(), 5) for _ in range(3)]
    assert abs(published[0].at_ms - await owner.now_ms()) < 5_000
    assert [envelope._replace(at_ms=0) for envelope in published] == [
        Envelope(owner.table, "event", "inc", seq, packed) for seq, packed in await tables.events_after(owner.table, 0)
    ]
    row = await tables.view(owner.table)
    assert row.view.seq == 3
    lease_until_ms = int((await ledger.hash_of(owner.key))["lease_until_ms"])
    assert lease_until_ms > await owner.now_ms() + LEASE_MS - 5_000
    claimed = await tables.claim(owner.table, NODE, LEASE_MS)
    assert claimed.state == change.state
    await subscription.close()


async def test_commit_refusals_in_their_order_change_nothing(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.commit(told(owner))
    ahead, behind = told(owner, events=2), told(owner)
    ahead = Change(replace(ahead.state, seq=9), ahead.events)
    behind = Change(replace(behind.state, seq=1, position=5), behind.events)
    before = await ledger.contents()
    for verb in (tables.commit, tables.open_betting):
        with pytest.raises(OutOfStep):
            await verb(owner.table, owner.lease._replace(incarnation="older"), told(owner))
        for change in (ahead, behind):
            with pytest.raises(Fenced):
                await verb(owner.table, owner.lease._replace(epoch=7, incarnation="older"), change)
            with pytest.raises(OutOfStep):
                await verb(owner.table, owner.lease._replace(incarnation="older"), change)
            with pytest.raises(OutOfStep):
                await verb(owner.table, owner.lease, change)
    assert await ledger.contents() == before


async def test_a_commit_whose_reply_was_lost_is_done_once(
    driver: Driver, tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    subscription = Subscription(driver)
    await subscription.add(owner.table)
    change = owner.opening(await owner.now_ms())
    await tables.open_betting(owner.table, owner.lease, change)
    owner.state = change.state
    await owner.seat("p", 100)
    await owner.act("p", "place", "player", 25)
    before = await ledger.contents()
    await tables.open_betting(owner.table, owner.lease, change)  # would clear the sums if it were done again
    assert await ledger.contents() == before
    await ledger.check(owner.table)
    closing = told(owner)
    for _ in range(3):
        await tables.commit(owner.table, owner.lease, closing)
    assert [seq for seq, _ in await stream_of(tables, owner.table)] == [1, 2, 3]
    other = Change(replace(closing.state, position=1), closing.events)  # same numbers, but not that commit
    with pytest.raises(OutOfStep):
        await tables.commit(owner.table, owner.lease, other)
    with pytest.raises(OutOfStep):
        await tables.commit(owner.table, owner.lease, change)  # two steps ago
    await tables.renew(owner.table, owner.lease)
    seqs = []
    while (envelope := await asyncio.wait_for(subscription.next(), 5)).kind != "alive":
        if envelope.kind == "event":
            seqs.append(envelope.seq)
    assert seqs == [1, 2, 3]
    await subscription.close()


async def test_the_stream_itself_refuses_an_older_number(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """Where the hash was rolled back further than the stream, nothing of the commit is written."""
    await owner.seat("p", 100)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    await cast("Any", ledger.raw.hdel(f"{owner.key}:bets", "p"))
    await cast("Any", ledger.raw.hset(owner.key, "seq", "0"))
    owner.state = replace(TableState(), seq=0)
    before = await ledger.contents()
    change = owner.opening(await owner.now_ms())
    for verb in (tables.commit, tables.open_betting):
        with pytest.raises(Exception, match="equal or smaller"):
            await verb(owner.table, owner.lease, change)
    assert await ledger.contents() == before


async def test_rules_change_with_a_commit(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    raised = rules_of("royal", minimum=50, seats_max=1)
    await tables.commit(owner.table, owner.lease, told(owner), raised)
    owner.state = told(owner).state
    assert (await tables.view(owner.table)).view.rules == raised
    await owner.seat("p", 100)
    assert await refusal_of(owner.seat("q")) == "TABLE_FULL"
    await owner.open_betting()
    assert (await owner.act("p", "place", "player", 25)).code == "BELOW_MINIMUM"


# --- open_betting -----------------------------------------------------------------------------------------------------


async def test_a_round_begins_without_what_belonged_to_the_one_before(
    tables: Tables, ledger: Ledger, owner: Owner
) -> None:
    await owner.seat("p", 100)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    await owner.act("p", "ready")
    await owner.end_round()
    assert await tables.settled_sums(owner.table) != (0, 0)
    await owner.open_betting()
    row = await tables.view(owner.table, "p")
    assert row.view.crowd.totals == row.view.crowd.bettors == {}
    assert row.view.crowd.ready == 0
    assert await tables.settled_sums(owner.table) == (0, 0)
    assert (row.view.phase, row.view.round, row.view.closes_at_ms) == ("betting", 2, owner.state.closes_at_ms)


async def test_no_round_begins_over_bets_that_are_not_settled(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    await owner.seat("p", 100)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    await owner.close_betting()
    await owner.deal()
    await owner.finish_round()  # a dealer that forgot to settle
    before = await ledger.contents()
    assert await refusal_of(owner.open_betting()) == "BETS_LEFT"
    with pytest.raises(OutOfStep):  # checked before
        await tables.open_betting(owner.table, owner.lease, Change(replace(owner.state, seq=99), ()))
    assert await ledger.contents() == before


# --- The stream -------------------------------------------------------------------------------------------------------


async def test_events_are_read_after_a_seq_in_pages(tables: Tables, owner: Owner) -> None:
    for _ in range(3):
        await owner.commit(told(owner, events=400))
    first = await tables.events_after(owner.table, 0)
    assert [seq for seq, _ in first] == list(range(1, 513))
    assert [seq for seq, _ in await tables.events_after(owner.table, 1_198)] == [1_199, 1_200]
    assert await tables.events_after(owner.table, 1_200) == []
    assert await tables.events_after(fresh_id("nowhere"), 0) == []


async def test_a_whole_round_reads_back_as_it_was_dealt(tables: Tables, ledger: Ledger, owner: Owner) -> None:
    """And a new owner after every step goes on with the same cards."""
    await owner.seat("p", 1_000)
    await owner.open_betting()
    await owner.act("p", "place", "banker", 100)
    await owner.close_betting()
    heir = await Owner.of(tables, ledger, owner.table)
    assert heir.state == owner.state
    assert heir.shoe == owner.shoe
    await heir.deal()
    dealt = [event["card"] for _, event in await stream_of(tables, owner.table) if event["type"] == "card_dealt"]
    shoe = heir.open_shoe.dealt_from
    assert dealt == list(shoe.cards[shoe.burned : heir.state.position])
    last = await Owner.of(tables, ledger, owner.table)
    assert last.state == heir.state
    assert await last.settle() == 0
    await last.finish_round()
    await ledger.check(owner.table)
    assert [seq for seq, _ in await stream_of(tables, owner.table)] == list(range(1, last.state.seq + 1))
