"""The driver: whose reply is whose, timeouts, scripts that the store forgot, few connections for many."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from redis.asyncio import Redis

from server.embedded import EmbeddedValkey
from server.store import driver as driver_module
from server.store import sender
from server.store.driver import Driver, Script
from server.store.errors import Refused, StoreAway, StoreRefused
from server.store.tables import Tables
from tests.integration.store.checks import Ledger, Owner, fresh_id
from tests.support.table_rules import rules_of


@pytest.fixture
def script_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Script]:
    """Scripts that are not ours."""
    monkeypatch.setattr(driver_module, "_LUA", tmp_path)

    def make(body: str) -> Script:
        (tmp_path / "own.lua").write_text(body)
        return Script("own", None)

    return make


# --- Whose reply is whose ---------------------------------------------------------------------------------------------


async def ask(driver: Driver, number: int) -> None:
    """A question whose answer matches it and no other."""
    match number % 3:
        case 0:
            assert await driver.call("ECHO", str(number)) == str(number).encode()
        case 1:
            assert await driver.call("SET", f"own:{number}", number) is True
            assert await driver.call("GET", f"own:{number}") == str(number).encode()
        case _:
            assert await driver.call("MGET", f"no:{number}", f"no:{number}", f"no:{number}") == [None] * 3


@pytest.mark.parametrize("under_way", [1, 2, 64])
async def test_bl_092_a_cancelled_call_never_gives_its_reply_to_the_next(
    store_url: str, raw: Redis, monkeypatch: pytest.MonkeyPatch, under_way: int
) -> None:
    """BL-092: many calls, many of them cancelled at any moment; whoever is answered is answered to the question."""
    monkeypatch.setattr(sender, "UNDER_WAY_MAX", under_way)
    chance = random.Random(under_way)
    async with Driver(store_url) as driver:
        await ask(driver, 0)
        cancelled = 0
        for start in range(0, 1_500, 50):
            tasks = [asyncio.create_task(ask(driver, start + number)) for number in range(50)]
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            for task in chance.sample(tasks, 25):
                if chance.random() < 0.1:
                    await asyncio.sleep(0)
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            cancelled += sum(isinstance(result, asyncio.CancelledError) for result in done)
            assert [result for result in done if result and not isinstance(result, asyncio.CancelledError)] == []
            await ask(driver, start + 1)
        assert cancelled > 300
        assert len(await raw.client_list()) <= 4


async def test_a_cancelled_script_runs_once_or_not_at_all(store_url: str, tables: Tables, ledger: Ledger) -> None:
    """Whatever became of it, the same request again tells."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    chance = random.Random(7)
    lines = [owner.line("p", "place", spot, 10) for spot in ("player", "banker") for _ in range(10)]
    async with Driver(store_url) as driver:
        nodes = Tables(driver)
        for line in lines:
            task = asyncio.create_task(nodes.acts(owner.table, [line]))
            for _ in range(chance.randrange(8)):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
    answers = await tables.acts(owner.table, lines)
    assert {answer.code for answer in answers} == {"ok"}
    row = await tables.view(owner.table, "p")
    assert row.view.you is not None
    assert row.view.you.bets == {"player": 100, "banker": 100}
    await ledger.check(owner.table)


# --- Scripts ----------------------------------------------------------------------------------------------------------


async def test_a_script_that_the_store_forgot_runs_once(
    store_url: str, raw: Redis, tables: Tables, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    for number in range(1, 6):
        await raw.script_flush()
        answer = await owner.act("p", "place", "player", 10)
        assert (answer.code, answer.stack) == ("ok", 1_000 - 10 * number)
    await raw.script_flush()
    answers = await asyncio.gather(*(owner.act("p", "place", "tie", 10) for _ in range(4)))
    assert sorted(answer.stack for answer in answers) == [910, 920, 930, 940]
    await ledger.check(owner.table)


async def test_a_script_that_fails_is_the_stores_refusal(driver: Driver, script_of: Callable[[str], Script]) -> None:
    for body in ("return redis.call('HGET', KEYS[1])", "error('no')", "return {err='ODD thing'}", "syntax error here"):
        with pytest.raises(StoreRefused):
            await driver.run(script_of(body), (fresh_id("k"),))
    assert await driver.run(script_of("return { 'ok', ARGV[1] }"), (fresh_id("k"),), ("fine",)) == [b"ok", b"fine"]


async def test_a_refusal_carries_its_details(driver: Driver, script_of: Callable[[str], Script]) -> None:
    with pytest.raises(Refused) as refused:
        await driver.run(script_of("return { 'BECAUSE', 7, 'x' }"), (fresh_id("k"),))
    assert (refused.value.code, refused.value.details, str(refused.value)) == ("BECAUSE", (7, b"x"), "BECAUSE")


# --- A store that does not answer -------------------------------------------------------------------------------------


async def test_many_calls_have_an_outcome_each_in_their_order(
    driver: Driver, raw: Redis, script_of: Callable[[str], Script]
) -> None:
    """Also where the store has forgotten the script: then each is run by itself, once."""
    script = script_of(
        "redis.call('INCRBY', KEYS[1], ARGV[1]) "
        "if ARGV[1] == '3' then return {'NO', 3} end return {'ok', tonumber(redis.call('GET', KEYS[1]))}"
    )
    names = [fresh_id("many") for _ in range(200)]
    calls = [((name,), (number % 5,)) for number, name in enumerate(names)]
    for round_number in (1, 2, 3):
        await raw.script_flush()
        outcomes = await driver.run_many(script, calls)
        for number, outcome in enumerate(outcomes):
            if number % 5 == 3:
                assert isinstance(outcome, Refused)
                assert (outcome.code, outcome.details) == ("NO", (3,))
            else:
                assert outcome == [b"ok", number % 5 * round_number]
    assert await driver.run_many(script, []) == []


async def test_many_calls_fail_as_one_would(tmp_path: Path, driver: Driver, script_of: Callable[[str], Script]) -> None:
    with pytest.raises(StoreRefused):
        await driver.run_many(script_of("return redis.call('NOSUCH')"), [((fresh_id("k"),), ())])
    async with Driver(f"unix://{tmp_path}/nowhere.sock") as nowhere:
        with pytest.raises(StoreAway):
            await nowhere.run_many(script_of("return {'ok'}"), [(("k",), ())])


@contextmanager
def stopped(valkey: EmbeddedValkey) -> Iterator[None]:
    """Valkey stands still for the length of the block."""
    assert valkey.pid is not None
    os.kill(valkey.pid, SIGSTOP)
    try:
        yield
    finally:
        os.kill(valkey.pid, SIGCONT)


@pytest.fixture
async def impatient(store_url: str) -> AsyncIterator[Driver]:
    async with Driver(store_url, call_timeout_ms=300) as opened:
        await opened.call("PING", "warm")
        yield opened


async def test_bl_102_a_stopped_store_fails_in_the_stated_time_and_works_again(
    valkey: EmbeddedValkey, impatient: Driver
) -> None:
    """BL-102: on connections that are open and on new ones, alone and many at once."""
    with stopped(valkey):
        started_s = time.monotonic()
        with pytest.raises(StoreAway):
            await impatient.call("ECHO", "one")
        assert 0.25 < time.monotonic() - started_s < 1.0
        started_s = time.monotonic()
        done = await asyncio.gather(*(impatient.call("ECHO", str(n)) for n in range(200)), return_exceptions=True)
        assert {type(result) for result in done} == {StoreAway}
        assert time.monotonic() - started_s < 4.5  # in turns, as many at once as there are connections
    for number in range(100):
        assert await impatient.call("ECHO", str(number)) == str(number).encode()
    await asyncio.gather(*(ask(impatient, number) for number in range(200)))


async def test_an_act_whose_answer_came_too_late_is_found_under_its_request(
    valkey: EmbeddedValkey, impatient: Driver, tables: Tables, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    line = owner.line("p", "place", "player", 25)
    with stopped(valkey), pytest.raises(StoreAway):
        await Tables(impatient).acts(owner.table, [line])
    (answer,) = await tables.acts(owner.table, [line])
    assert (answer.code, answer.stack) == ("ok", 975)
    await ledger.check(owner.table)


async def test_killed_connections_are_store_away_and_then_replaced(impatient: Driver, raw: Redis) -> None:
    """BL-097: a hundred kills leave no connection behind."""
    away = 0
    for number in range(100):
        await raw.client_kill_filter(_type="normal", skipme=True)
        try:
            assert await impatient.call("ECHO", str(number)) == str(number).encode()
        except StoreAway:
            away += 1
    assert await impatient.call("ECHO", "after") == b"after"
    assert len(await raw.client_list()) <= 3
    assert away <= 100


async def test_no_store_at_all(tmp_path: Path) -> None:
    for url in (f"unix://{tmp_path}/nothing.sock", "redis://127.0.0.1:1"):
        async with Driver(url) as driver:
            with pytest.raises(StoreAway):
                await driver.call("PING", "x")


# --- Few places for many ----------------------------------------------------------------------------------------------


async def test_bl_098_two_places_serve_five_hundred_some_of_whom_give_up(
    store_url: str, tables: Tables, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BL-098, BL-099: all are answered or told that the store is away, nothing counts twice, it works afterwards."""
    monkeypatch.setattr(sender, "UNDER_WAY_MAX", 2)
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=500))
    await owner.open_betting()
    chance = random.Random(98)
    async with Driver(store_url) as driver:
        narrow = Tables(driver)
        for patron in range(500):
            await owner.seat(f"p{patron}", 100)
        lines = [owner.line(f"p{patron}", "place", "player", 25) for patron in range(500)]
        for _ in range(2):
            tasks = [asyncio.create_task(narrow.acts(owner.table, [line])) for line in lines]
            for task in chance.sample(tasks, 150):
                await asyncio.sleep(0)
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            kinds = {type(result) for result in done}
            assert kinds <= {list, StoreAway, asyncio.CancelledError}
            assert sum(isinstance(result, list) for result in done) >= 350
        answers = [(await narrow.acts(owner.table, [line]))[0] for line in lines]
    assert {(answer.code, answer.stack) for answer in answers} == {("ok", 75)}
    await ledger.check(owner.table)


async def test_whoever_waits_too_long_for_a_place_is_told(
    valkey: EmbeddedValkey, store_url: str, raw: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "UNDER_WAY_MAX", 1)
    monkeypatch.setattr(sender, "WAIT_MS_MAX", 200)
    async with Driver(store_url, call_timeout_ms=800) as driver:
        await driver.call("PING", "warm")
        with stopped(valkey):
            started_s = time.monotonic()
            done = await asyncio.gather(*(driver.call("ECHO", str(n)) for n in range(20)), return_exceptions=True)
            assert {type(result) for result in done} == {StoreAway}
            assert time.monotonic() - started_s < 1.5
        await asyncio.gather(*(ask(driver, number) for number in range(50)))


async def test_closing_leaves_no_connection(store_url: str, raw: Redis) -> None:
    before = len(await raw.client_list())
    for _ in range(5):
        async with Driver(store_url) as driver:
            await asyncio.gather(*(ask(driver, number) for number in range(100)))
    async with asyncio.timeout(30):
        while len(await raw.client_list()) > before:
            await asyncio.sleep(0.01)
