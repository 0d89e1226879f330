"""What a client does with what comes in: order, notices, shared events, and faults in a caller's own code."""

import asyncio
from typing import Any

import pytest

from client_sdk.client import Client
from client_sdk.exceptions import ClientFailed
from client_sdk.game.variants import Spot
from client_sdk.known import KnownEvents
from client_sdk.protocol.codec import JSON, MSGPACK
from client_sdk.protocol.messages import SessionReminder, TableIdled, TokenExpiring
from tests.unit.sdk.builders import TABLE
from tests.unit.sdk.scripted import Peer, ScriptedHouse, client_of, greet, read, rejoin, sit, until

REMINDER = SessionReminder(played_ms=1, session_until_ms=None, staked=0, lost=0)


def idled(seq: int) -> TableIdled:
    return TableIdled(table=TABLE, seq=seq, round=7)


async def test_answers_and_events_of_one_read_are_taken_in_their_order() -> None:
    """The mirror shows an accepted act at the event after its answer, and not at the one before."""

    async def play(peer: Peer) -> None:
        await sit(peer)
        act = await peer.take("place")
        peer.socket.transport.pause_reading()
        await peer.tell(idled(41))
        await peer.receipt(act)
        await peer.tell(idled(42))

    async with ScriptedHouse(play) as house, client_of(house) as client:
        table = await client.join(TABLE)
        seen = []
        put = table._follower._put

        def look(event: Any) -> None:
            seen.append((event, dict(table.mirror.bets)))
            put(event)

        table._follower._put = look  # type: ignore[method-assign]  # to look in the moment of delivery
        betting = asyncio.create_task(table.place(Spot.BANKER, 100))
        await read(table, 2)
        await betting
        assert seen == [(idled(41), {}), (idled(42), {Spot.BANKER: 100})]


async def test_a_fault_in_a_callers_own_code_ends_the_client_and_is_told() -> None:
    def stumble(_: Any) -> None:
        raise LookupError("ours")

    async def play(peer: Peer) -> None:
        await sit(peer)
        await peer.take("place")
        await peer.tell(REMINDER)

    async with ScriptedHouse(play) as house, client_of(house, on_notice=stumble) as client:
        table = await client.join(TABLE)
        with pytest.raises(ClientFailed) as failed:
            await table.place(Spot.BANKER, 100)
        assert isinstance(failed.value.__cause__, LookupError)
        with pytest.raises(ClientFailed):
            await anext(table)
        assert client.error is failed.value
        await asyncio.sleep(0.03)
        assert len(house.peers) == 1


@pytest.mark.parametrize("notice", [{}, {"played_ms": "long", "staked": 0, "lost": 0}])
async def test_a_notice_that_cannot_be_read_is_passed_over(notice: Any) -> None:
    told: list[Any] = []

    async def play(peer: Peer) -> None:
        await peer.welcome()
        await peer.tell({"type": "session_reminder", **notice})
        await peer.tell(REMINDER)

    async with ScriptedHouse(play) as house, client_of(house, on_notice=told.append) as client:
        await until(lambda: told != [])
        assert told == [REMINDER]
        assert (client.is_connected, len(house.peers)) == (True, 1)


async def test_a_token_is_asked_for_once_at_a_time() -> None:
    asked, gave = 0, asyncio.Event()

    async def source() -> str:
        nonlocal asked
        asked += 1
        if asked > 1:
            await gave.wait()
        return "mine"

    async def play(peer: Peer) -> None:
        await peer.welcome()
        for _ in range(50):
            await peer.tell(TokenExpiring(expires_at_ms=1))
        await peer.reply(await peer.take("refresh"), expires_at_ms=2)
        await peer.tell(TokenExpiring(expires_at_ms=2))
        await peer.reply(await peer.take("refresh"), expires_at_ms=3)

    async with ScriptedHouse(play) as house, client_of(house, name=None, token=source):
        await until(lambda: asked == 2)
        await asyncio.sleep(0.03)
        assert asked == 2
        gave.set()
        await until(lambda: len(house.peers[0].requests) == 3)
        assert asked == 3


class TestSharedEvents:
    """Clients of one process that share what they have read."""

    @staticmethod
    async def same(clients: list[Client], count: int) -> list[list[Any]]:
        return [await read(client.tables[TABLE], count) for client in clients]

    async def test_an_event_is_decoded_once_and_each_client_gets_it(self) -> None:
        async def play(peer: Peer) -> None:
            await sit(peer)
            await peer.take("ready")
            for seq in (41, 42):
                await peer.tell(idled(seq))

        known = KnownEvents()
        async with (
            ScriptedHouse(play) as house,
            client_of(house, known=known) as a,
            client_of(house, known=known) as b,
        ):
            acts = [asyncio.create_task((await client.join(TABLE)).ready()) for client in (a, b)]
            first, second = await self.same([a, b], 2)
            assert first == second == [idled(41), idled(42)]
            assert all(one is other for one, other in zip(first, second, strict=True))
            assert known.hits == 2
            for act in acts:
                act.cancel()

    async def test_a_known_frame_on_a_line_of_the_other_kind_is_still_wrong(self) -> None:
        """What a reader of JSON has read is no message on a line of MessagePack."""
        known = KnownEvents()
        frame = JSON.encode(idled(41))
        known.keep(frame, idled(41))

        async def play(peer: Peer) -> None:
            await sit(peer)
            await peer.socket.send(frame)

        async with ScriptedHouse(play, rejoin) as house, client_of(house, known=known) as client:
            table = await client.join(TABLE)
            await house.connections(2)
            await until(lambda: table.is_followed)
            assert table.mirror.seq == 40
            assert known.hits == 0

    async def test_an_event_that_a_gap_kept_from_one_client_is_no_less_to_another(self) -> None:
        known = KnownEvents()
        known.keep(MSGPACK.encode(idled(43)), idled(43))

        async def gap(peer: Peer) -> None:
            await sit(peer)
            await peer.tell(idled(43))
            join = await peer.take("join")
            assert join["seq"] == 40
            await peer.resume(join)
            for seq in (41, 42, 43):
                await peer.tell(idled(seq))

        async with ScriptedHouse(gap) as house, client_of(house, known=known) as client:
            table = await client.join(TABLE)
            assert await read(table, 3) == [idled(41), idled(42), idled(43)]
            assert (table.gaps, known.hits) == (1, 2)


async def test_a_client_counts_how_often_it_came_back() -> None:
    async with ScriptedHouse(greet) as house, client_of(house) as client:
        for times in range(3):
            await until(lambda: client.is_connected)
            assert client.reconnects == times
            client.drop()
            await until(lambda: not client.is_connected)
