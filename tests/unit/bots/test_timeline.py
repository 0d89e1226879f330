"""Durations over time in a bounded number of slots."""

from client_sdk.bots.timeline import SLOTS_MAX, Timeline


def test_each_second_has_a_histogram() -> None:
    timeline = Timeline()
    for at_s, duration_ms in ((0.1, 1.0), (0.9, 3.0), (2.0, 5.0), (-1.0, 2.0)):
        timeline.add(at_s, duration_ms)
    assert [(at_s, histogram.total, histogram.max_ms) for at_s, histogram in timeline] == [(0.0, 3, 3.0), (2.0, 1, 5.0)]


def test_a_long_run_gets_longer_slots_and_loses_nothing() -> None:
    timeline = Timeline()
    for at_s in range(5 * SLOTS_MAX):
        timeline.add(at_s, 1.0)
    assert timeline.slot_s == 8
    assert len(timeline.slots) <= SLOTS_MAX
    assert sum(histogram.total for _, histogram in timeline) == 5 * SLOTS_MAX


def test_two_of_different_length_add_up() -> None:
    short, long = Timeline(), Timeline()
    short.add(3, 7.0)
    long.add(SLOTS_MAX, 9.0)
    long.add_all(short)
    short.add_all(long)
    assert [(at_s, histogram.total) for at_s, histogram in long] == [(2.0, 1), (240.0, 1)]
    assert [(at_s, histogram.total) for at_s, histogram in short] == [(2.0, 2), (240.0, 1)]
