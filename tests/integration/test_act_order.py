"""Acts are decided in the order in which they were sent, whichever way each of them takes through the node.

A short read's acts are taken where they arrive; what comes in a long read, in fragments, behind a slower request or at
a pace waits in line, and everything behind it has to wait as well.
"""

import asyncio
import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Final

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.bench import wire
from tests.support.node_process import own_node
from tests.support.raw_client import Message

TABLE: Final = "royal-1"
CHIPS: Final = (100, 500, 1_000, 2_500)
SEEDS: Final = range(30)
ACTS: Final = 90


async def call(websocket: ClientConnection, kind: str, **fields: object) -> Message:
    """Ask, and wait for the answer."""
    await websocket.send(msgpack.packb({"type": kind, "request_id": kind, **fields}))
    return await answer(websocket)


async def answer(websocket: ClientConnection) -> Message:
    """Wait for the next answer; events are passed over."""
    while True:
        message: Message = msgpack.unpackb(await websocket.recv())
        if "request_id" in message:
            return message


def groups(chance: random.Random, items: list[bytes]) -> Iterator[list[bytes]]:
    """Cut a list into pieces of one to two dozen."""
    rest = iter(items)
    while piece := list(islice(rest, chance.choice((1, 1, 1, 24)))):
        yield piece


async def lay(url: str, seed: int) -> None:
    """Lay chips in every way, and hold the answers against the order of the sending."""
    chance = random.Random(seed)
    async with connect(url, subprotocols=[Subprotocol("punto.v1.msgpack")]) as websocket:
        await call(websocket, "hello", name="Order")
        await call(websocket, "join", table=TABLE, buy_in=1_000_000)
        while (snapshot := (await call(websocket, "watch", table=TABLE))["snapshot"])["phase"] != "betting":
            pass
        chips = [chance.choice(CHIPS) for _ in range(ACTS)]
        place = {"type": "place", "table": TABLE, "round": snapshot["round"], "spot": "player"}
        acts = [msgpack.packb({**place, "request_id": f"a{n}", "chip": chip}) for n, chip in enumerate(chips)]
        sent = 0
        for piece in groups(chance, acts):
            way = chance.choice(("whole", "in one write", "in one write", "fragments", "behind a ping"))
            if way == "behind a ping":
                await websocket.send(msgpack.packb({"type": "ping", "request_id": "ping", "table": TABLE}))
                sent += 1
            if way == "in one write":
                websocket.transport.write(b"".join(map(wire.framed, piece)))
            else:
                for packed in piece:
                    await websocket.send([packed[:9], packed[9:]] if way == "fragments" else packed)
            sent += len(piece)
            await asyncio.sleep(chance.choice((0, 0, 0.000_2, 0.001)))
        answers = [message for _ in range(sent) if (message := await answer(websocket))["request_id"] != "ping"]
        assert {message["type"] for message in answers} == {"ok"}, answers
        assert [message["request_id"] for message in answers] == [f"a{n}" for n in range(ACTS)]
        assert [message["bets"]["player"] for message in answers] == list(accumulate(chips))


async def test_acts_are_decided_in_the_order_of_their_sending(tmp_path: Path) -> None:
    chips = ",".join(map(str, CHIPS))
    async with own_node(tmp_path / "data", betting_ms=60_000, chips=chips, maximum=1_000_000, table_maximum=0) as node:
        for seed in SEEDS:
            await lay(node.url, seed)
