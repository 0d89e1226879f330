"""Rounds over the wire, as a stranger with a WebSocket library sees them: every event in order, every bet paid
right."""

import asyncio
import random

import pytest

from tests.support import plain_rules
from tests.support.raw_client import JSON, MSGPACK, SUBPROTOCOLS, TABLES, RawClient, assert_gapless
from tests.support.rounds import cards_of, check_round, whole_rounds

BUY_IN = 200_000


async def bet_something(client: RawClient, table: str, chance: random.Random) -> dict[str, int]:
    """Lay a few chips that the house allows; returns what lies then, by the receipts."""
    house = plain_rules.HOUSES[table]
    spots = list(house.spots)
    if not house.player_with_banker:
        spots.remove(chance.choice(["player", "banker"]))
    lies: dict[str, int] = {}
    for spot in chance.sample(spots, chance.randint(1, len(spots))):
        receipt = await client.place(table, spot, chance.choice([100, 500, 2_500]))
        lies = receipt["bets"]
    return lies


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_a_stranger_sits_bets_and_is_paid_at_every_table(arrive, brisk_url: str, subprotocol: str) -> None:
    """Each variant: the numbered events are whole rounds, private results equal the plain settlement to the unit."""

    async def play(table: str) -> None:
        chance = random.Random(table + subprotocol)
        client = await arrive(brisk_url, "Stranger", subprotocol=subprotocol)
        joined = await client.join(table, BUY_IN)
        stack, seq = joined["you"]["stack"], joined["snapshot"]["seq"]
        assert (stack, joined["wallet"]) == (BUY_IN, client.wallet - BUY_IN)
        for _ in range(3):
            opened = await client.next("betting_opened", table=table)
            bets = await bet_something(client, table, chance)
            results = await client.next("results", table=table, round=opened["round"])
            settled = await client.next("round_settled", table=table, round=opened["round"])
            played = check_round(whole_rounds(client.numbered(table))[-1])
            assert results["outcome"] == played.outcome
            assert results["bets"] == plain_rules.results(table, bets, played.outcome)
            paid = sum(line["payout"] for line in results["bets"].values())
            stack += paid - sum(bets.values())
            assert results["stack"] == stack
            assert (settled["settled"], settled["paid"]) == (1, paid)
            closed = client.seen("betting_closed", table=table, round=opened["round"])[0]
            assert (closed["totals"], closed["bettors"]) == (bets, 1)
        assert_gapless(client.numbered(table), seq)
        left = await client.call("leave", table=table)
        assert left["wallet"] == client.wallet - BUY_IN + stack
        client.joined.clear()

    await asyncio.gather(*(play(table) for table in TABLES))


async def test_ten_seats_see_the_same_events(arrive, brisk_url: str) -> None:
    """Five seats speak MessagePack and five JSON, and the numbered events of all ten are equal and gapless."""
    table = "punto-banco-1"
    clients = [await arrive(brisk_url, f"Ten {n}", subprotocol=(MSGPACK, JSON)[n % 2]) for n in range(10)]
    seqs = [(await client.join(table, 10_000))["snapshot"]["seq"] for client in clients]
    first = (await clients[-1].next("betting_opened", table=table))["round"]
    for client in clients:
        await client.until(lambda client=client: client.seen("round_settled", round=first + 2))
    lists = []
    for client, seq in zip(clients, seqs, strict=True):
        assert_gapless(client.numbered(table), seq)
        rounds = [events for events in whole_rounds(client.numbered(table)) if first <= events[0]["round"] <= first + 2]
        assert len(rounds) == 3
        lists.append(rounds)
    assert all(rounds == lists[0] for rounds in lists)
    for events in lists[0]:
        check_round(events)


async def test_nothing_tells_the_outcome_before_it_is_declared(arrive, brisk_url: str) -> None:
    """BL-008, BL-028: cards come only between close and outcome, and no message before it holds an outcome, a result or
    a mark of a road."""
    table = "royal-1"
    client = await arrive(brisk_url)
    await client.join(table, 10_000)
    for _ in range(3):
        opened = await client.next("betting_opened", table=table)
        await client.place(table, "player", 100)
        await client.next("round_settled", table=table, round=opened["round"])
        start = client.events.index(opened)
        kinds = [event["type"] for event in client.events[start:]]
        decided = kinds.index("round_decided")
        for event in client.events[start : start + decided]:
            assert not {"outcome", "results", "player_natural", "roads"} & event.keys(), event
            if event["type"] == "crowd":
                assert set(event["crowd"]) == {"seated", "connected", "ready", "totals", "bettors", "seats"}
        assert "results" not in kinds[:decided]
        assert not [kind for kind in kinds[decided:] if kind in ("card_dealt", "cards_burned")]
        assert 4 <= len(cards_of(client.events[start:])) <= 6


async def test_an_empty_table_falls_idle_and_keeps_its_shoe(arrive, brisk_url: str) -> None:
    """BL-039: topping up, leaving, sitting again and an idle time change neither the shoe, its position nor the
    roads."""
    table = "stand-off-1"
    client = await arrive(brisk_url)
    await client.join(table, 10_000)
    await client.next("round_settled", table=table)
    shoes = len(client.seen("shoe_started"))
    before = (await client.join(table, 5_000))["snapshot"]["roads"]
    await client.next("round_settled", table=table)
    await client.call("leave", table=table)
    await client.next("table_idled", table=table)
    idle = (await client.call("watch", table=table))["snapshot"]
    assert (idle["phase"], idle["crowd"]["seated"]) == ("idle", 0)
    assert idle["roads"]["beads"].startswith(before["beads"])
    assert idle["roads"]["statistics"]["rounds"] > before["statistics"]["rounds"] > 0
    await asyncio.sleep(0.5)  # nothing may happen, so there is nothing to await
    assert (await client.call("watch", table=table))["snapshot"]["seq"] == idle["seq"]
    await client.join(table, 100)
    opened = await client.next("betting_opened", table=table)
    first = await client.next("card_dealt", table=table)
    assert opened["round"] == idle["round"] + 1
    assert opened["shoe"] == idle["shoe"]["number"]
    assert first["remaining"] == idle["shoe"]["remaining"] - 1
    assert len(client.seen("shoe_started")) == shoes
    assert (await client.call("watch", table=table))["snapshot"]["roads"] == idle["roads"]
