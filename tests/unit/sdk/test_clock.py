"""The estimate of a table's clock: never wrong by more than it says, never negative, blind to the wall clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_sdk.clock import DRIFT, RESOLUTION_MS, SAMPLES_MAX, ClockSample, TableClock
from client_sdk.exceptions import ClockUnknown

delays = st.floats(0, 2_000)
offsets = st.integers(-(10**12), 2 * 10**12)


def ping(sent_ms: float, there_ms: float, back_ms: float, offset_ms: float) -> ClockSample:
    """A ping to a clock that runs `offset_ms` ahead of ours; the reading is cut to whole milliseconds."""
    return ClockSample(sent_ms, sent_ms + there_ms + back_ms, int((sent_ms + there_ms + offset_ms) // 1))


def test_nothing_is_known_before_the_first_ping() -> None:
    clock = TableClock()
    assert not clock.is_known
    assert clock.round_trip_ms is None
    for ask in (clock.now_at_ms, clock.offset_ms, clock.uncertainty_ms, lambda now: clock.remaining_ms(5, now)):
        with pytest.raises(ClockUnknown):
            ask(0.0)


def test_a_closed_table_has_no_time_left_even_without_a_clock() -> None:
    assert TableClock().remaining_ms(None, 0.0) == 0


def test_an_answer_before_its_question_is_refused() -> None:
    with pytest.raises(ValueError, match="before it was sent"):
        ClockSample(10.0, 9.0, 0)


@given(st.lists(st.tuples(delays, delays), min_size=1, max_size=20), offsets)
def test_the_estimate_is_never_wrong_by_more_than_it_says(trips: list[tuple[float, float]], offset_ms: int) -> None:
    """BL-042: whatever the client's own clock says; a clock that is set meanwhile is not read at all (see
    tests/integration/multinode/test_no_wall_clock.py)."""
    clock, now_ms = TableClock(), 1_000.0
    for there_ms, back_ms in trips:
        sample = ping(now_ms, there_ms, back_ms, offset_ms)
        clock.add(sample)
        now_ms = sample.answered_ms + 1_000
        error_ms = abs(clock.offset_ms(now_ms) - offset_ms)
        assert error_ms <= clock.uncertainty_ms(now_ms) + 1e-3  # floats of this size keep about a ten-thousandth


def test_the_uncertainty_is_half_the_best_round_trip_and_grows_with_age() -> None:
    clock = TableClock()
    clock.add(ping(0, 100, 100, 0))
    clock.add(ping(1_000, 10, 10, 0))
    clock.add(ping(2_000, 50, 50, 0))
    assert clock.round_trip_ms == 20
    assert clock.uncertainty_ms(1_020) == pytest.approx(10 + RESOLUTION_MS)
    assert clock.uncertainty_ms(1_020 + 20_000) == pytest.approx(10 + RESOLUTION_MS + 20_000 * DRIFT)


def test_an_old_good_ping_gives_way_to_a_fresh_one() -> None:
    clock = TableClock()
    clock.add(ping(0, 1, 1, 1_000))
    clock.add(ping(600_000, 5, 5, 1_000))
    assert clock.uncertainty_ms(600_010) == pytest.approx(5 + RESOLUTION_MS)


def test_only_so_many_pings_are_kept() -> None:
    clock = TableClock()
    clock.add(ping(0, 1, 1, 0))
    for number in range(1, SAMPLES_MAX + 1):
        clock.add(ping(number * 1_000, 30, 30, 0))
    assert clock.round_trip_ms == 60


@pytest.mark.parametrize("step_ms", [-300_000, 60_000])
def test_a_table_clock_that_was_set_is_believed_at_the_next_ping(step_ms: int) -> None:
    clock = TableClock()
    for number in range(3):
        clock.add(ping(number * 1_000, 5, 5, 500_000))
    clock.add(ping(20_000, 20, 20, 500_000 + step_ms))
    assert clock.now_at_ms(20_040) == pytest.approx(20_040 + 500_000 + step_ms, abs=21)


@given(st.integers(-(10**6), 10**6), st.floats(0, 10**6))
def test_remaining_time_is_never_negative(closes_in_ms: int, now_ms: float) -> None:
    """BL-042."""
    clock = TableClock()
    clock.add(ping(0, 0, 0, 10**9))
    remaining_ms = clock.remaining_ms(10**9 + closes_in_ms, now_ms)
    assert remaining_ms >= 0
    assert remaining_ms == pytest.approx(max(0.0, closes_in_ms - now_ms), abs=2)


def test_remaining_time_does_not_drift_over_a_long_betting_time() -> None:
    """BL-043."""
    clock = TableClock()
    clock.add(ping(0, 3, 3, 7_777))
    closes_at_ms = 7_777 + 600_000
    for now_ms in range(0, 600_000, 997):
        assert clock.remaining_ms(closes_at_ms, now_ms) == pytest.approx(600_000 - now_ms, abs=4)


def test_it_tells_its_state_and_no_more() -> None:
    clock = TableClock()
    clock.add(ping(0, 5, 5, 0))
    assert repr(clock) == "<TableClock samples=1 round_trip_ms=10>"
