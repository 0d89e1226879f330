"""The log under a flood of one and the same record."""

import io
import json
import logging
from typing import Any

import pytest

from server.logs import SAME_A_SECOND_MAX, JsonFormatter, Repeats

NOW_S = 1_800_000_000


class Log:
    """A log of its own, whose records are made at a given time."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        self._handler = logging.StreamHandler(self._written)
        self._handler.setFormatter(JsonFormatter())
        self._handler.addFilter(Repeats())

    def note(self, at_s: float, event: str, error: Any = None, **fields: object) -> None:
        """Log an event."""
        record = logging.makeLogRecord({"name": "server.x", "msg": event, "created": at_s, "exc_info": error, **fields})
        self._handler.handle(record)

    def told(self) -> list[dict[str, Any]]:
        """What was written."""
        return [json.loads(line) for line in self._written.getvalue().splitlines()]


@pytest.fixture
def log() -> Log:
    return Log()


def test_the_same_record_is_written_a_few_times_a_second(log: Log) -> None:
    for n in range(5_000):
        log.note(NOW_S + n / 10_000, "store_error", reason="StoreAway the server has been silent")
    log.note(NOW_S + 0.9, "store_error", reason="StoreAway another reason")
    assert len(log.told()) == SAME_A_SECOND_MAX + 1
    log.note(NOW_S + 7, "store_error", reason="StoreAway the server has been silent")
    log.note(NOW_S + 7.1, "store_error", reason="StoreAway the server has been silent")
    assert [told.get("left_out") for told in log.told()[-2:]] == [5_000 - SAME_A_SECOND_MAX, None]


def test_different_records_are_all_written(log: Log) -> None:
    for n in range(1_000):
        log.note(NOW_S, "seat_freed", patron=f"p{n}")
    assert [told["patron"] for told in log.told()] == [f"p{n}" for n in range(1_000)]


def test_every_traceback_is_written(log: Log) -> None:
    try:
        raise ValueError("a fault")
    except ValueError as error:
        caught = (type(error), error, error.__traceback__)
    for _ in range(3 * SAME_A_SECOND_MAX):
        log.note(NOW_S, "request_failed", error=caught)
    assert len(log.told()) == 3 * SAME_A_SECOND_MAX
