"""Two sockets of one patron, on two nodes, that race each other: at the maximum, at the last chip, at the bound of the
whole table, at the close. Some hundred races here; `RACES=10000` runs the long form.

After each race the layout is what the accepted acts laid and nothing more, and both are within the rules.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.support.house import House
from tests.support.operator import punto_server
from tests.support.raw_client import JSON, MSGPACK, Message, RawClient
from tests.support.stores import SingleStore, running_store

RACES: Final = int(os.environ.get("RACES", "240"))
TABLE: Final = "punto-banco-1"
SPOTS: Final = ("player", "banker", "tie")
MAXIMUM, CHIPS, TABLE_MAXIMUM = 500, (100, 500), 2_000
RICH, POOR = 5_000, 100
"""Stacks: more than a spot takes, and one chip."""
NOT_TAKEN: Final = {"SEAT_TAKEN_OVER", "ABOVE_MAXIMUM", "INSUFFICIENT_STACK", "TABLE_MAXIMUM"}
TOO_LATE: Final = {"BETTING_CLOSED", "ROUND_OVER"}

pytestmark = pytest.mark.timeout(60 + RACES // 10)


class Rivals:
    """One patron with a socket on each node."""

    def __init__(self, sockets: Sequence[RawClient], stack: int) -> None:
        self.sockets = sockets
        self.stack = stack
        self.laid: Counter[str] = Counter()
        """What the accepted acts of the present round laid."""

    @classmethod
    async def arrive(cls, urls: Sequence[str], stack: int) -> "Rivals":
        first = await RawClient.arrive(urls[0], "Rival", subprotocol=MSGPACK)
        second = await RawClient.arrive(urls[1], token=first.token, subprotocol=JSON)
        await second.call("watch", table=TABLE)
        await first.join(TABLE, stack)
        return cls((first, second), stack)

    async def place(self, chips: Sequence[tuple[str, int]], number: int, chance: Random) -> None:
        """Both sockets take the seat and lay these at once; each answer is noted."""

        async def one(socket: RawClient) -> list[Message]:
            joining = await socket.begin("join", table=TABLE)
            order = chance.sample(chips, len(chips))
            replies = [
                await socket.begin("place", table=TABLE, round=number, spot=spot, chip=chip) for spot, chip in order
            ]
            answers = [await asyncio.wait_for(reply, 20) for reply in replies]
            assert joining.result()["type"] == "ok"
            for (spot, chip), answer in zip(order, answers, strict=True):
                if answer["type"] == "ok":
                    self.laid[spot] += chip
            return answers

        answers = await asyncio.gather(*(one(socket) for socket in self.sockets))
        refused = {answer["name"] for each in answers for answer in each if answer["type"] == "error"}
        assert refused <= NOT_TAKEN | TOO_LATE, refused

    async def look(self) -> None:
        """Hold what lies against what was accepted, and both against the rules."""
        you = (await self.sockets[0].call("watch", table=TABLE))["you"]
        assert you["bets"] == dict(self.laid), "what lies is what was accepted"
        assert you["stack"] + sum(you["bets"].values()) == self.stack, "no chip was lost or made"
        assert you["stack"] >= 0
        assert all(amount <= MAXIMUM for amount in you["bets"].values()), you

    async def clear(self, number: int) -> None:
        holder = self.sockets[0]
        await holder.call("join", table=TABLE)
        assert (await holder.call("clear", table=TABLE, round=number))["bets"] == {}
        self.laid.clear()

    async def close(self) -> None:
        for socket in self.sockets:
            await socket.close()


@asynccontextmanager
async def house(directory: Path, **flags: int | str) -> AsyncIterator[tuple[House, str]]:
    """Two nodes on one store, with few chips and low limits; afterwards all the money must add up."""
    given: dict[str, int | str] = {
        "chips": ",".join(map(str, CHIPS)),
        "maximum": MAXIMUM,
        "tie_maximum": MAXIMUM,
        "table_maximum": TABLE_MAXIMUM,
        "card_ms": 0,
        "result_ms": 0,
        "log_level": "error",
    }
    async with running_store(SingleStore(directory)) as store:
        async with House(directory, store.url, 2, **(given | flags)) as opened:
            yield opened, store.url
        audit = await punto_server("audit", "--store", store.url)
        assert audit.code == 0, audit.out


async def spectator(url: str) -> RawClient:
    """Somebody who never joins, and so gets every event as an event and not in a snapshot."""
    client = await RawClient.arrive(url, "Watcher")
    await client.call("watch", table=TABLE)
    return client


async def test_races_at_the_limits_never_get_more_than_the_rules_allow(tmp_path: Path) -> None:
    """Half of the patrons have far more than a spot takes, half have one chip; all share one bound of the table."""
    chance, patrons = Random(10_000), 20
    async with house(tmp_path, betting_ms=6_000) as (opened, _):
        urls = [node.url for node in opened.nodes]
        rivals = [await Rivals.arrive(urls, RICH if place % 2 else POOR) for place in range(patrons)]
        watcher = await spectator(urls[0])
        raced, met = 0, Counter[str]()
        while raced < RACES * 2 // 3:
            event = await watcher.next("betting_opened", table=TABLE)
            number, closes_at_ms = event["round"], event["closes_at_ms"]
            watcher.skip()
            while time.time() * 1000 < closes_at_ms - 2_000 and raced < RACES * 2 // 3:
                at_maximum = [("player", 500), ("player", 100), ("player", 500), ("player", 100)]
                at_last_chip = [(spot, 100) for spot in SPOTS]
                await asyncio.gather(
                    *(each.place(at_maximum if each.stack == RICH else at_last_chip, number, chance) for each in rivals)
                )
                await asyncio.gather(*(each.look() for each in rivals))
                for spot in SPOTS:
                    on_spot = sum(each.laid[spot] for each in rivals)
                    assert on_spot <= TABLE_MAXIMUM
                    met["full"] += on_spot == TABLE_MAXIMUM
                met["maximum"] += sum(each.laid["player"] == MAXIMUM for each in rivals)
                met["last chip"] += sum(sum(each.laid.values()) == POOR == each.stack for each in rivals)
                await asyncio.gather(*(each.clear(number) for each in rivals))
                raced += patrons
        assert met["full"] > 0 < met["maximum"], "the limits themselves were reached"
        assert met["last chip"] >= raced // 4, "the last chip was bet"
        await asyncio.gather(watcher.close(), *(each.close() for each in rivals))


async def test_races_at_the_close_count_before_it_and_not_after(tmp_path: Path) -> None:
    """Bets of both sockets arrive around the deadline: those before it are settled, those after it are refused, and
    nobody, and no sum that is told, has it otherwise."""
    chance, patrons = Random(20_000), 40
    async with house(tmp_path, betting_ms=700, table_maximum=0, maximum=500_000, tie_maximum=500_000) as (opened, _):
        urls = [node.url for node in opened.nodes]
        rivals = await asyncio.gather(*(Rivals.arrive(urls, 1_000_000) for _ in range(patrons)))
        watcher = await spectator(urls[0])
        raced, outcomes = 0, Counter[str]()
        while raced < RACES // 3:
            event = await watcher.next("betting_opened", table=TABLE)
            number, closes_at_ms = event["round"], event["closes_at_ms"]
            watcher.skip()
            answers = await asyncio.gather(
                *(_around(each, socket, number, closes_at_ms, chance) for each in rivals for socket in each.sockets)
            )
            closed = (await watcher.until(partial(watcher.seen, "betting_closed", round=number)))[0]
            await watcher.until(partial(watcher.seen, "round_settled", round=number))
            for answer in (one for each in answers for one in each):
                outcomes[answer.get("name", "ok")] += 1
                if answer["type"] == "ok":
                    assert answer["accepted_at_ms"] < closed["closed_at_ms"]
                elif answer["name"] == "BETTING_CLOSED":
                    assert answer["arrived_at_ms"] >= answer["closed_at_ms"] == closed["closed_at_ms"]
            laid: Counter[str] = Counter()
            for each in rivals:
                you = (await each.sockets[0].call("watch", table=TABLE))["you"]
                if each.laid:
                    assert you["last_round"] == number
                    assert {spot: line["stake"] for spot, line in you["last_results"].items()} == dict(each.laid)
                laid += each.laid
                each.laid.clear()
            assert closed["totals"] == dict(laid)
            raced += patrons
        assert outcomes["ok"] > 0 < outcomes["BETTING_CLOSED"], outcomes
        assert set(outcomes) <= {"ok", "SEAT_TAKEN_OVER", *TOO_LATE}, outcomes
        await asyncio.gather(watcher.close(), *(each.close() for each in rivals))


async def _around(rivals: Rivals, socket: RawClient, number: int, closes_at_ms: int, chance: Random) -> list[Message]:
    """One socket: takes the seat shortly before the close, and lays chips before, at and after it."""
    await asyncio.sleep(max(0.0, closes_at_ms / 1000 - time.time() - chance.uniform(0.02, 0.4)))
    joining = await socket.begin("join", table=TABLE)
    laying = []
    for _ in range(4):
        spot = chance.choice(SPOTS)
        laying.append((spot, await socket.begin("place", table=TABLE, round=number, spot=spot, chip=100)))
        await asyncio.sleep(chance.uniform(0.0, 0.06))
    await asyncio.wait_for(joining, 20)
    answers = [(spot, await asyncio.wait_for(reply, 20)) for spot, reply in laying]
    for spot, answer in answers:
        if answer["type"] == "ok":
            rivals.laid[spot] += 100
    return [answer for _, answer in answers]
