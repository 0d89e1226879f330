"""Durations in buckets: percentiles within the stated error, the largest exactly."""

import math

from hypothesis import given
from hypothesis import strategies as st

from client_sdk.bots.histogram import Histogram

ERROR = 2 ** (1 / 64) - 1  # half a bucket of 2^(1/32)


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=200))
def test_a_percentile_is_as_right_as_its_bucket(durations_ms: list[float]) -> None:
    histogram = Histogram()
    for duration_ms in durations_ms:
        histogram.add(duration_ms)
    ordered = sorted(durations_ms)
    for percent in (50, 95, 99, 100):
        exact = ordered[math.ceil(len(ordered) * percent / 100) - 1]
        assert abs(histogram.percentile_ms(percent) - exact) <= exact * (ERROR + 1e-9)
    assert histogram.summary()["max"] == round(ordered[-1], 3)


def test_nothing_was_measured() -> None:
    assert Histogram().summary() == {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}


def test_zero_and_less_count_as_the_shortest() -> None:
    histogram = Histogram()
    histogram.add(0.0)
    assert histogram.percentile_ms(50) == 0.0
    assert histogram.total == 1


def test_two_histograms_add_up() -> None:
    one, two = Histogram(), Histogram()
    one.add(1.0)
    two.add(100.0)
    two.add(100.0)
    one.add_all(two)
    assert (one.total, one.max_ms) == (3, 100.0)
    assert 98 < one.percentile_ms(50) < 102
