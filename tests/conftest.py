"""What holds for all tests: that a machine is busy is no finding, and no test leaves a place for records behind."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")


@pytest.fixture(autouse=True)
def _records_go_where_they_went() -> Iterator[None]:
    """A command that runs within a test's process sends its records to a stream which ends with the test."""
    before = logging.root.handlers[:]
    yield
    for handler in logging.root.handlers[:]:
        if handler not in before:
            logging.root.removeHandler(handler)
