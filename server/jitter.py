"""Waits that differ a little, so that nodes, tables and retries do not all come at the same instant."""

import random


def spread_s(ms_min: float, ms_max: float) -> float:
    """Draw a wait between the two, in seconds."""
    return random.uniform(ms_min, ms_max) / 1000  # noqa: S311 - nobody gains by guessing it


def jittered_s(ms: float) -> float:
    """Draw a wait around `ms`, a fifth less or more, in seconds."""
    return spread_s(0.8 * ms, 1.2 * ms)
