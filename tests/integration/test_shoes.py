"""Shoes over the wire: committed before the first bet, dealt to the cut card and one round more, opened at the end."""

import asyncio

from tests.support import plain_roads, plain_rules
from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import RawClient
from tests.support.record import Record
from tests.support.rounds import cards_of, check_round, whole_rounds

CUT_CARD = 200
PACE = {"betting_ms": 400, "card_ms": 0, "result_ms": 0}


async def assert_roads_outlive(node: NodeProcess, keeper: RawClient, table: str) -> None:
    """BL-030: in the second shoe, the node and its store are killed: roads and counts are those of this shoe's
    rounds."""
    await keeper.call("leave", table=table)
    await keeper.next("table_idled", table=table)
    keeper.joined.clear()
    shoe = [event["seq"] for event in keeper.seen("shoe_started", table=table)][-1]
    played = [event["roads"]["bead"] for event in keeper.seen("round_decided", table=table) if event["seq"] > shoe]
    await asyncio.to_thread(node.kill)
    await asyncio.to_thread(node.start)
    async with await RawClient.arrive(node.url, "Late") as late:
        roads = (await late.call("watch", table=table))["snapshot"]["roads"]
    assert roads == plain_roads.whole("".join(played), None)
    assert 0 < roads["statistics"]["rounds"] == len(played) < len(keeper.seen("round_decided", table=table))


async def test_whole_shoes_from_commitment_to_secret(arrive, tmp_path) -> None:
    """Every card of a shoe follows from the revealed secret; the change comes between rounds, after the one round
    that was announced as the last (BL-032, BL-033, BL-035).

    Beside it sits one who bets once and never again: paid once (BL-146), warned in time, and freed when sixty rounds
    have passed.
    """
    table = "royal-1"
    async with own_node(tmp_path / "data", cut_card=CUT_CARD, **PACE) as node:
        keeper, idler = await arrive(node.url, "Keeper"), await arrive(node.url, "Idler")
        record = Record(table)
        await keeper.call("watch", table=table)
        await keeper.join(table, 100_000)
        await idler.join(table, 1_000)

        once = await idler.betting(table)
        await idler.place(table, "player", 100)
        await idler.place(table, "banker", 500)
        while not idler.seen("seat_freed"):
            number = await keeper.betting(table)
            await keeper.ask("place", table=table, round=number, spot="tie", chip=100)  # or too late, on a slow machine
            for client in (idler, keeper):  # nobody waits for the timer, once the seats are not new any more
                await client.ask("ready", table=table, round=number)
            await keeper.next("round_settled", table=table, round=number)
        await assert_roads_outlive(node, keeper, table)
    record.take_events(keeper.numbered(table))
    for client in (keeper, idler):
        for told in client.seen("results"):
            record.take_results(client.patron, told["round"], told["bets"])
    record.check()
    ended = next(event for event in record.events.values() if event["type"] == "shoe_ended")
    rounds = [events for events in record.rounds if events[0]["shoe"] == 1]
    assert ended["rounds"] == len(rounds)
    assert ended["reason"] == "dealt"
    assert [events[0]["is_last_round"] for events in rounds] == [False] * (len(rounds) - 1) + [True]
    left = [[event["remaining"] for event in events if event["type"] == "card_dealt"][-1] for events in rounds]
    assert left[-2] <= CUT_CARD < left[-3]
    cards = plain_rules.shoe(ended["secret"], 8, 1)
    burned = 1 + (plain_rules.count(cards[0]) or 10)
    dealt = [card for events in rounds for card in cards_of(events)]
    assert dealt == cards[burned : burned + len(dealt)]
    assert left[0] == 416 - burned - len(cards_of(rounds[0]))
    assert record.rounds[-1][0]["shoe"] == 2
    warned, freed = idler.seen("seat_warned")[0], idler.seen("seat_freed")[0]
    (paid,) = idler.seen("results")
    assert (warned["rounds_left"], freed["reason"]) == (1, "idle")
    assert (paid["round"], freed["wallet"]) == (once, 999_000 + paid["stack"])
    before = [event["round"] for event in idler.events[: idler.events.index(freed)] if event["type"] == "round_settled"]
    assert before[-1] == once + 60
    between = idler.events[idler.events.index(warned) : idler.events.index(freed)]
    assert len([event for event in between if event["type"] == "round_settled"]) == 1
    idler.joined.clear()


async def test_a_shoe_for_every_round_is_opened_with_it(arrive, brisk_url: str) -> None:
    """Where every round is shuffled anew its secret alone proves the round."""
    clients = [await arrive(brisk_url) for _ in range(2)]

    async def witness(client: RawClient, table: str) -> None:
        await client.join(table, 100)
        for _ in range(3):
            started = await client.next("shoe_started", table=table)
            ended = await client.next("shoe_ended", table=table)
            assert started["shoe"] == ended["shoe"]
            assert plain_rules.opens(started["commitment"], ended["secret"])
            events = whole_rounds(client.numbered(table))[-1]
            check_round(events)
            decks = plain_rules.HOUSES[table].decks
            assert started["cards"] == 52 * decks
            cards = cards_of(events)
            assert cards == plain_rules.shoe(ended["secret"], decks, ended["shoe"])[: len(cards)]

    await asyncio.gather(witness(clients[0], "four-deck-1"), witness(clients[1], "red-lounge-1"))


async def test_a_lost_stacked_file_breaks_the_shoe_and_not_the_table(arrive, tmp_path) -> None:
    """A node that was started with a file and then without, and the other way around, goes on; no bet is lost."""
    table = "royal-1"
    file = tmp_path / "lines.txt"
    file.write_text("K 9 K K\n")
    for first, second in (({"stacked_shoe": str(file)}, {}), ({}, {"stacked_shoe": str(file)})):
        data = tmp_path / f"data-{len(first)}"
        async with own_node(data, **first) as node:
            client = await arrive(node.url)
            await client.join(table, 10_000)
            number = await client.betting(table)
            await client.place(table, "player", 500)
        client.joined.clear()
        async with own_node(data, **second) as node:
            again = await arrive(node.url, token=client.token)
            await again.call("watch", table=table)
            joined = await again.join(table, 0)
            await again.until(
                lambda again=again, number=number: any(
                    event["round"] > number for event in again.seen("betting_opened")
                )
            )
            you = (await again.call("watch", table=table))["you"]
            assert you["last_round"] == number
            payout = you["last_results"]["player"]["payout"]
            assert you["stack"] == 9_500 + payout
            assert joined["you"]["stack"] in (9_500, you["stack"])
            await again.leave_everywhere()
        assert not [line for line in node.output if "Traceback" in line]
