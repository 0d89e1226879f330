"""What a run is told as, and when it is clean."""

import json
from collections.abc import Callable

import pytest

from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.progress import Mark, line_of
from client_sdk.bots.report import DETAILS_MAX, Tally, as_json, as_text

KEYS = {
    "patrons", "tables", "rounds", "bets", "acks", "refusals", "mismatches", "lost_acks", "reconnects", "ack_ms",
    "skew_ms", "mismatch_details", "seconds",
}  # fmt: skip


@pytest.fixture
def tally() -> Tally:
    tally = Tally(patrons=2, finished=2, tables=1, rounds=10, bets=20, acks=40, acts=43, seconds=2.0, events=100)
    tally.refusals.update({"CHIP_UNKNOWN": 2, "BETTING_CLOSED": 1})
    tally.ack_ms.add(3.0)
    return tally


def mismatch(number: int) -> Mismatch:
    return Mismatch(Kind.STACK, "royal-1", number, "one too many")


def test_the_json_report_has_the_keys_that_programs_read(tally: Tally) -> None:
    report = json.loads(as_json(tally))
    assert set(report) == KEYS
    assert set(report["ack_ms"]) == set(report["skew_ms"]) == {"p50", "p95", "p99", "max"}
    assert report["refusals"] == {"BETTING_CLOSED": 1, "CHIP_UNKNOWN": 2}
    assert (report["patrons"], report["mismatches"], report["ack_ms"]["max"]) == (2, 0, 3.0)


def test_a_clean_run(tally: Tally) -> None:
    assert tally.is_clean
    text = list(as_text(tally))
    assert text[0] == "2 of 2 patrons finished at 1 tables in 2.0 s"
    assert text[-1] == "every check held"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tally: tally.add([mismatch(1)]),
        lambda tally: setattr(tally, "lost_acks", 1),
        lambda tally: setattr(tally, "finished", 1),
        lambda tally: tally.failures.append("bot-0002: hangs"),
    ],
)
def test_what_makes_a_run_unclean(tally: Tally, spoil: Callable[[Tally], None]) -> None:
    spoil(tally)
    assert not tally.is_clean
    assert list(as_text(tally))[-1] == "NOT CLEAN"


def test_all_mismatches_are_counted_and_the_first_are_told(tally: Tally) -> None:
    tally.add(mismatch(number) for number in range(DETAILS_MAX + 5))
    tally.failures += ["bot-0001: hangs"] * (DETAILS_MAX + 3)
    report = json.loads(as_json(tally))
    assert report["mismatches"] == DETAILS_MAX + 5
    assert len(report["mismatch_details"]) == 2 * DETAILS_MAX
    text = "\n".join(as_text(tally))
    assert text.count("MISMATCH") == text.count("FAILED") == DETAILS_MAX
    assert "and 5 more: {'stack': 25}" in text
    assert "and 3 more" in text


def test_the_progress_line_tells_counts_and_rates(tally: Tally) -> None:
    tally.seats = 2
    line = line_of(tally, Mark(at_seconds=1.0, acts=23, events=50))
    assert "seats 2/2" in line
    assert "acts/s 20 " in line
    assert "events/s 50 " in line
    assert "refusals 3" in line
    assert "mismatches 0" in line
