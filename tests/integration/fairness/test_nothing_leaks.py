"""What an observer, a patron and a reader of Redis hold before a card is dealt, and that none of it tells the card.

Everything is kept while a shoe is played: every key of the store, every message, every line of the log at its most
talkative. When the secret is revealed, all of that is searched for the secret, for salts and for cards to come.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from redis.asyncio import Redis

from tests.support import plain_fairness
from tests.support.node_process import own_node
from tests.support.operator import punto_server
from tests.support.raw_client import JSON, RawClient

CUT = "c7" * 9
COMING = 6
"""So many cards in a row make a place in the order; fewer may stand somewhere by chance."""


async def read_store(raw: Any) -> bytes:
    """Every key with all that it holds, as one run of bytes."""
    found = bytearray()
    async for key in raw.scan_iter(count=500):
        kind = (await raw.type(key)).decode()
        match kind:
            case "string":
                held: Any = await raw.get(key)
            case "hash":
                held = await raw.hgetall(key)
            case "list":
                held = await raw.lrange(key, 0, -1)
            case "set":
                held = await raw.smembers(key)
            case "zset":
                held = await raw.zrange(key, 0, -1)
            case "stream":
                held = await raw.xrange(key)
            case _:
                raise AssertionError(f"no reader for a {kind}")
        found += b"\n" + key + b" "
        for part in flat(held):
            found += part + b" "
    return bytes(found)


def flat(held: Any) -> Iterator[bytes]:
    match held:
        case bytes():
            yield held
        case dict():
            for pair in held.items():
                yield from flat(pair)
        case list() | tuple() | set():
            for part in held:
                yield from flat(part)
        case None:
            pass
        case _:
            yield str(held).encode()


def written(secret: bytes) -> Iterator[bytes]:
    """Some bytes in every form in which a program would write them."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    yield base64.b64encode(secret).rstrip(b"=")
    yield base64.urlsafe_b64encode(secret).rstrip(b"=")
    yield str(int.from_bytes(secret, "big")).encode()
    yield str(list(secret)).encode()


def orders(indexes: list[int]) -> Iterator[bytes]:
    """Some cards in a row, in every form in which a program would write them."""
    names = [plain_fairness.name_of(index) for index in indexes]
    for between in ("", " ", ",", ", ", '","', '", "', "', '"):
        yield between.join(names).encode()
        yield between.join(map(str, indexes)).encode() if between else b"\x00never" * 4
    yield msgpack.packb(names)[1:]
    yield msgpack.packb(indexes)[1:]
    yield b"".join(index.to_bytes(2, "big") for index in indexes)
    yield b"".join(index.to_bytes(2, "little") for index in indexes)


@pytest.mark.parametrize("stage", ["betting", "first card"])
async def test_nothing_tells_a_card_before_it_is_dealt(arrive, tmp_path: Path, stage: str) -> None:
    """BL-154, BL-155, BL-156: seated or not, joined early or late; keys, messages, lobby, history, log."""
    table = "punto-banco-1"
    pace = {"betting_ms": 2_500, "card_ms": 400, "result_ms": 50}
    async with own_node(tmp_path / "data", log_level="debug", **pace) as node:
        seated: RawClient = await arrive(node.url, "Seated")
        looker: RawClient = await arrive(node.url, "Looker", subprotocol=JSON)
        for client in (looker, seated):
            await client.call("watch", table=table)
        await seated.join(table, 1_000)
        await seated.next("shoe_started", table=table)
        assert (await seated.ask("cut", table=table, shoe=1, cut=CUT))["type"] == "ok"
        if stage == "first card":
            await looker.next("card_dealt", table=table, timeout=20)
        for kind, fields in (
            ("list_tables", {}),
            ("watch", {"table": table}),
            ("list_cuts", {"table": table, "shoe": 1}),
            ("recall_shoe", {"table": table}),
            ("rounds", {"table": table}),
            ("history", {}),
        ):
            await seated.ask(kind, **fields)
        late: RawClient = await arrive(node.url, "Late")
        await late.call("watch", table=table)
        raw = Redis(unix_socket_path=str(tmp_path / "data" / "valkey.sock"))
        try:
            store = await read_store(raw)
        finally:
            await raw.aclose()
        log = "".join(node.output).encode()
        messages = json.dumps([client.log for client in (seated, looker, late)]).encode()
        dealt = list(seated.seen("card_dealt", table=table))
        for _ in range(5):  # until the command is quicker than the round
            number = await seated.betting(table, timeout=20)
            ended = await punto_server("tables", "void", "--data", node.data, "--table", table, "--round", number)
            if ended.code == 0:
                break
        revealed = await seated.next("shoe_ended", table=table, timeout=20)
        cuts = (await seated.call("list_cuts", table=table, shoe=1))["cuts"]
        key = (tmp_path / "data" / "seal.key").read_text().strip()
    secret = bytes.fromhex(revealed["secret"])
    order = plain_fairness.order_of(secret, 8, 1, [(told["patron"], told["cut"]) for told in cuts])
    taken = 416 - dealt[-1]["remaining"] if dealt else 0
    assert b"punto:{t:punto-banco-1}:cuts" in store, "the store was read"
    assert b"betting_opened" in store + messages
    for where, found in (("the store", store), ("the messages", messages), ("the log", log)):
        for form in (*written(secret), *written(bytes.fromhex(key))):
            assert form not in found, f"the secret or the key lies in {where}"
        coming = range(taken + 2, taken + 60)  # a card may have been dealt while we looked
        for place in coming:
            salt = plain_fairness.salt(secret, 8, 1, place)
            assert salt not in found, f"the salt of card {place} lies in {where}"
            assert salt.hex().encode() not in found, f"the salt of card {place} lies in {where}"
        for place in coming[::6]:
            for form in orders(order[place : place + COMING]):
                assert form not in found, f"the cards from {place} on lie in {where}"
