"""One table, patrons at several nodes: everybody sees and may do the same, wherever they are connected."""

import asyncio
import random
import time

import pytest

from server import lobby
from tests.support.house import HouseNode
from tests.support.raw_client import JSON, MSGPACK, CallRefused, Message, RawClient, assert_gapless
from tests.support.rounds import check_round, whole_rounds

BUY_IN = 10_000


def rounds_of(client: RawClient, table: str, first: int, last: int) -> list[list[Message]]:
    return [events for events in whole_rounds(client.numbered(table)) if first <= events[0]["round"] <= last]


async def test_seats_at_three_nodes_see_one_table(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-075, BL-077: equal lists of events, gapless, and nobody needs a snapshot on the way."""
    table = "punto-banco-1"
    clients = [
        await arrive(node.url, f"At {node.name}", subprotocol=subprotocol)
        for node in three_nodes
        for subprotocol in (MSGPACK, JSON)
    ]
    seqs = [(await client.join(table, BUY_IN))["snapshot"]["seq"] for client in clients]
    first = (await clients[-1].next("betting_opened", table=table))["round"]
    for client in clients:
        await client.until(lambda client=client: client.seen("round_settled", round=first + 3))
    lists = [rounds_of(client, table, first, first + 3) for client in clients]
    assert len(lists[0]) == 4
    assert all(rounds == lists[0] for rounds in lists)
    for events in lists[0]:
        check_round(events)
    for client, seq in zip(clients, seqs, strict=True):
        assert_gapless(client.numbered(table), seq)
        assert not client.seen("snapshot")


async def test_a_bet_at_one_node_is_seen_at_the_others(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-080: in the same round, in the sums that all are shown and in the final ones."""
    table = "royal-1"
    ann, ben, cy = [await arrive(node.url, node.name) for node in three_nodes]
    for client in (ann, ben, cy):
        await client.join(table, BUY_IN)
    number = await ann.betting(table)
    await ann.place(table, "player", 100)
    await ben.until(lambda: ben.round[table] >= number)
    await ben.call("place", table=table, round=number, spot="tie", chip=500)
    closed = await cy.next("betting_closed", table=table, round=number)
    assert closed["totals"] == {"player": 100, "tie": 500}
    assert closed["bettors"] == 2
    crowds = [event["crowd"] for event in cy.seen("crowd", table=table, round=number)]
    seats = {seat["patron"]: seat["bets"] for crowd in crowds for seat in crowd["seats"] if seat["bets"]}
    assert seats.get(ann.patron) == {"player": 100}
    for client, spot in ((ann, "player"), (ben, "tie")):
        results = await client.next("results", table=table, round=number)
        assert list(results["bets"]) == [spot]
    assert not cy.seen("results", table=table, round=number)


async def test_the_newest_connection_holds_the_seat_at_whichever_node(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-065: taken over from node to node; each holder before is told, and its late close leaves the seat alone."""
    table = "four-deck-1"
    first = await arrive(three_nodes[0].url, "Wanderer")
    await first.join(table, BUY_IN)
    number = await first.betting(table)
    await first.place(table, "banker", 500)
    holder = first
    for node in (three_nodes[1], three_nodes[2], three_nodes[0]):
        newer = await arrive(node.url, token=first.token)
        you = (await newer.join(table))["you"]
        if you["last_round"] != number:
            assert (you["stack"], you["bets"]) == (BUY_IN - 500, {"banker": 500})
        await holder.next("seat_taken_over", table=table)
        refused = await holder.ask("clear", table=table, round=number)
        assert refused["name"] == "SEAT_TAKEN_OVER"
        holder.joined.clear()
        await holder.drop()
        holder = newer
    await asyncio.sleep(0.2)  # the late closes must change nothing, so there is nothing to await
    view = (await holder.call("watch", table=table))["snapshot"]
    assert [seat["connected"] for seat in view["crowd"]["seats"] if seat["patron"] == first.patron] == [True]


async def test_a_seat_waits_at_every_node_until_its_time_is_over(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-055: dropped at one node, taken up at the others within the time, with stack and bets; after it, freed."""
    table = "stand-off-1"
    client = await arrive(three_nodes[0].url, "Lost")
    await client.join(table, BUY_IN)
    other = await arrive(three_nodes[2].url, "Stays")
    await other.join(table, BUY_IN)
    for node, away_s in ((three_nodes[1], 0.1), (three_nodes[2], 0.7), (three_nodes[0], 1.2)):
        await client.betting(table)
        await client.place(table, "player", 100)
        await client.drop()
        await asyncio.sleep(away_s)
        client = await arrive(node.url, token=client.token)
        you = (await client.join(table))["you"]
        assert you["stack"] > BUY_IN - 1_000  # the same seat with the same chips, less or more what was played for
        await client.until(lambda client=client: client.phase.get(table) == "betting", what="the next round")
    client.joined.clear()
    wallet = client.wallet
    await client.drop()
    await other.until(
        lambda: other.seen("crowd")[-1]["crowd"]["seated"] == 1 and other.seen("crowd")[-1]["round"] > 0, 8
    )
    back = await arrive(three_nodes[1].url, token=client.token)
    assert back.wallet > wallet
    assert (await back.call("watch", table=table))["you"] is None
    with pytest.raises(CallRefused, match="NOT_SEATED"):
        await back.call("clear", table=table, round=other.round[table])
    back.joined.clear()


async def test_all_seats_taken_in_one_moment_from_two_nodes(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-062: each seat one patron, each patron one seat, and every node lists the same."""
    table = "red-lounge-1"
    clients = await asyncio.gather(*(arrive(three_nodes[n % 2].url, f"Crowd {n}") for n in range(12)))
    replies = await asyncio.gather(*(client.join(table, 1_000 + n) for n, client in enumerate(clients)))
    assert [reply["you"]["stack"] for reply in replies] == [1_000 + n for n in range(12)]
    looker = await arrive(three_nodes[2].url, "Looker")
    views = [await client.call("watch", table=table) for client in (clients[0], clients[1], looker)]
    lists = [[seat["patron"] for seat in view["snapshot"]["crowd"]["seats"]] for view in views]
    assert lists[0] == lists[1] == lists[2] == sorted(client.patron for client in clients)


async def test_a_client_that_moves_from_node_to_node_and_back_hears_each_event_once(
    arrive, three_nodes: list[HouseNode]
) -> None:
    """BL-081: no old rounds, numbers never go back, nothing is left out."""
    table = "punto-banco-1"
    anchor = await arrive(three_nodes[0].url, "Anchor")
    await anchor.join(table, BUY_IN)
    client = await arrive(three_nodes[0].url, "Mover")
    snapshot = (await client.call("watch", table=table))["snapshot"]
    life, heard = snapshot["incarnation"], snapshot["seq"]
    events: list[Message] = []
    for node in (1, 0, 2, 1, 0):
        await client.until(lambda client=client: len(client.numbered(table)) >= 7)
        events += client.numbered(table)
        heard = events[-1]["seq"]
        moved = await arrive(three_nodes[node].url, token=client.token)
        await client.drop()
        reply = await moved.call("watch", table=table, incarnation=life, seq=heard)
        assert reply["resumed"] is True
        client = moved
    events += client.numbered(table)
    assert_gapless(events, snapshot["seq"])


async def test_others_who_come_and_go_take_nothing_from_those_who_stay(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-076: at every node clients join and drop in a loop; the steady ones miss nothing."""
    table = "royal-1"
    steady = [await arrive(node.url, f"Steady {node.name}") for node in three_nodes for _ in range(2)]
    seqs = [(await client.join(table, BUY_IN))["snapshot"]["seq"] for client in steady]
    is_over = asyncio.Event()

    async def come_and_go(n: int) -> None:
        chance = random.Random(n)
        token = None
        while not is_over.is_set():
            client = await RawClient.arrive(three_nodes[n % 3].url, f"Loop {n}", token=token)
            token = client.token
            await client.call("join", table=table)
            await asyncio.sleep(chance.random() * 0.1)
            await client.drop()

    loops = [asyncio.create_task(come_and_go(n)) for n in range(9)]
    number = await steady[0].betting(table)
    await steady[0].until(lambda: steady[0].seen("round_settled", round=number + 3))
    is_over.set()
    await asyncio.gather(*loops)
    for client, seq in zip(steady, seqs, strict=True):
        assert_gapless(client.numbered(table), seq)
        assert not client.seen("snapshot")


async def test_lobby_and_table_agree_at_all_nodes(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-090: what one node lists is what another one shows, a tenth of a second ago at most."""
    table = "four-deck-1"
    player = await arrive(three_nodes[0].url, "Plays")
    await player.join(table, BUY_IN)
    looker = await arrive(three_nodes[1].url, "Looks")
    compared, seq, since_s = 0, -1, 0.0
    while compared < 15:
        before = (await player.call("watch", table=table))["snapshot"]
        if before["seq"] != seq:
            seq, since_s = before["seq"], time.monotonic()
        is_listed = time.monotonic() - since_s > 1.5 * lobby.FRESH_MS / 1000
        listed = next(row for row in (await looker.call("list_tables"))["tables"] if row["table"] == table)
        after = (await player.call("watch", table=table))["snapshot"]
        if is_listed and after["seq"] == seq:
            told = (listed["phase"], listed["round"], listed["closes_at_ms"], listed["seated"])
            shown = (after["phase"], after["round"], after["closes_at_ms"], after["crowd"]["seated"])
            assert told == shown
            compared += 1
        await asyncio.sleep(0.02)


async def test_bets_from_two_nodes_around_the_close_count_or_are_refused(arrive, three_nodes: list[HouseNode]) -> None:
    """BL-040: every node refuses at the same instant, whichever deals; the sums are those of the accepted bets."""
    table = "royal-1"
    clients = await asyncio.gather(*(arrive(three_nodes[n % 3].url, f"Close {n}") for n in range(9)))
    await asyncio.gather(*(client.join(table, BUY_IN) for client in clients))
    opened = await clients[0].next("betting_opened", table=table)
    number, closes_at_ms = opened["round"], opened["closes_at_ms"]

    async def hammer(client: RawClient) -> list[Message]:
        await client.until(lambda: client.round.get(table, 0) >= number)
        await asyncio.sleep(max(0.0, closes_at_ms / 1000 - time.time() - 0.2))  # the store is on this machine
        answers = []
        while time.time() < closes_at_ms / 1000 + 0.1:
            answers.append(await client.begin("place", table=table, round=number, spot="player", chip=100))
            await asyncio.sleep(0.003)
        return list(await asyncio.gather(*answers))

    answers = [answer for answers in await asyncio.gather(*map(hammer, clients)) for answer in answers]
    closed = await clients[0].next("betting_closed", table=table, round=number)
    taken = [answer for answer in answers if answer["type"] == "ok"]
    late = [answer for answer in answers if answer["type"] == "error"]
    assert taken, late[:1]
    assert late
    assert closed["totals"]["player"] == 100 * len(taken)
    assert all(answer["accepted_at_ms"] < closed["closed_at_ms"] for answer in taken)
    assert {answer["name"] for answer in late} <= {"BETTING_CLOSED", "ROUND_OVER"}
    assert all(answer["arrived_at_ms"] >= closed["closed_at_ms"] for answer in late)
    assert {answer["closed_at_ms"] for answer in late} == {closed["closed_at_ms"]}
