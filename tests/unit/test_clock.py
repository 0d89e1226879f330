"""The store's clock as a node estimates it: never ahead of the store, close behind it, patient with late answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.clock import StoreClock

START_MS = 1_700_000_000_000


class Machine:
    """A machine whose own clock began somewhere else, and the store's clock beside it."""

    def __init__(self) -> None:
        self.monotonic_s = 5_000.0
        self.store_ms = float(START_MS)
        self.clock = StoreClock(lambda: self.monotonic_s)

    def let_pass(self, ms: float) -> None:
        self.monotonic_s += ms / 1000
        self.store_ms += ms

    def answer(self, takes_ms: float) -> None:
        """The store says its time; the answer needs so long to arrive."""
        said_ms = int(self.store_ms)
        self.let_pass(takes_ms)
        self.clock.hear(said_ms)

    @property
    def behind_ms(self) -> float:
        """By how much the estimate lies behind the store."""
        return self.store_ms - self.clock.now_ms()


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_time_goes_on_between_two_answers(machine: Machine) -> None:
    machine.answer(2)
    before = machine.clock.now_ms()
    machine.let_pass(750)
    assert machine.clock.now_ms() == before + 750


def test_nothing_was_heard_yet(machine: Machine) -> None:
    with pytest.raises(AssertionError):
        machine.clock.now_ms()


def test_the_quickest_answer_counts(machine: Machine) -> None:
    for takes_ms in (40, 3, 60, 25):
        machine.answer(takes_ms)
    assert 3 <= machine.behind_ms < 5
    machine.answer(1)
    assert 1 <= machine.behind_ms < 3


def test_a_late_answer_moves_the_estimate_little(machine: Machine) -> None:
    machine.answer(1)
    machine.let_pass(300)
    machine.answer(900)
    assert machine.behind_ms < 4


def test_a_quick_answer_of_long_ago_is_believed_less(machine: Machine) -> None:
    """The clocks of two machines run apart; the estimate is let down by a millisecond a second."""
    machine.answer(1)
    for _ in range(100):
        machine.let_pass(1_000)
        machine.answer(30)
    assert 30 <= machine.behind_ms < 33


@pytest.mark.parametrize("step_ms", [-3_600_000, -5_000, 5_000, 3_600_000])
def test_a_store_whose_clock_was_set_is_followed_at_once(machine: Machine, step_ms: int) -> None:
    """Also a failover to a server with another clock, or a node that slept."""
    machine.answer(1)
    machine.store_ms += step_ms
    machine.answer(1)
    assert 0 <= machine.behind_ms < 3


def test_a_store_whose_clock_was_set_back_a_little_is_followed_slowly(machine: Machine) -> None:
    machine.answer(1)
    machine.store_ms -= 200
    for _ in range(250):
        machine.let_pass(1_000)
        machine.answer(1)
    assert 0 <= machine.behind_ms < 3


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5_000), st.floats(0, 900)), min_size=1, max_size=50))
def test_the_estimate_is_never_ahead_of_the_store(answers: list[tuple[float, float]]) -> None:
    """A step that is taken by this clock is never early by the store's."""
    machine = Machine()
    for pause_ms, takes_ms in answers:
        machine.let_pass(pause_ms)
        machine.answer(takes_ms)
        assert machine.behind_ms > -0.01
        assert machine.behind_ms <= max(takes for _, takes in answers) + 2
