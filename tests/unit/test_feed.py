"""One table's followers: everybody gets every message once and in order, whatever happens on the way round."""

import asyncio
from typing import Any, cast

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from server import audience
from server.audience import Listener
from server.feed import Feed
from server.outlet import Outlet, framed_payload


class Sink:
    """An outlet that keeps what is written."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.writes: list[bytes] = []
        self.is_full = False

    def write(self, frame: bytes) -> None:
        self.writes.append(frame)

    def offer(self, frame: bytes) -> bool:
        if not self.is_full:
            self.write(frame)
        return not self.is_full

    def send(self, message: dict[str, Any]) -> None:
        self.write(framed_payload(self.codec, self.codec.encode(message)))

    @property
    def received(self) -> bytes:
        return b"".join(self.writes)


class Follower:
    def __init__(self, name: str, codec: Codec = MSGPACK) -> None:
        self.id = self.patron = name
        self.sink = Sink(codec)
        self.outlet = cast(Outlet, self.sink)


def event(number: int) -> bytes:
    return cast(bytes, msgpack.packb({"type": "event", "seq": number}))


def frames(codec: Codec, *messages: bytes) -> bytes:
    return b"".join(framed_payload(codec, codec.encode(msgpack.unpackb(message))) for message in messages)


@pytest.fixture
async def feed() -> Feed:
    return Feed("t1", "a", 0)


async def settle(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_what_comes_together_goes_out_in_one_write(feed: Feed) -> None:
    followers = [Follower("p", MSGPACK), Follower("q", JSON)]
    for follower in followers:
        feed.add(follower, 0)
    for seq in (1, 2, 3):
        assert feed.advance(seq, event(seq))
    feed.tell(event(0))
    await settle()
    for follower in followers:
        assert follower.sink.writes == [frames(follower.sink.codec, event(1), event(2), event(3), event(0))]


async def test_thousands_are_written_to_with_others_work_in_between(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience, "FOLLOWERS_A_TURN", 10)
    followers = [Follower(f"p{number}") for number in range(35)]
    for follower in followers:
        feed.add(follower, 0)
    assert feed.advance(1, event(1))
    reached = []
    for _ in range(4):
        await asyncio.sleep(0)
        reached.append(sum(bool(follower.sink.writes) for follower in followers))
    assert reached == [10, 20, 30, 35]


async def test_a_private_message_comes_behind_what_was_told_before(feed: Feed) -> None:
    follower = Follower("p")
    feed.seats["p"] = follower
    feed.add(follower, 0)
    assert feed.advance(1, event(1))
    feed.tell_seat("p", {"type": "results"})
    assert feed.advance(2, event(2))
    await settle()
    results = cast(bytes, msgpack.packb({"type": "results"}))
    assert follower.sink.received == frames(MSGPACK, event(1), results, event(2))


async def test_who_knows_more_already_is_told_only_what_is_new(feed: Feed) -> None:
    follower = Follower("p")
    feed.add(follower, 2)
    for seq in (1, 2, 3):
        assert feed.advance(seq, event(seq))
    await settle()
    assert follower.sink.received == frames(MSGPACK, event(3))


async def test_what_cannot_be_read_is_told_nobody(feed: Feed) -> None:
    follower = Follower("p", JSON)
    feed.add(follower, 0)
    for rubbish in (b"\xc1", b"\x81\xa1a"):
        with pytest.raises(ValueError):
            feed.advance(1, rubbish)
    assert feed.seq == 0
    assert feed.advance(1, event(1))
    await settle()
    assert follower.sink.received == frames(JSON, event(1))


async def test_a_frame_is_built_once_for_ten_thousand(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """BL-119: what an event costs beside the writes themselves does not grow with those who follow."""
    framed, build = 0, framed_payload

    def counted(codec: Codec, payload: bytes | str) -> bytes:
        nonlocal framed
        framed += 1
        return build(codec, payload)

    monkeypatch.setattr("server.audience.framed_payload", counted)
    followers = [Follower(f"p{number}", (MSGPACK, JSON)[number % 2]) for number in range(10_000)]
    for follower in followers:
        feed.add(follower, 0)
    followers[7].sink.is_full = True
    for seq in range(1, 6):
        assert feed.advance(seq, event(seq))
        await settle(50)
    assert framed == 5 * 2
    assert {len(follower.sink.writes) for follower in followers} == {0, 5}
    assert sum(not follower.sink.writes for follower in followers) == 1


async def test_a_full_outlet_is_behind_until_it_is_added_anew(feed: Feed) -> None:
    slow, other = Follower("s"), Follower("o")
    for follower in (slow, other):
        feed.add(follower, 0)
    slow.sink.is_full = True
    assert feed.advance(1, event(1))
    await settle()
    slow.sink.is_full = False
    assert feed.advance(2, event(2))
    await settle()
    assert feed.behind == {slow: "behind"}
    assert slow.sink.received == b""
    feed.add(slow, 2)
    assert feed.advance(3, event(3))
    await settle()
    assert slow.sink.received == frames(MSGPACK, event(3))
    assert other.sink.received == frames(MSGPACK, event(1), event(2), event(3))


STEPS = st.lists(
    st.one_of(
        st.just(("event", 0)),
        st.tuples(st.sampled_from(["turn", "private", "come", "go", "again"]), st.integers(0, 4)),
    ),
    max_size=80,
)


@settings(derandomize=True, deadline=None)
@given(STEPS)
async def test_nobody_misses_anything_in_any_run(steps: list[tuple[str, int]]) -> None:
    """Whoever follows has, from where it began, every event once and in order; a private message in its place."""
    patch = pytest.MonkeyPatch()
    patch.setattr(audience, "FOLLOWERS_A_TURN", 2)
    feed, seq = Feed("t1", "a", 0), 0
    following: dict[int, tuple[Follower, list[bytes]]] = {}
    for step, number in steps:
        follower, told = following.get(number, (None, []))
        match step:
            case "event":
                seq += 1
                assert feed.advance(seq, event(seq))
                for each, its in following.values():
                    if each not in feed.behind:
                        its.append(event(seq))
            case "turn":
                await asyncio.sleep(0)
            case "private" if follower is not None and follower not in feed.behind:
                message = {"type": "private", "after": seq}
                feed.tell_one(follower, message)
                told.append(cast(bytes, msgpack.packb(message)))
            case "come" if follower is None:
                following[number] = (Follower(f"p{number}", (MSGPACK, JSON)[number % 2]), [])
                feed.add(following[number][0], seq)
            case "go" if follower is not None:
                feed.remove(follower)
                del following[number]
            case "again" if follower is not None:
                await settle()
                feed.add(follower, seq)
            case _:
                pass
    await settle()
    await settle()
    patch.undo()
    for follower, told in following.values():
        assert follower.sink.received == frames(follower.sink.codec, *told)
    assert feed._audience.is_at_rest


def test_a_sink_is_what_a_feed_needs() -> None:
    listener: Listener = Follower("p")
    assert listener.outlet.codec is MSGPACK
