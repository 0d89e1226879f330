"""What a measurement comes to: the median of its turns, beside the least and the greatest. Pure."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple


class Figure(NamedTuple):
    """One number of bench.json."""

    median: float
    min: float
    max: float
    runs: int


class Goal(NamedTuple):
    """What a number should be at most, or at least."""

    bound: float
    is_least: bool = False

    def is_met(self, figure: Figure) -> bool:
        """Whether the median keeps to it."""
        return figure.median >= self.bound if self.is_least else figure.median <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.bound:g}"


GOALS: Final = {
    "fanout_cpu_vs_send_1000": Goal(1.5),
    "fanout_cpu_vs_send_5000": Goal(1.4),
    "fanout_cpu_vs_broadcast_1000": Goal(0.75),
    "fanout_cpu_vs_send_3_at_once": Goal(0.5),
    "burst_rate_vs_single_call": Goal(4, is_least=True),
    "act_cpu_vs_echo": Goal(1.6),
    "kib_per_seat": Goal(24),
    "events_p99_ms_10000": Goal(250),
    "show_skew_p99_ms_10000": Goal(50),
    "relative_cost_10000_vs_500": Goal(1.25),
    "settle_ms_5000": Goal(150),
    "settle_script_max_ms": Goal(10),
    "storm_back_s": Goal(10),
    "storm_events_p99_ms": Goal(250),
    "storm_deadline_late_ms": Goal(100),
}
"""The figures that should be something; others are only told."""


def figure(values: Iterable[float]) -> Figure:
    """Sum up the turns of a measurement."""
    known = list(values)
    return Figure(round(median(known), 3), round(min(known), 3), round(max(known), 3), len(known))


def percentile(values: Sequence[float], share: float) -> float:
    """The least of these sorted values that `share` of them do not exceed."""
    return values[min(len(values) - 1, int(len(values) * share))]


def row(name: str, told: Figure) -> str:
    """One line of the table that is printed."""
    goal = GOALS.get(name)
    verdict = "" if goal is None else f"{goal!s:>8}  {'reached' if goal.is_met(told) else 'NOT reached'}"
    spread = f"{told.min:g} to {told.max:g}, {told.runs} runs"
    return f"  {name:30}{told.median:>10g}   {spread:32}{verdict}".rstrip()
