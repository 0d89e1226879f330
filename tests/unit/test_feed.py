"""One event to many followers: framed once for each codec, written to each, whoever has a bad line."""

from typing import cast

import pytest

from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from server.feed import Feed, Listener
from server.outlet import framed_payload
from server.store.records import pack

FOLLOWERS = 10_000


class Outbox:
    """A way out that only counts."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.is_full = False
        self.frames = 0

    def write(self, frame: bytes) -> None:
        self.frames += 1


class Follower:
    def __init__(self, number: int) -> None:
        self.id = f"c{number}"
        self.patron = f"p{number}"
        self.outlet = Outbox(JSON if number % 2 else MSGPACK)


async def test_a_frame_is_built_once_for_ten_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    """BL-119: what an event costs beside the writes themselves does not grow with those who follow."""
    framed = 0
    build = framed_payload

    def counted(codec: Codec, payload: bytes | str) -> bytes:
        nonlocal framed
        framed += 1
        return build(codec, payload)

    monkeypatch.setattr("server.feed.framed_payload", counted)
    feed = Feed("t1", "inc", 0)
    followers = [Follower(number) for number in range(FOLLOWERS)]
    for follower in followers:
        feed.add(cast(Listener, follower), 0)
    followers[7].outlet.is_full = True
    for seq in range(1, 6):
        assert feed.advance(seq, pack({"type": "table_idled", "table": "t1", "seq": seq}))
    assert framed == 5 * 2
    assert {follower.outlet.frames for follower in followers} == {0, 5}
    assert sum(not follower.outlet.frames for follower in followers) == 1
