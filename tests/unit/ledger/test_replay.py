"""A ledger played again: what it makes, and every way in which an entry can contradict those before it."""

import pytest

from client_sdk.game.variants import Spot
from server.ledger.playback import Playback
from server.ledger.replay import TableReplay
from tests.support.ledgers import AT_MS, LedgerMaker, line, packed


def played(*entries: bytes, after: int = 0) -> tuple[Playback, list[str]]:
    playback = Playback(after)
    return playback, [fault for each in enumerate(entries, after + 1) for fault in playback.enter(*each)]


def replay_of(playback: Playback) -> TableReplay:
    assert playback.replay is not None
    return playback.replay


def test_a_ledger_makes_what_lies_there() -> None:
    ledger = LedgerMaker()
    for number in (1, 2, 3):
        ledger.play(number)
    ledger.enter("act", AT_MS, "bob", "r9", 4, "place", "tie", 5, 0, 0, 5, 995)
    ledger.enter("cash_out", AT_MS, "ann", 1, 1_030, 0)
    playback, faults = played(*ledger.entries)
    replay = replay_of(playback)
    assert faults == []
    assert (replay.bought_in, replay.cashed_out, replay.house) == (2_000, 1_030, -30)
    assert (replay.stacks, replay.bets) == ({"bob": 995}, {"bob": {Spot.TIE: 5}})
    assert (replay.taken, replay.given) == ({"ann": 1_000, "bob": 1_000}, {"ann": 1_030})
    assert sum(replay.stacks.values()) + 5 + replay.house == replay.bought_in - replay.cashed_out
    assert playback.chain.checked == 3


BOUGHT = packed("buy_in", AT_MS, "ann", 1, 100, 100)
LAID = packed("act", AT_MS, "ann", "r", 1, "place", "player", 10, 10, 0, 0, 90)


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ([packed("buy_in", AT_MS, "ann", 1, 100, 99)], "ann has 100, the entry says 99"),
        ([BOUGHT, packed("cash_out", AT_MS, "ann", 1, 101, -1)], "less than nothing"),
        ([BOUGHT, packed("act", AT_MS, "ann", "r", 1, "place", "player", 10, 10, 0, 0, 91)], "ann has 90"),
        ([BOUGHT, packed("act", AT_MS, "ann", "r", 1, "undo", "", 0, 0, -5, 0, 105)], "less than nothing on banker"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 1, 0, [line("ann", 1, {"player": 10}, {}, 90)])], "has won 10"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 1, 9, [line("ann", 1, {"player": 9}, {}, 90)])], "had 10 on the spots"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 1, 10, [line("ann", 1, {"player": 10}, {}, 91)])], "ann has 90"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 2, 10, [line("ann", 1, {"player": 10}, {}, 90)])], "another round"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 1, 10, [line("ann", 1, {"tie": 10}, {}, 90)])], "another round"),
        ([BOUGHT, LAID, packed("settle", AT_MS, 1, 10, [("ann", 10, 0, 90, b"")])], "no record"),
        ([packed("settle", AT_MS, 1, 10, [line("ann", 1, {"tie": 10}, {}, 0)])], "had 0 on the spots"),
        ([BOUGHT, b"rubbish"], "no entry"),
    ],
)
def test_what_does_not_follow_is_told(entries: list[bytes], fault: str) -> None:
    _, faults = played(*entries)
    assert any(fault in found for found in faults), faults
    assert all(f"entry {len(entries)}: " in found for found in faults)


def test_a_missing_entry_is_told() -> None:
    ledger = LedgerMaker()
    ledger.play()
    playback = Playback()
    kept = [(number, entry) for number, entry in enumerate(ledger.entries, 1) if number not in (3, 4)]
    faults = [fault for each in kept for fault in playback.enter(*each)]
    assert faults[0] == "entries 3 to 4 are missing"
    assert any("the seal over entries 1 to 6 is not theirs" in fault for fault in faults)


def test_a_changed_seal_is_told_and_the_next_is_held_against_it() -> None:
    ledger = LedgerMaker()
    ledger.play(1)
    ledger.play(2)
    entries = list(ledger.entries)
    mark = next(place for place, entry in enumerate(entries) if b"seal" in entry[:8])
    entries[mark] = packed("seal", AT_MS, 1, "00" * 32, mark)
    _, faults = played(*entries)
    assert [fault.partition(": ")[2] for fault in faults] == [
        "the seal over entries 1 to 6 is not theirs",
        "the seal over entries 7 to 11 is not theirs",
    ]


def test_what_begins_in_the_middle_believes_the_first_seal_and_checks_the_next() -> None:
    ledger = LedgerMaker()
    for number in (1, 2, 3):
        ledger.play(number)
    after = 8  # in the second round
    playback, faults = played(*ledger.entries[after:], after=after)
    assert faults == []
    assert (playback.replay, playback.chain.checked, playback.chain.seal) == (None, 1, ledger.seal)
