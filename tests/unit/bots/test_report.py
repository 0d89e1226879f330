"""What a run is told as, and when it is clean."""

import json
from collections import Counter
from collections.abc import Callable

import pytest

from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.report import DETAILS_MAX, DETAILS_OF_A_KIND_MAX, Tally, as_json, as_text

KEYS = {
    "patrons", "tables", "rounds", "bets", "acks", "refusals", "mismatches", "lost_acks", "reconnects", "ack_ms",
    "skew_ms", "mismatch_details", "seconds", "processes", "events", "acts", "unanswered", "drops", "kills",
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
        lambda tally: tally.failures.append("bot-0002: hangs"),
    ],
)
def test_what_makes_a_run_unclean(tally: Tally, spoil: Callable[[Tally], None]) -> None:
    spoil(tally)
    assert not tally.is_clean
    assert list(as_text(tally))[-1] == "NOT CLEAN"


def test_a_run_that_was_stopped_is_not_clean_but_nothing_was_wrong(tally: Tally) -> None:
    tally.finished = 1
    assert not tally.is_clean
    assert list(as_text(tally))[-1] == "stopped early; every check held so far"


def test_all_mismatches_are_counted_and_the_first_of_each_kind_are_told(tally: Tally) -> None:
    for kind in (Kind.STACK, Kind.CARD, Kind.PAYOUT, Kind.SEQ):
        tally.add(Mismatch(kind, "royal-1", number, "one too many") for number in range(DETAILS_MAX))
    tally.failures += ["bot-0001: hangs"] * (DETAILS_MAX + 3)
    report = json.loads(as_json(tally))
    assert report["mismatches"] == 4 * DETAILS_MAX
    assert len(report["mismatch_details"]) == 2 * DETAILS_MAX
    assert Counter(detail.split()[0] for detail in report["mismatch_details"][:DETAILS_MAX]) == {
        "stack": DETAILS_OF_A_KIND_MAX,
        "card": DETAILS_OF_A_KIND_MAX,
        "payout": DETAILS_MAX - 2 * DETAILS_OF_A_KIND_MAX,
    }
    text = "\n".join(as_text(tally))
    assert text.count("MISMATCH") == text.count("FAILED") == DETAILS_MAX
    assert "and 60 more: {'stack': 20, 'card': 20, 'payout': 20, 'seq': 20}" in text
    assert "and 3 more" in text
