"""The clock of a table belongs to nobody but the table: what patrons do, or fail to do, moves no phase."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.node_process import own_node
from tests.support.raw_client import SUBPROTOCOLS, TABLES, CallRefused, Message, RawClient
from tests.support.rounds import check_round, whole_rounds

MADE_UP = ("timer_end", "close", "deal", "settle", "phase", "skip", "reveal", "next")
EARLY_MS = 1_200
ACTS_MAX = 150
"""So many acts of one patron in one round at most; the table refuses far more."""
LATE = ("BETTING_CLOSED", "ROUND_OVER")


def rounds_since(client: RawClient, table: str, first: int) -> list[list[Message]]:
    """The whole rounds from `first` on, each checked."""
    rounds = [events for events in whole_rounds(client.numbered(table)) if events[0]["round"] >= first]
    for events in rounds:
        check_round(events)
    return rounds


async def settled(client: RawClient, table: str, number: int) -> None:
    """Wait for the end of a round."""
    await client.until(lambda: client.seen("round_settled", table=table, round=number))


# --- the close --------------------------------------------------------------------------------------------------------


async def test_bets_around_the_close_count_or_are_refused(arrive, node_url: str) -> None:
    """BL-040: twenty clients together send several bets a millisecond across the close; each is answered, the accepted
    ones are the sums of the close and of the results, none was accepted at or after the close."""
    table = "punto-banco-1"
    clients = [await arrive(node_url, f"Late {n}", subprotocol=SUBPROTOCOLS[n % 2]) for n in range(20)]
    stacks = [(await client.join(table, 100_000))["you"]["stack"] for client in clients]
    number = await clients[-1].betting(table)
    now_ms, asked_s = (await clients[-1].call("ping", table=table))["at_ms"], time.monotonic()
    betting = (await clients[-1].call("watch", table=table))["snapshot"]
    assert betting["round"] == number
    closes_at_s = asked_s + (betting["closes_at_ms"] - now_ms) / 1000

    async def hammer(client: RawClient, phase_s: float) -> list[tuple[bool, Any]]:
        sent: list[tuple[bool, Any]] = []
        await asyncio.sleep(max(0.0, closes_at_s - 0.2 - time.monotonic()) + phase_s)
        knew = False
        while (time.monotonic() < closes_at_s + 0.15 or not knew) and len(sent) < ACTS_MAX:
            knew = bool(client.seen("betting_closed", round=number))
            sent.append((knew, await client.begin("place", table=table, round=number, spot="player", chip=100)))
            await asyncio.sleep(0.005)
        return sent

    sent = await asyncio.gather(*(hammer(client, n / 5_000) for n, client in enumerate(clients)))
    closed = await clients[0].until(lambda: clients[0].seen("betting_closed", round=number))
    closed_at_ms, total, late = closed[0]["closed_at_ms"], 0, 0
    for client, acts, stack in zip(clients, sent, stacks, strict=True):
        replies = [(knew, await asyncio.wait_for(reply, 10)) for knew, reply in acts]
        accepted = [reply for _, reply in replies if reply["type"] == "ok"]
        for knew, reply in replies:
            if reply["type"] == "ok":
                assert reply["accepted_at_ms"] < closed_at_ms
                assert not knew, "a bet sent after the close was seen"
            else:
                assert reply["name"] in LATE
                assert reply["arrived_at_ms"] >= reply["closed_at_ms"] == closed_at_ms
                late += 1
        laid = 100 * len(accepted)
        total += laid
        if accepted:
            await client.until(lambda client=client: client.seen("results", round=number))
            results = client.seen("results", round=number)
            assert len(results) == 1
            (line,) = results[0]["bets"].values()
            assert line["stake"] == laid
            assert results[0]["stack"] == stack - laid + line["payout"]
    assert closed[0]["totals"] == {"player": total}
    assert total > 0
    assert late > 0
    await settled(clients[0], table, number)
    rounds_since(clients[0], table, number)


async def test_made_up_messages_move_nothing(arrive, brisk_url: str) -> None:
    """BL-045, BL-052: in each phase a seat sends what only a house may decide; each is an unknown message, and the
    round of another seat runs by its own clock."""
    table = "four-deck-1"
    watcher = await arrive(brisk_url, "Watcher")
    await watcher.join(table, 1_000)
    first = await watcher.betting(table)
    for phase in ("betting", "dealing", "settling"):
        meddler = await arrive(brisk_url, f"Meddler in {phase}")
        await meddler.join(table, 1_000)
        await meddler.until(lambda meddler=meddler, phase=phase: meddler.phase[table] == phase)
        for kind in MADE_UP[:7]:  # the eighth would end the connection
            reply = await meddler.ask(kind, table=table, round=meddler.round[table])
            assert reply["name"] == "UNKNOWN_TYPE"
        assert meddler.close_code is None
    meddler = await arrive(brisk_url, "Meddler to the end")
    for kind in MADE_UP[:7]:
        await meddler.ask(kind)
    await meddler.begin(MADE_UP[7])
    assert await meddler.closed() == 4100
    last = watcher.round[table]
    await settled(watcher, table, last)
    rounds = rounds_since(watcher, table, first + 1)
    assert [events[0]["round"] for events in rounds] == list(range(first + 1, last + 1))
    assert not [events for events in rounds if events[1]["early"]]


async def test_comers_goers_and_bets_do_not_move_the_close(arrive, tmp_path: Path) -> None:
    """BL-048, BL-049: twenty visits and two hundred acts, good and bad, within one betting phase: one close, on
    time."""
    async with own_node(tmp_path / "data", betting_ms=3_000) as node:
        await come_go_and_bet(arrive, node.url)


async def come_go_and_bet(arrive: Callable[..., Awaitable[RawClient]], url: str) -> None:
    busy, calm = "red-lounge-1", "royal-1"
    actor, host = await arrive(url, "Actor"), await arrive(url, "Host")
    await actor.join(busy, 100_000)
    await host.join(calm, 1_000)

    async def act() -> int:
        number: int = (await actor.next("betting_opened", table=busy))["round"]
        acts = [await actor.begin("place", table=busy, round=number, spot="tie", chip=100) for _ in range(100)]
        acts += [await actor.begin("place", table=busy, round=number, spot="tie", chip=7) for _ in range(50)]
        acts += [await actor.begin("undo", table=busy, round=number, spot="player") for _ in range(50)]
        replies = await asyncio.gather(*acts)
        assert [reply["type"] for reply in replies].count("ok") == 100
        return number

    async def visit() -> int:
        number: int = (await host.next("betting_opened", table=calm))["round"]
        for n in range(20):
            visitor = await RawClient.arrive(url, f"Visitor {n}")
            await visitor.join(calm, 100)
            await visitor.call("leave", table=calm)
            await visitor.close()
        return number

    numbers = await asyncio.gather(act(), visit())
    for client, table, number in zip((actor, host), (busy, calm), numbers, strict=True):
        await settled(client, table, number)
        (events,) = [events for events in rounds_since(client, table, number) if events[0]["round"] == number]
        assert events[1]["early"] is False


async def test_fifty_sit_down_while_cards_are_dealt(arrive, tmp_path: Path) -> None:
    """BL-050: the round goes on with one result, and those who came play from the next betting phase on."""
    async with own_node(tmp_path / "data", betting_ms=2_000, card_ms=400) as node:
        await fifty_sit_down(arrive, node.url)


async def fifty_sit_down(arrive: Callable[..., Awaitable[RawClient]], url: str) -> None:
    table = "stand-off-1"
    first = await arrive(url, "First")
    await first.join(table, 1_000)
    comers = await asyncio.gather(*(arrive(url, f"Comer {n}") for n in range(50)))
    await first.next("betting_opened", table=table)
    number = (await first.next("betting_closed", table=table))["round"]
    joined = await asyncio.gather(*(comer.join(table, 1_000) for comer in comers))
    assert "dealing" in {reply["snapshot"]["phase"] for reply in joined}
    for comer in comers:
        await comer.until(lambda comer=comer: comer.round[table] == number + 1)  # type: ignore[misc]
    receipts = await asyncio.gather(*(comer.place(table, "banker", 100) for comer in comers))
    assert all(receipt["round"] == number + 1 for receipt in receipts)
    await settled(first, table, number + 1)
    rounds = rounds_since(first, table, number)
    assert [events[0]["round"] for events in rounds[:2]] == [number, number + 1]
    assert rounds[0][-1]["settled"] == 0
    assert rounds[1][-1]["settled"] == 50


async def test_the_timer_alone_ends_betting_where_nobody_can_or_will_bet(arrive, brisk_url: str) -> None:
    """BL-051: a seat without chips, one below the minimum, one that never bets; and spectators alone start nothing."""
    table = "royal-1"
    spectator = await arrive(brisk_url, "Spectator")
    idle = (await spectator.call("watch", table=table))["snapshot"]
    assert idle["phase"] == "idle"
    broke, poor, shy = [await arrive(brisk_url, name) for name in ("Broke", "Poor", "Shy")]
    await broke.join(table, 0)
    await poor.join(table, 50)
    await shy.join(table, 5_000)
    number = await shy.betting(table)
    for client, name in ((broke, "INSUFFICIENT_STACK"), (poor, "INSUFFICIENT_STACK"), (spectator, "NOT_SEATED")):
        await client.betting(table)
        try:
            await client.place(table, "player", 100)
        except CallRefused as refused:
            assert refused.name == name  # noqa: PT017 - the name differs by client
        else:
            raise AssertionError("a bet without chips was taken")
    await settled(spectator, table, number + 1)
    for events in rounds_since(spectator, table, number):
        assert events[1]["early"] is False


async def test_rounds_go_on_when_the_first_who_joined_goes(arrive, brisk_url: str) -> None:
    """BL-046: the timer belongs to nobody: the first seat is cut off in betting, in the deal, in the payout."""
    table = "punto-banco-1"
    second = await arrive(brisk_url, "Second")
    for phase in ("betting", "dealing", "settling"):
        first = await arrive(brisk_url, "First")
        await first.join(table, 1_000)
        if table not in second.joined:
            await second.join(table, 1_000)
        number = await second.betting(table)
        await first.until(lambda first=first, phase=phase: first.phase[table] == phase)
        await first.drop()
        await settled(second, table, number + 1)
    assert len(rounds_since(second, table, second.round[table] - 3)) >= 3


# --- ready ------------------------------------------------------------------------------------------------------------


async def test_betting_closes_early_when_every_connected_seat_is_ready(arrive, tmp_path: Path) -> None:
    """All connected seats, and not within two seconds of a join; a later act takes readiness back."""
    async with own_node(tmp_path / "data", betting_ms=EARLY_MS) as node:
        await close_early(arrive, node.url)


async def close_early(arrive: Callable[..., Awaitable[RawClient]], url: str) -> None:
    table = "red-lounge-1"
    ann, bob, away = [await arrive(url, name) for name in ("Ann", "Bob", "Away")]
    for client in (ann, bob):
        await client.join(table, 5_000)
    joins_at_ms = (await bob.call("ping", table=table))["at_ms"]
    await away.join(table, 5_000)
    await away.drop()  # its seat is held, but nobody waits for it
    joined_at_ms = (await bob.call("ping", table=table))["at_ms"]

    async def play(*, bob_is_ready: bool = True, ann_acts_again: bool = False) -> Message:
        number = await ann.betting(table)
        await ann.place(table, "player", 100)
        await ann.call("ready", table=table, round=number)
        if ann_acts_again:
            await ann.place(table, "player", 100)
        if bob_is_ready:
            await bob.betting(table)
            ready = await bob.call("ready", table=table, round=number)
            assert ready["ready"] is True
        await settled(ann, table, number)
        closed: Message = ann.seen("betting_closed", table=table, round=number)[0]
        return closed

    closed = await play(bob_is_ready=False)
    assert closed["early"] is False
    while True:  # the first rounds are held back by the newness of the seats
        closed = await play()
        if closed["early"]:
            break
        assert closed["closed_at_ms"] < joined_at_ms + 2_000 + EARLY_MS
    assert closed["closed_at_ms"] >= joins_at_ms + 2_000
    assert (await play(bob_is_ready=False))["early"] is False
    assert (await play(ann_acts_again=True))["early"] is False
    assert (await play())["early"] is True
    new = await arrive(url, "New")
    await new.join(table, 5_000)
    await new.call("leave", table=table)
    new.joined.clear()
    assert (await play())["early"] is False  # somebody has just sat down, though only to leave again
    rounds_since(ann, table, 0)


# --- what a late joiner sees ------------------------------------------------------------------------------------------


def replay(events: list[Message], seq: int) -> dict[str, Any]:
    """The public state at `seq`, from the numbered events of one who was there all the time."""
    state: dict[str, Any] = {}
    for event in events:
        if event["seq"] > seq:
            break
        match event["type"]:
            case "betting_opened":
                state = {"phase": "betting", "dealt": [], "outcome": None, "round": event["round"]}
                state["closes_at_ms"] = event["closes_at_ms"]
            case "betting_closed":
                state["phase"] = "dealing"
            case "card_dealt":
                state["dealt"].append({name: event[name] for name in ("side", "card", "show_at_ms")})
            case "round_decided":
                state |= {"phase": "settling", "outcome": event["outcome"]}
    return state


async def test_a_late_joiner_sees_the_table_as_it_is(arrive, brisk_url: str) -> None:
    """BL-047: at any moment of a round the snapshot holds the true phase, the true deadline, the cards so far and the
    own bets, and nothing of what is to come."""
    table = "royal-1"
    host = await arrive(brisk_url, "Host")
    await host.join(table, 50_000)
    await host.next("betting_opened", table=table)
    comers = [await arrive(brisk_url, f"Comer {n}", subprotocol=SUBPROTOCOLS[n % 2]) for n in range(30)]
    chance = random.Random(47)
    first = (await host.next("betting_opened", table=table))["round"]
    snapshots = []
    for comer in comers:
        await asyncio.sleep(chance.uniform(0, 0.06))  # all moments of two rounds
        snapshots.append((await comer.call("watch", table=table))["snapshot"])
    await settled(host, table, host.round[table])
    heard = host.numbered(table)
    whole = heard[heard.index(host.seen("betting_opened", table=table)[0]) :]  # it may have come amid a round
    for snapshot in snapshots:
        state = replay(whole, snapshot["seq"])
        assert {name: snapshot[name] for name in state} == state
        assert snapshot["round"] >= first
        if snapshot["phase"] == "betting":
            opened = host.seen("betting_opened", table=table, round=snapshot["round"])[0]
            # The instant is the store's, the opening a node's estimate of it; the deadline may be passing just now.
            assert -20 <= snapshot["at_ms"] - opened["opened_at_ms"] <= 350
            assert -50 <= snapshot["closes_at_ms"] - snapshot["at_ms"] <= 320
    assert {snapshot["phase"] for snapshot in snapshots} == {"betting", "dealing", "settling"}
    await host.betting(table)
    await host.betting(table)
    await host.place(table, "tie", 100)
    again = (await host.call("watch", table=table))["snapshot"]
    assert (again["you"]["bets"], again["crowd"]["totals"]) == ({"tie": 100}, {"tie": 100})


async def test_every_table_keeps_cycling(arrive, brisk_url: str) -> None:
    """BL-054 in short: five tables, none of which stands still; BL-038: no two of their shoes are committed alike."""
    client = await arrive(brisk_url, "Everywhere")
    for table in TABLES:
        await client.join(table, 1_000)
    await client.until(lambda: all(len(client.seen("round_settled", table=table)) >= 4 for table in TABLES))
    counts = [len(client.seen("round_settled", table=table)) for table in TABLES]
    assert max(counts) - min(counts) <= 3, dict(zip(TABLES, counts, strict=True))
    for table in TABLES:
        rounds_since(client, table, 0)
    commitments = [event["commitment"] for event in client.seen("shoe_started")]
    assert len(set(commitments)) == len(commitments) >= 6
