"""One seat per patron and table, held by its newest connection, for a stated time also by none."""

import asyncio
import random
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from server.store.driver import Driver
from server.store.keys import events_key
from tests.support.node_process import own_node
from tests.support.raw_client import JSON, MSGPACK, CallRefused, Message, RawClient, assert_gapless

PLAY_MONEY = 1_000_000


async def view_of(client: RawClient, table: str) -> Message:
    """The table as it is now."""
    snapshot: Message = (await client.call("watch", table=table))["snapshot"]
    return snapshot


def seats_of(view: Message) -> dict[str, Message]:
    """Patron -> seat, as everybody sees it."""
    return {seat["patron"]: seat for seat in view["crowd"]["seats"]}


async def until_seated(client: RawClient, table: str, count: int, connected: int | None = None) -> Message:
    """Look at a table until so many seats are taken."""
    async with asyncio.timeout(10):
        while True:
            crowd: Message = (await view_of(client, table))["crowd"]
            if crowd["seated"] == count and connected in (None, crowd["connected"]):
                return crowd
            await asyncio.sleep(0.02)


# --- takeover ---------------------------------------------------------------------------------------------------------


async def test_a_second_connection_takes_the_seat_over(arrive, node_url: str) -> None:
    """BL-065: the first is told, its acts are refused, its late close leaves the seat alone; results go to the
    second."""
    table = "punto-banco-1"
    first = await arrive(node_url, "Twice")
    await first.join(table, 10_000)
    number = await first.betting(table)
    await first.place(table, "player", 100)
    second = await arrive(node_url, token=first.token, subprotocol=JSON)
    joined = await second.join(table, 0)
    assert (joined["you"]["stack"], joined["you"]["bets"]) == (9_900, {"player": 100})
    await first.next("seat_taken_over", table=table)
    for kind in ("clear", "rebet", "double", "ready", "undo"):
        assert (await first.ask(kind, table=table, round=number))["name"] == "SEAT_TAKEN_OVER"
    assert (await first.ask("place", table=table, round=number, spot="tie", chip=100))["name"] == "SEAT_TAKEN_OVER"
    assert (await first.ask("leave", table=table))["name"] == "SEAT_TAKEN_OVER"
    receipt = await second.call("place", table=table, round=number, spot="player", chip=100)
    assert receipt["bets"] == {"player": 200}
    await first.close()
    await second.next("results", table=table, round=number)
    assert not first.seen("results", table=table, round=number)
    view = await view_of(second, table)
    assert seats_of(view)[second.patron]["connected"] is True
    assert view["crowd"]["seated"] == 1


async def test_a_seat_can_be_taken_back_and_forth(arrive, node_url: str) -> None:
    """The newest join always wins, and there is never more than one seat."""
    table = "royal-1"
    clients = [await arrive(node_url, "Pair")]
    clients.append(await arrive(node_url, token=clients[0].token))
    await clients[0].join(table, 5_000)
    for n in range(1, 11):
        holder, loser = clients[n % 2], clients[(n + 1) % 2]
        await holder.join(table, 0)
        await loser.next("seat_taken_over", table=table)
        assert (await loser.ask("leave", table=table))["name"] == "SEAT_TAKEN_OVER"
    view = await view_of(clients[0], table)
    assert (view["crowd"]["seated"], view["crowd"]["connected"], view["you"]["stack"]) == (1, 1, 5_000)
    clients[1].joined.clear()


# --- away and back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["betting", "dealing", "settling"])
async def test_a_dropped_patron_comes_back_to_seat_stack_and_bets(arrive, node_url: str, phase: str) -> None:
    """BL-055 inside the time, BL-066, BL-072: killed in any phase, the bet plays out, and the token opens the seat."""
    table = "four-deck-1"
    client = await arrive(node_url, "Dropped")
    await client.join(table, 20_000)
    number = await client.betting(table)
    await client.place(table, "banker", 500)
    await client.until(lambda: client.phase[table] == phase)
    await client.drop()
    client.joined.clear()
    again = await arrive(node_url, token=client.token)
    assert again.wallet == PLAY_MONEY - 20_000
    joined = await again.join(table, 0)
    you = joined["you"]
    if you["last_round"] != number:
        assert (you["stack"], you["bets"]) == (19_500, {"banker": 500})
        results = await again.next("results", table=table, round=number)
        line, stack = results["bets"]["banker"], results["stack"]
    else:
        line, stack = you["last_results"]["banker"], you["stack"]
    assert stack == 19_500 + line["payout"]
    view = await view_of(again, table)
    assert view["crowd"]["seated"] == 1
    assert (await again.call("leave", table=table))["wallet"] == PLAY_MONEY - 500 + line["payout"]
    again.joined.clear()


async def test_a_seat_that_nobody_comes_back_to_is_freed_and_its_chips_go_home(arrive, hasty_url: str) -> None:
    """BL-055 outside, BL-069: after the time the stack is in the wallet, win or lose; a new join is a new seat."""
    table = "royal-1"
    watcher = await arrive(hasty_url, "Watcher")
    client = await arrive(hasty_url, "Lost")
    await client.join(table, 30_000)
    await client.betting(table)
    await client.place(table, "player", 500)
    await client.place(table, "banker", 500)
    await client.drop()
    client.joined.clear()
    await until_seated(watcher, table, 1, connected=0)
    await until_seated(watcher, table, 0)
    again = await arrive(hasty_url, token=client.token)
    assert again.wallet in (
        PLAY_MONEY,
        PLAY_MONEY - 25,
    )  # both spots: a push on a tie, else even but for the commission
    joined = await again.join(table, 0)
    assert (joined["you"]["stack"], joined["you"]["bets"]) == (0, {})
    assert (await again.call("leave", table=table))["wallet"] == again.wallet
    again.joined.clear()


async def test_connection_events_move_no_money(arrive, hasty_url: str) -> None:
    """BL-069: after any number of drops, returns, leaves and joins, wallet and stack are what they were, to the
    unit."""
    table = "stand-off-1"
    client = await arrive(hasty_url, "Restless")
    await client.join(table, 7_700)
    for n in range(12):
        again = await arrive(hasty_url, token=client.token)
        assert again.wallet == PLAY_MONEY - 7_700
        assert (await again.join(table, 0))["you"]["stack"] == 7_700
        if n % 3 == 2:
            assert (await again.call("leave", table=table))["wallet"] == PLAY_MONEY
            await again.join(table, 7_700)
        await (client.drop() if n % 2 else client.close())
        client.joined.clear()
        client = again
    assert (await client.call("leave", table=table))["wallet"] == PLAY_MONEY
    client.joined.clear()


async def test_sockets_closed_around_a_join_leave_nothing_behind(arrive, hasty_url: str) -> None:
    """BL-057, BL-061: two hundred times the socket is gone 0 to 50 ms after the join was sent; no seat and no money is
    left behind once the time is over."""
    table = "red-lounge-1"
    watcher = await arrive(hasty_url, "Watcher")
    chance = random.Random(57)
    tokens: list[str] = []

    async def come_and_go(n: int) -> None:
        client = await RawClient.arrive(hasty_url, f"Ghost {n}", subprotocol=(MSGPACK, JSON)[n % 2])
        tokens.append(client.token)
        answer = await client.begin("join", table=table, buy_in=5_000)
        await asyncio.sleep(chance.uniform(0, 0.05))
        await (client.drop() if n % 3 else client.close())
        assert answer.done()

    for start in range(0, 200, 10):
        await asyncio.gather(*(come_and_go(start + n) for n in range(10)))
    await until_seated(watcher, table, 0)
    for token in tokens:
        again = await RawClient.arrive(hasty_url, token=token)
        if again.wallet != PLAY_MONEY:  # chips that were still on their way arrive with the next seat
            await again.join(table, 0)
            assert (await again.call("leave", table=table))["wallet"] == PLAY_MONEY
        await again.close()


# --- leaving ----------------------------------------------------------------------------------------------------------


async def test_a_leaver_with_bets_leaves_after_the_round(arrive, brisk_url: str) -> None:
    table = "royal-1"
    client, other = await arrive(brisk_url, "Leaver"), await arrive(brisk_url, "Other")
    await client.join(table, 10_000)
    await other.join(table, 1_000)
    number = await client.betting(table)
    await client.place(table, "player", 1_00)
    left = await client.call("leave", table=table)
    assert (left["after_round"], left["wallet"]) == (True, None)
    assert (await view_of(client, table))["you"]["leaving"] is True
    results = await client.next("results", table=table, round=number)
    freed = await client.next("seat_freed", table=table)
    assert (freed["reason"], freed["wallet"]) == ("left", PLAY_MONEY - 10_000 + results["stack"])
    client.joined.clear()
    assert (await client.ask("leave", table=table))["name"] == "NOT_SEATED"
    assert (await client.ask("place", table=table, round=number + 1, spot="player", chip=100))["name"] == "NOT_SEATED"
    assert client.patron not in seats_of(await view_of(other, table))


async def test_joining_again_cancels_the_leave(arrive, brisk_url: str) -> None:
    table = "royal-1"
    client = await arrive(brisk_url, "Undecided")
    await client.join(table, 10_000)
    number = await client.betting(table)
    await client.place(table, "player", 100)
    assert (await client.call("leave", table=table))["after_round"] is True
    assert (await client.join(table, 0))["you"]["leaving"] is False
    await client.next("results", table=table, round=number)
    await client.next("round_settled", table=table, round=number + 1)
    assert not client.seen("seat_freed", table=table)
    assert (await view_of(client, table))["you"] is not None


async def left_with_bets(client: RawClient, table: str) -> bool:
    """Bet and get up; whether that was still before the round was over."""
    await client.bet(table, "player", 100)
    return bool((await client.call("leave", table=table))["after_round"])


async def test_old_news_of_a_freed_seat_does_not_reach_the_new_one(arrive, brisk_url: str) -> None:
    """Who leaves with bets, sees the seat gone and sits down at once keeps the new seat and hears its results."""
    table = "royal-1"
    clients = [await arrive(brisk_url, f"Quick {n}") for n in range(8)]

    async def come_again(client: RawClient) -> None:
        await client.join(table, 1_000)
        for _ in range(3):
            while not (await left_with_bets(client, table)):
                await client.join(table, 1_000)
            while (await client.call("watch", table=table))["you"] is not None:
                pass
            await client.join(table, 1_000)
            joined_at = len(client.log)
            number = await client.bet(table, "banker", 100)
            await client.until(partial(client.seen, "results", table=table, round=number))
            assert not [message for message in client.log[joined_at:] if message["type"] == "seat_freed"]

    await asyncio.gather(*(come_again(client) for client in clients))


async def test_join_leave_join_without_waiting(arrive, brisk_url: str) -> None:
    """BL-064: fifty times, all requests in flight at once: answers match their requests, and the last word counts."""
    table = "stand-off-1"
    client = await arrive(brisk_url, "Hasty")
    for _ in range(50):
        futures = [
            await client.begin("join", table=table, buy_in=1_000),
            await client.begin("leave", table=table),
            await client.begin("join", table=table, buy_in=2_000),
        ]
        first, left, last = [await asyncio.wait_for(future, 10) for future in futures]
        assert (first["you"]["stack"], first["wallet"]) == (1_000, PLAY_MONEY - 1_000)
        assert (left["after_round"], left["wallet"]) == (False, PLAY_MONEY)
        assert (last["you"]["stack"], last["wallet"]) == (2_000, PLAY_MONEY - 2_000)
        assert (await client.call("leave", table=table))["wallet"] == PLAY_MONEY
    await client.join(table, 1_000)
    await client.next("round_settled", table=table)
    assert seats_of(await view_of(client, table))[client.patron]["connected"] is True


# --- joining ----------------------------------------------------------------------------------------------------------


async def test_joining_twice_is_a_full_answer_and_adds_chips(arrive, node_url: str) -> None:
    """BL-063: never an empty success; the second join of a seated patron is a top-up with the whole table in it."""
    table = "royal-1"
    client = await arrive(node_url)
    await client.join(table, 1_000)
    again = await client.join(table, 0)
    assert again["snapshot"]["table"] == table
    assert again["you"]["stack"] == 1_000
    number = await client.betting(table)
    await client.place(table, "tie", 500)
    topped = await client.join(table, 2_500)
    assert (topped["you"]["stack"], topped["you"]["bets"], topped["wallet"]) == (3_000, {"tie": 500}, 996_500)
    with pytest.raises(CallRefused, match="INSUFFICIENT_WALLET"):
        await client.join(table, PLAY_MONEY)
    assert (await view_of(client, table))["you"]["stack"] == 3_000
    results = await client.next("results", table=table, round=number)
    assert results["stack"] == 3_000 + results["bets"]["tie"]["payout"]


async def test_the_same_join_sent_twice_buys_in_once(arrive, brisk_url: str) -> None:
    """A retry under its request_id, also from a new connection, moves no second sum; another sum under it is
    refused."""
    table = "royal-1"
    client = await arrive(brisk_url)
    for _ in range(3):
        assert (await client.join(table, 1_000, request_id="once"))["you"]["stack"] == 1_000
    again = await arrive(brisk_url, token=client.token)
    assert (await again.join(table, 1_000, request_id="once"))["you"]["stack"] == 1_000
    client.joined.clear()
    with pytest.raises(CallRefused, match="REQUEST_REUSED"):
        await again.join(table, 2_000, request_id="once")
    assert (await view_of(again, table))["you"]["stack"] == 1_000


async def test_a_full_table_takes_nobody_and_no_money(arrive, hasty_url: str) -> None:
    """BL-062: of twelve who join two seats at once, two get one, the others are told, and their money stays with
    them."""
    table = "punto-banco-1"
    clients = [await arrive(hasty_url, f"Guest {n}") for n in range(12)]
    for _ in range(5):
        replies = await asyncio.gather(*(client.ask("join", table=table, buy_in=1_000) for client in clients))
        seated = [client for client, reply in zip(clients, replies, strict=True) if reply["type"] == "ok"]
        assert len(seated) == 2
        assert {reply["name"] for reply in replies if reply["type"] == "error"} == {"TABLE_FULL"}
        view = await view_of(clients[0], table)
        assert set(seats_of(view)) == {client.patron for client in seated}
        assert view["rules"]["seats_max"] == 2
        for client in seated:
            assert (await client.join(table, 500))["you"]["stack"] == 1_500  # a seat may always add chips
            assert (await client.call("leave", table=table))["wallet"] == PLAY_MONEY
    for client in clients:
        again = await RawClient.arrive(hasty_url, token=client.token)
        assert again.wallet == PLAY_MONEY
        await again.close()


async def test_a_seat_is_told_to_all_and_a_spectator_is_none(arrive, node_url: str) -> None:
    """Who sits, is away or has gone is told to everybody within a second; crowd events tell no less than a snapshot."""
    table = "red-lounge-1"
    spectator, client = await arrive(node_url, "Spectator"), await arrive(node_url, "Seat")
    await spectator.call("watch", table=table)

    async def told(**wanted: object) -> None:
        def holds() -> bool:
            crowds = spectator.seen("crowd", table=table)
            seats = {seat["patron"]: seat for seat in crowds[-1]["crowd"]["seats"]} if crowds else {}
            seat = seats.get(client.patron)
            return seat is None if not wanted else seat is not None and all(seat[k] == v for k, v in wanted.items())

        await spectator.until(holds, 2, f"a crowd with {wanted}")

    await client.join(table, 1_000)
    await told(connected=True, name="Seat", bot=False, bets={})
    await client.betting(table)
    await client.place(table, "tie", 100)
    await told(bets={"tie": 100})
    await client.drop()
    await told(connected=False)
    again = await arrive(node_url, token=client.token)
    await again.join(table, 0)
    await told(connected=True)
    await again.next("round_settled", table=table)
    await again.call("leave", table=table)
    await spectator.until(lambda: spectator.seen("crowd")[-1]["crowd"]["seated"] == 0, 3)
    again.joined.clear()
    client.joined.clear()


# --- resume -----------------------------------------------------------------------------------------------------------


async def test_a_returning_client_gets_what_it_missed_or_a_snapshot(arrive, brisk_url: str) -> None:
    """The answer is always one of the two: gapless from the seq named; else, where that can't be, a snapshot."""
    table = "punto-banco-1"
    host = await arrive(brisk_url, "Host")
    await host.call("watch", table=table)
    await host.join(table, 1_000)
    await host.next("round_settled", table=table)
    incarnation, known = host.incarnation[table], host.numbered(table)[2]["seq"]
    await host.next("round_settled", table=table)
    back = await arrive(brisk_url, "Back", subprotocol=JSON)
    answer = await back.call("watch", table=table, incarnation=incarnation, seq=known)
    assert (answer["resumed"], answer["snapshot"]) == (True, None)
    await back.until(lambda: len(back.numbered(table)) > 30)
    seqs = [event["seq"] for event in back.numbered(table)]
    assert seqs == list(range(known + 1, known + 1 + len(seqs)))
    now = seqs[-1]
    await host.until(lambda: host.numbered(table)[-1]["seq"] >= now)
    by_seq = {event["seq"]: event for event in host.numbered(table)}
    assert all(by_seq[event["seq"]] == event for event in back.numbered(table) if event["seq"] <= now)
    for wrong in (
        {"incarnation": incarnation, "seq": now + 10_000},
        {"incarnation": "another", "seq": known},
        {"incarnation": None, "seq": known},
        {"incarnation": incarnation, "seq": None},
    ):
        other = await arrive(brisk_url, "Other")
        answer = await other.call("watch", table=table, **wrong)
        assert answer["resumed"] is False
        assert answer["snapshot"]["incarnation"] == incarnation
        await other.until(lambda other=other: len(other.numbered(table)) > 3)
        after = [event["seq"] for event in other.numbered(table)]
        assert after[0] == answer["snapshot"]["seq"] + 1
        assert all(later == earlier + 1 for earlier, later in pairwise(after))
    joined = await arrive(brisk_url, token=host.token)
    answer = await joined.join(table, 0, incarnation=incarnation, seq=known)
    assert (answer["resumed"], answer["you"]["stack"]) == (True, 1_000)
    host.joined.clear()


async def test_who_is_too_far_behind_gets_a_snapshot(arrive, tmp_path: Path) -> None:
    """What a returning client missed is in neither the node's memory nor the store's stream any more."""
    table = "royal-1"
    async with own_node(tmp_path / "data", betting_ms=100, card_ms=0, result_ms=0, grace_ms=60_000) as node:
        client = await arrive(node.url)
        await client.join(table, 100)
        await client.next("round_settled", table=table)
        await client.next("round_settled", table=table)
        incarnation = client.incarnation[table]
        await asyncio.to_thread(node.stop)
        await asyncio.to_thread(node.start)
        async with Driver(f"unix://{node.data / 'valkey.sock'}") as store:
            assert await store.call("XTRIM", events_key(table), "MAXLEN", 4) > 0
        again = await arrive(node.url, token=client.token)
        answer = await again.call("watch", table=table, incarnation=incarnation, seq=1)
        assert (answer["resumed"], answer["snapshot"]["incarnation"]) == (False, incarnation)
        await again.until(lambda: len(again.numbered(table)) > 20)
        assert_gapless(again.numbered(table), answer["snapshot"]["seq"])
        client.joined.clear()


async def test_twenty_who_resume_at_random_have_no_gap(arrive, brisk_url: str) -> None:
    """BL-067, BL-076: others come, go and resume all the time; each sees each event once and in order."""
    table = "four-deck-1"
    steady = await arrive(brisk_url, "Steady")
    await steady.call("watch", table=table)
    await steady.join(table, 1_000)
    await steady.next("betting_opened", table=table)
    chance = random.Random(76)

    async def restless(n: int) -> list[Message]:
        known: list[Message] = []
        token, incarnation = None, steady.incarnation[table]
        for _ in range(6):
            client = await RawClient.arrive(brisk_url, f"Restless {n}", token=token, subprotocol=(MSGPACK, JSON)[n % 2])
            token = client.token
            seq = known[-1]["seq"] if known else steady.numbered(table)[-1]["seq"]
            kind = chance.choice(["watch", "join"])
            answer = await client.call(kind, table=table, incarnation=incarnation, seq=seq)
            assert answer["resumed"] is True
            await asyncio.sleep(chance.uniform(0, 0.2))
            await (client.drop() if chance.random() < 0.5 else client.close())
            known += client.numbered(table)
        return known

    seen = await asyncio.gather(*(restless(n) for n in range(20)))
    await steady.next("round_settled", table=table)
    by_seq = {event["seq"]: event for event in steady.numbered(table)}
    for events in seen:
        assert all(later["seq"] == earlier["seq"] + 1 for earlier, later in pairwise(events))
        assert all(by_seq[event["seq"]] == event for event in events if event["seq"] in by_seq)
    assert sum(map(len, seen)) > 200
