"""The progress of a run: one line that renews itself on a terminal, plain lines elsewhere."""

import asyncio
import io

import pytest

from client_sdk.bots import progress
from client_sdk.bots.fleet import Fleet
from client_sdk.bots.orders import Orders
from client_sdk.bots.progress import Mark, line_of, show_progress
from client_sdk.bots.report import Tally


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is written until three lines are there."""
    for name in ("TERMINAL_SECONDS", "PLAIN_SECONDS", "FIRST_PLAIN_SECONDS"):
        monkeypatch.setattr(progress, name, 0.001)
    fleet = Fleet(Orders(url="ws://127.0.0.1:9", patrons=3, rounds=1, seed=""))
    task = asyncio.create_task(show_progress(fleet, stream))
    async with asyncio.timeout(5):
        while stream.getvalue().count("seats 0/3") < 3:
            await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return stream.getvalue()


async def test_a_terminal_sees_one_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = await shown(Terminal(), monkeypatch)
    assert "\n" not in text
    assert text.startswith("\r\x1b[K")
    assert text.endswith("\r\x1b[K")


async def test_a_file_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = await shown(io.StringIO(), monkeypatch)
    assert "\x1b" not in text
    assert len(text.splitlines()) >= 3


def test_the_line_tells_counts_and_rates() -> None:
    tally = Tally(patrons=2, seats=2, acts=43, events=100, seconds=2.0)
    tally.refusals.update({"CHIP_UNKNOWN": 2, "BETTING_CLOSED": 1})
    line = line_of(tally, Mark(at_seconds=1.0, acts=23, events=50))
    for part in ("seats 2/2", "acts/s 20 ", "events/s 50 ", "refusals 3", "mismatches 0"):
        assert part in line
