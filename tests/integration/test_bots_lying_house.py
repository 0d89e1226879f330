"""Bots at a house that lies: a proxy changes what one kind of message says, and the fleet must not come home clean."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgpack
import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from client_sdk.bots.findings import Kind
from client_sdk.bots.fleet import Fleet
from client_sdk.bots.orders import Orders

MSGPACK = Subprotocol("punto.v1.msgpack")
Lie = Callable[[dict[str, Any]], object]
"""Changes a message in place; one that returns LOST loses it."""
LOST = "lost"


@asynccontextmanager
async def lying_house(url: str, lie: Lie, *, to_every: int = 1) -> AsyncIterator[str]:
    """Pass everything on, but lie to every n-th connection."""
    connections = 0

    async def pass_on(patron: ServerConnection) -> None:
        nonlocal connections
        connections += 1
        is_lied_to = connections % to_every == 0
        async with connect(url, subprotocols=[MSGPACK], compression=None) as house:
            upwards = asyncio.create_task(_pump(patron, house, None))
            try:
                await _pump(house, patron, lie if is_lied_to else None)
            finally:
                upwards.cancel()
                await asyncio.gather(upwards, return_exceptions=True)

    async with serve(pass_on, "127.0.0.1", 0, subprotocols=[MSGPACK], compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


async def _pump(source: Any, sink: Any, lie: Lie | None) -> None:
    try:
        async for frame in source:
            if lie is not None:
                message = msgpack.unpackb(frame)
                if lie(message) is LOST:
                    continue
                frame = msgpack.packb(message)
            await sink.send(frame)
    except ConnectionClosed:
        pass
    finally:
        await sink.close()


def another_card(message: dict[str, Any]) -> None:
    if message["type"] == "card_dealt":
        message["card"] = message["card"][0] + ("c" if message["card"][1] != "c" else "d")


def a_unit_too_much(message: dict[str, Any]) -> None:
    if message["type"] == "results":
        next(iter(message["bets"].values()))["payout"] += 1
        message["stack"] += 1


def a_stack_off_by_one(message: dict[str, Any]) -> None:
    if "accepted_at_ms" in message and "stack" in message:  # a receipt, and not the answer to a cut
        message["stack"] -= 1


def another_winner(message: dict[str, Any]) -> None:
    if message["type"] == "round_decided":
        message["outcome"] = "player" if message["outcome"] != "player" else "banker"


def another_secret(message: dict[str, Any]) -> None:
    if message["type"] == "shoe_ended":
        message["secret"] = "00" * 32


def a_card_that_stays_in_the_shoe(message: dict[str, Any]) -> None:
    if message["type"] == "card_dealt":
        message["remaining"] += 1


def accepted_after_the_close(message: dict[str, Any]) -> None:
    if "accepted_at_ms" in message:
        message["accepted_at_ms"] += 60_000


def one_that_never_comes() -> Lie:
    """Lose one card, once: it comes when it is asked for again."""
    is_lost = False

    def lose(message: dict[str, Any]) -> object:
        nonlocal is_lost
        if message["type"] != "card_dealt" or is_lost:
            return None
        is_lost = True
        return LOST

    return lose


@pytest.mark.parametrize(
    ("lie", "to_every", "found"),
    [
        (another_card, 2, Kind.DIFFERS),
        (another_card, 5, Kind.DIFFERS),
        (another_winner, 5, Kind.DIFFERS),
        (a_unit_too_much, 5, Kind.PAYOUT),
        (one_that_never_comes(), 5, Kind.SEQ),
        (a_unit_too_much, 1, Kind.PAYOUT),
        (a_stack_off_by_one, 1, Kind.RECEIPT),
        (another_winner, 1, Kind.OUTCOME),
        (another_secret, 1, Kind.FAIRNESS),
        (a_card_that_stays_in_the_shoe, 1, Kind.REMAINING),
        (accepted_after_the_close, 1, Kind.ACCEPTED),
    ],
)
async def test_a_lie_is_found(node_url: str, lie: Lie, to_every: int, found: Kind) -> None:
    async with lying_house(node_url, lie, to_every=to_every) as url:
        orders = Orders(url=url, patrons=4, rounds=2, seed="lie", tables=("red-lounge-1",), timeout_ms=45_000)
        fleet = Fleet(orders)
        await fleet.run(asyncio.Event())
    assert not fleet.tally.is_clean
    assert fleet.tally.kinds[found.value] > 0, (fleet.tally.details, fleet.tally.failures)


async def test_a_house_that_does_not_lie_is_clean_through_the_same_proxy(node_url: str) -> None:
    async with lying_house(node_url, lambda message: None) as url:
        orders = Orders(url=url, patrons=4, rounds=2, seed="lie", tables=("red-lounge-1",), timeout_ms=45_000)
        fleet = Fleet(orders)
        await fleet.run(asyncio.Event())
    assert fleet.tally.is_clean, (fleet.tally.details, fleet.tally.failures)
