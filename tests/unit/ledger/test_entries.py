"""Entries from the bytes that the scripts append: each kind is read, and whatever else the bytes are is `BadEntry`."""

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.seals import Seal
from client_sdk.game.variants import Spot
from server.ledger.entries import (
    Act,
    BadEntry,
    BuyIn,
    CashOut,
    SealMark,
    Settlement,
    is_movement,
    unpack_entry,
    unpack_record,
)
from tests.support.ledgers import AT_MS, line, packed

ACT = ("act", AT_MS, "ann", "r1", 3, "place", "banker", 100, 0, 100, 0, 900)
SETTLE = ("settle", AT_MS, 3, -95, [line("ann", 3, {"banker": 100}, {"banker": 195}, 1_095)])
KINDS: list[tuple[Any, ...]] = [
    ACT,
    ("buy_in", AT_MS, "ann", 1, 1_000, 1_000),
    ("cash_out", AT_MS, "ann", 1, 1_000, 0),
    SETTLE,
    ("seal", AT_MS, 3, "ab" * 32, 7),
]


def test_every_kind_is_read() -> None:
    act, buy_in, cash_out, settlement, mark = (unpack_entry(packed(*entry)) for entry in KINDS)
    assert act == Act(AT_MS, "ann", "r1", 3, "place", "banker", 100, {Spot.BANKER: 100}, 900)
    assert isinstance(act, Act)
    assert act.moved == 100
    assert buy_in == BuyIn(AT_MS, "ann", 1, 1_000, 1_000)
    assert cash_out == CashOut(AT_MS, "ann", 1, 1_000, 0)
    assert isinstance(settlement, Settlement)
    (settled,) = settlement.lines
    assert (settlement.round, settlement.house, settled.payout) == (3, -95, 195)
    assert settled.record.results[Spot.BANKER].payout == 195
    assert mark == SealMark(AT_MS, 3, Seal("ab" * 32, 7))
    assert [is_movement(packed(*entry)) for entry in KINDS] == [True, True, True, True, False]


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry[0])
def test_a_field_more_or_less_or_of_another_type_is_no_entry(entry: tuple[Any, ...]) -> None:
    wrong: list[Any] = [entry[:-1], (*entry, 1), ("other", *entry[1:])]
    others: list[Any] = [None, 1.5, {}, [1]]
    wrong += [(*entry[:place], other, *entry[place + 1 :]) for place in range(1, len(entry)) for other in others]
    for each in wrong:
        with pytest.raises(BadEntry):
            unpack_entry(packed(*each))


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_any_bytes_are_an_entry_or_a_bad_one(found: bytes) -> None:
    for read in (unpack_entry, is_movement, unpack_record):
        try:
            read(found)
        except BadEntry:
            pass


def test_a_damaged_record_is_told_when_it_is_read() -> None:
    damaged = unpack_entry(packed("settle", AT_MS, 3, 0, [("ann", 100, 100, 900, b"\xc1")]))
    assert isinstance(damaged, Settlement)
    with pytest.raises(BadEntry):
        _ = damaged.lines[0].record
    with pytest.raises(BadEntry):
        unpack_record(msgpack.packb({"round": "three"}))
