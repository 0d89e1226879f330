"""Acts on their way: their order, how many go together, whose answer is whose, what a failure does."""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import cast
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import batcher as batcher_module
from server.batcher import ACTS_A_CALL_MAX, CALLS_MAX, Batcher, Busy
from server.store.errors import StoreAway, StoreError, StoreRefused
from server.store.tables import ActAnswer, ActLine, Need, Tables
from tests.support.asking import submit


class GatedTables:
    """Answers a call when the test lets it through; each answer names the act that it belongs to."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.fails: Exception | None = None
        self.gates: list[asyncio.Event] = []
        """Of the calls under way, the oldest first."""
        self._patrons: set[str] = set()
        self._is_open = False

    async def acts(self, table: str, lines: Sequence[ActLine]) -> list[ActAnswer]:
        assert table == "t1"
        patrons = {line.patron for line in lines}
        assert len(self.gates) < CALLS_MAX
        assert not patrons & self._patrons, "a patron's acts are in one call at a time"
        gate = asyncio.Event()
        self._patrons |= patrons
        self.gates.append(gate)
        self.calls.append([line.round for line in lines])
        try:
            if not self._is_open:
                await gate.wait()
            await asyncio.sleep(0)
            if self.fails is not None:
                raise self.fails
            return [ActAnswer("ok", line.round) for line in lines]
        finally:
            self.gates.remove(gate)
            self._patrons -= patrons

    @property
    def sent(self) -> list[int]:
        """Every act that was sent, in the order of the calls."""
        return list(chain.from_iterable(self.calls))

    def open(self) -> None:
        """Let every call through from now on."""
        self._is_open = True
        for gate in self.gates:
            gate.set()

    async def let_one_through(self, place: int = 0) -> None:
        """Let a call under way through, if there is one, and none after it."""
        if self.gates:
            self.gates[place % len(self.gates)].set()
        await settle()


async def settle() -> None:
    """Let every task run until it waits for something."""
    for _ in range(5):
        await asyncio.sleep(0)


def line(number: int, patron: str = "p") -> ActLine:
    """An act that can be told from others by its round."""
    return ActLine(patron, "c", f"r{number}", number, "place", "player", 10)


async def nothing_to_obtain(patron: str, table: str, need: Need) -> None:
    raise AssertionError(f"nobody has limits: {patron} {table} {need}")


@pytest.fixture
async def tables() -> GatedTables:
    return GatedTables()


@pytest.fixture
async def batcher(tables: GatedTables) -> Batcher:
    return Batcher("t1", cast(Tables, tables), nothing_to_obtain)


async def test_a_lone_act_goes_at_once(batcher: Batcher, tables: GatedTables) -> None:
    future = submit(batcher, line(1))
    await settle()
    assert tables.calls == [[1]]
    assert not future.done()
    tables.open()
    assert await future == ActAnswer("ok", 1)


async def test_what_comes_during_a_call_goes_together_in_the_next(batcher: Batcher, tables: GatedTables) -> None:
    futures = [submit(batcher, line(1))]
    await settle()
    futures += [submit(batcher, line(number)) for number in (2, 3, 4)]
    await settle()
    assert tables.calls == [[1]]
    await tables.let_one_through()
    assert tables.calls == [[1], [2, 3, 4]]
    futures.append(submit(batcher, line(5)))
    tables.open()
    assert [(await future).at_ms for future in futures] == [1, 2, 3, 4, 5]
    assert tables.calls == [[1], [2, 3, 4], [5]]


async def test_a_call_is_bounded(batcher: Batcher, tables: GatedTables) -> None:
    futures = [submit(batcher, line(number)) for number in range(3 * ACTS_A_CALL_MAX + 7)]
    tables.open()
    answers = await asyncio.gather(*futures)
    assert [answer.at_ms for answer in answers] == list(range(len(futures)))
    assert [len(call) for call in tables.calls] == [ACTS_A_CALL_MAX] * 3 + [7]


async def test_a_second_call_goes_beside_the_first_when_it_is_full(batcher: Batcher, tables: GatedTables) -> None:
    def submit_some(first: int, count: int) -> list[asyncio.Future[ActAnswer]]:
        return [submit(batcher, line(number, f"p{number}")) for number in range(first, first + count)]

    futures = submit_some(0, 1)
    await settle()
    futures += submit_some(1, ACTS_A_CALL_MAX - 1)
    await settle()
    assert [len(call) for call in tables.calls] == [1], "so few wait and go together"
    futures += submit_some(ACTS_A_CALL_MAX, 2 * ACTS_A_CALL_MAX)
    await settle()
    assert [len(call) for call in tables.calls] == [1, ACTS_A_CALL_MAX], "and no third one"
    tables.open()
    assert [(await future).at_ms for future in futures] == list(range(len(futures)))
    assert tables.sent == list(range(len(futures)))


async def test_the_second_call_has_no_act_of_a_patron_in_the_first(batcher: Batcher, tables: GatedTables) -> None:
    futures = [submit(batcher, line(0, "ann"))]
    await settle()
    futures.append(submit(batcher, line(1, "ann")))
    futures += [submit(batcher, line(number, f"p{number}")) for number in range(2, ACTS_A_CALL_MAX + 2)]
    futures.append(submit(batcher, line(ACTS_A_CALL_MAX + 2, "ann")))
    await settle()
    assert tables.calls == [[0], list(range(2, ACTS_A_CALL_MAX + 2))]
    await tables.let_one_through(1)
    assert len(tables.calls) == 2, "Ann's first is not decided yet"
    await tables.let_one_through()
    assert tables.calls[2:] == [[1, ACTS_A_CALL_MAX + 2]]
    tables.open()
    assert [(await future).at_ms for future in futures] == list(range(len(futures)))


async def test_acts_of_patrons_under_way_only_wait_for_that_call(batcher: Batcher, tables: GatedTables) -> None:
    """However many: nothing else can be sent, and nothing is forgotten."""
    futures = [submit(batcher, line(0))]
    await settle()
    futures += [submit(batcher, line(number)) for number in range(1, 2 * ACTS_A_CALL_MAX)]
    await settle()
    assert tables.calls == [[0]]
    tables.open()
    assert [(await future).at_ms for future in futures] == list(range(len(futures)))
    assert tables.sent == list(range(len(futures)))


async def test_the_queue_is_bounded(batcher: Batcher, tables: GatedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes too late is told at once, and nothing of it is sent; those that wait are served."""
    monkeypatch.setattr(batcher_module, "ACTS_WAITING_MAX", 10)
    futures = [submit(batcher, line(0))]
    await settle()
    futures += [submit(batcher, line(number)) for number in range(1, 11)]
    for _ in range(3):
        with pytest.raises(Busy):
            _ = submit(batcher, line(99))
    tables.open()
    assert [(await future).at_ms for future in futures] == list(range(11))
    assert tables.sent == list(range(11))
    assert (await submit(batcher, line(11))).at_ms == 11


async def test_an_act_whose_sender_has_gone_is_decided_nevertheless(batcher: Batcher, tables: GatedTables) -> None:
    """It may be on its way already; the others' answers stay with the others."""
    futures = [submit(batcher, line(number)) for number in range(6)]
    await settle()
    for number in (0, 3, 5):
        futures[number].cancel()
    tables.open()
    assert [(await futures[number]).at_ms for number in (1, 2, 4)] == [1, 2, 4]
    assert tables.sent == list(range(6))


@pytest.mark.parametrize("error", [StoreAway("gone"), StoreRefused("full")])
async def test_a_failed_call_fails_its_acts_and_no_others(
    batcher: Batcher, tables: GatedTables, error: StoreError
) -> None:
    futures = [submit(batcher, line(1))]
    await settle()
    futures.append(submit(batcher, line(2)))
    tables.fails = error
    await tables.let_one_through()
    assert futures[0].exception() is error
    assert not futures[1].done()
    tables.fails = None
    tables.open()
    assert (await futures[1]).at_ms == 2
    assert (await submit(batcher, line(3))).at_ms == 3
    await batcher.close()


async def test_closing_waits_for_what_was_submitted(batcher: Batcher, tables: GatedTables) -> None:
    await batcher.close()
    futures = [submit(batcher, line(number)) for number in range(200)]
    tables.open()
    await batcher.close()
    assert all(future.done() for future in futures)
    await batcher.close()


async def test_nobody_waits_for_ever_behind_an_unexpected_failure(batcher: Batcher, tables: GatedTables) -> None:
    futures = [submit(batcher, line(1))]
    await settle()
    futures.append(submit(batcher, line(2)))
    tables.fails = RuntimeError("a fault of ours")
    tables.open()
    try:
        async with asyncio.timeout(0.2):
            for future in futures:
                with pytest.raises(StoreError):
                    await future
    finally:
        for future in futures:
            future.cancel()
        await batcher.close()


@settings(derandomize=True, deadline=None)
@given(
    st.sampled_from([2, ACTS_A_CALL_MAX]),
    st.lists(st.sampled_from(["ann", "bob", "cy", "dee", "first", "second", "cancel"]), max_size=80),
)
async def test_order_and_answers_of_any_run(call_max: int, steps: list[str]) -> None:
    """Each patron's acts reach the store in the order of their arrival, each once, and each has its own answer,
    whichever of two calls is through first."""
    tables = GatedTables()
    batcher = Batcher("t1", cast(Tables, tables), nothing_to_obtain)
    submitted: dict[str, list[int]] = {}
    futures: list[asyncio.Future[ActAnswer]] = []
    with mock.patch.object(batcher_module, "ACTS_A_CALL_MAX", call_max):
        for step in steps:
            match step:
                case "first" | "second":
                    await settle()
                    await tables.let_one_through(step == "second")
                case "cancel":
                    for future in futures[-1:]:
                        future.cancel()
                case patron:
                    submitted.setdefault(patron, []).append(len(futures))
                    futures.append(submit(batcher, line(len(futures), patron)))
        tables.open()
        await batcher.close()
    for numbers in submitted.values():
        assert [number for number in tables.sent if number in numbers] == numbers
    for number, future in enumerate(futures):
        assert future.cancelled() or future.result().at_ms == number
