"""Pauses: within their range from the first on, doubling, capped, never the same for everybody."""

from itertools import islice
from random import Random

import pytest

from client_sdk.backoff import delays_ms
from client_sdk.settings import DEFAULTS


@pytest.mark.parametrize("seed", range(50))
def test_each_pause_lies_below_its_ceiling(seed: int) -> None:
    pauses = list(islice(delays_ms(50, 250, 5_000, Random(seed)), 10))
    for pause_ms, ceiling_ms in zip(pauses, [250, 500, 1_000, 2_000, 4_000, *[5_000] * 5], strict=True):
        assert 50 <= pause_ms <= ceiling_ms


def test_the_whole_range_is_drawn_from() -> None:
    firsts = [next(delays_ms(50, 250, 5_000, Random(seed))) for seed in range(400)]
    assert min(firsts) < 60
    assert max(firsts) > 240


def test_a_ceiling_below_the_floor_is_kept() -> None:
    assert list(islice(delays_ms(50, 250, 10, Random(1)), 3)) == [10, 10, 10]


def test_the_first_reconnect_comes_within_a_quarter_of_a_second() -> None:
    assert (DEFAULTS.reconnect_ms_min, DEFAULTS.reconnect_ms_first) == (50, 250)
