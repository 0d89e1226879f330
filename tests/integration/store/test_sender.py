"""One line for all: who goes first, and who hears what when it breaks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as DriverConnectionError
from redis.exceptions import ReadOnlyError
from redis.exceptions import TimeoutError as DriverTimeoutError

from server.store import sender
from server.store.errors import StoreAway
from server.store.sender import Sender

SILENCE_MS_MAX = 600


@pytest.fixture
async def line(raw: Redis) -> AsyncIterator[Sender]:
    line = Sender(raw, SILENCE_MS_MAX)
    yield line
    await line.close()


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two commands be under way, whoever they are for."""
    monkeypatch.setattr(sender, "UNDER_WAY_MAX", 2)
    monkeypatch.setattr(sender, "BEFORE_THE_FIRST_MAX", 2)


async def echoes(line: Sender, *words: str) -> Sequence[object]:
    answers: Sequence[object] = await asyncio.gather(
        *(line.send(("ECHO", word)) for word in words), return_exceptions=True
    )
    return answers


async def stuck(line: Sender) -> "asyncio.Task[object]":
    """Have the server owe an answer that it does not give."""
    task = asyncio.create_task(line.send(("BLPOP", "nothing", 0)))
    await asyncio.sleep(0.1)
    return task


async def test_what_a_table_waits_for_goes_before_what_only_one_does(
    line: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    answered = []

    async def ask(number: int) -> None:
        sender.go_first(number % 4 == 3)
        answered.append(await line.send(("ECHO", str(number))))

    await asyncio.gather(*(ask(number) for number in range(12)))
    assert answered == [str(number).encode() for number in (3, 7, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10)]


async def test_what_a_table_waits_for_waits_for_few(line: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "BEFORE_THE_FIRST_MAX", 2)
    answered = []

    async def ask(number: int) -> None:
        sender.go_first(number == 8)
        answered.append(await line.send(("ECHO", str(number))))

    await line.send(("PING",))
    await asyncio.gather(*(ask(number) for number in range(9)))
    assert answered == [str(number).encode() for number in (8, 0, 1, 2, 3, 4, 5, 6, 7)]
    others = [asyncio.create_task(ask(number)) for number in range(8)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # two of them are under way
    await ask(8)
    await asyncio.gather(*others)
    assert answered[9:] == [str(number).encode() for number in (0, 1, 8, 2, 3, 4, 5, 6, 7)]


async def test_a_broken_line_fails_what_was_sent_and_nothing_else(
    line: Sender, raw: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    number = await line.send(("CLIENT ID",))
    first = await stuck(line)
    others = asyncio.create_task(echoes(line, "sent", "waits", "waits too"))
    await asyncio.sleep(0.1)
    await raw.client_kill_filter(_id=number)
    with pytest.raises(DriverConnectionError):
        await first
    sent, *waited = await others
    assert isinstance(sent, DriverConnectionError)
    assert waited == [b"waits", b"waits too"]
    assert await line.send(("CLIENT ID",)) != number


async def test_a_server_that_owes_an_answer_for_too_long_is_given_up(line: Sender) -> None:
    first = await stuck(line)
    done = await echoes(line, "behind it")
    with pytest.raises(DriverTimeoutError, match=r"silent for 0\.6 s"):
        await first
    assert isinstance(done[0], DriverTimeoutError)
    assert await echoes(line, "again") == [b"again"]


async def test_a_server_that_answers_slowly_is_not_given_up(line: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "WAIT_MS_MAX", 60_000)
    slow = [("BLPOP", "nothing", "0.25")] * 5  # more than the silence in all, and each of them less
    assert await asyncio.gather(*(line.send(command) for command in slow)) == [None] * 5


async def test_a_demoted_server_is_asked_over_a_new_line(line: Sender, raw: Redis) -> None:
    number = await line.send(("CLIENT ID",))
    await raw.execute_command("REPLICAOF", "127.0.0.1", 1)
    try:
        with pytest.raises(ReadOnlyError):
            await line.send(("SET", "own:a", 1))
        assert await line.send(("CLIENT ID",)) != number
    finally:
        await raw.execute_command("REPLICAOF", "NO", "ONE")


async def test_one_that_can_t_be_reached_fails_all_that_wait() -> None:
    nowhere = Redis.from_url("redis://127.0.0.1:1")
    line = Sender(nowhere, SILENCE_MS_MAX)
    done = await echoes(line, *"abc")
    assert {type(answer) for answer in done} == {DriverConnectionError}


async def test_one_that_ends_as_soon_as_it_is_open_is_not_waited_for(
    raw: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = raw.connection_pool
    opened = pool.get_connection

    async def open_and_end() -> Any:
        connection: Any = await opened()
        other: Any = await opened()
        await connection.send_command("CLIENT", "ID")
        await other.send_command("CLIENT", "KILL", "ID", await connection.read_response())
        await other.read_response()
        await pool.release(other)
        while not connection._reader.at_eof():
            await asyncio.sleep(0.01)
        return connection

    line = Sender(raw, 60_000)
    with monkeypatch.context() as patched:
        patched.setattr(pool, "get_connection", open_and_end)
        async with asyncio.timeout(5):
            done = await echoes(line, *"abc")
    assert {type(answer) for answer in done} == {DriverConnectionError}
    assert await echoes(line, "again") == [b"again"]
    await line.close()


async def test_a_closed_line_tells_all_that_wait(line: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    first = await stuck(line)
    others = asyncio.create_task(echoes(line, "sent", "waits"))
    await asyncio.sleep(0.1)
    await line.close()
    with pytest.raises(StoreAway):
        await first
    assert {type(answer) for answer in await others} == {StoreAway}
