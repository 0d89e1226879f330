"""What a patron's own ledger holds: copies of each kind of entry, and lines read as the wire tells them."""

from typing import Any

import msgpack
import pytest

from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import StatementLine
from server.ledger.copies import OWN_KINDS, Copy, copies_of, played_round, statement_line
from server.ledger.entries import BadEntry, unpack_entry
from tests.support.ledgers import AT_MS, line, packed


def copies(*entry: Any) -> list[tuple[str, Copy]]:
    return list(copies_of("royal-1", 7, unpack_entry(packed(*entry))))


def told(*entry: Any) -> StatementLine:
    ((patron, copy),) = copies(*entry)
    assert (patron, copy.number, copy.played) == ("ann", 7, b"")
    return statement_line(3, copy.line)


def test_an_act_a_buy_in_and_a_cash_out() -> None:
    here: dict[str, Any] = {"id": "3", "at_ms": AT_MS, "table": "royal-1", "number": 7}
    laid = told("act", AT_MS, "ann", "r1", 2, "place", "tie", 5, 0, 0, 5, 95)
    assert laid == StatementLine(
        **here,
        kind="acted",
        amount=-5,
        balance=95,
        round=2,
        verb="place",
        spot=Spot.TIE,
        chip=5,
        laid={Spot.TIE: 5},
        request_id="r1",
    )
    taken_back = told("act", AT_MS, "ann", "r2", 2, "clear", "", 0, -10, 0, -5, 110)
    assert (taken_back.amount, taken_back.spot, taken_back.chip) == (15, None, None)
    assert taken_back.laid == {Spot.PLAYER: -10, Spot.TIE: -5}
    assert told("buy_in", AT_MS, "ann", 4, 100, 150) == StatementLine(
        **here, kind="bought_in", amount=100, balance=150, transfer=4
    )
    assert told("cash_out", AT_MS, "ann", 2, 150, 0) == StatementLine(
        **here, kind="cashed_out", amount=-150, balance=0, transfer=2
    )


def test_a_settlement_is_a_line_and_a_round_for_each_patron() -> None:
    ann, bob = line("ann", 2, {"tie": 5}, {"tie": 45}, 140), line("bob", 2, {"player": 10}, {}, 90)
    (first, ann_copy), (second, bob_copy) = copies("settle", AT_MS, 2, -30, [ann, bob])
    assert (first, second) == ("ann", "bob")
    assert statement_line(1, ann_copy.line) == StatementLine(
        id="1", kind="settled", at_ms=AT_MS, amount=45, balance=140, table="royal-1", number=7, round=2, stake=5
    )
    assert statement_line(1, bob_copy.line).amount == 0
    played = played_round(8, ann_copy.played)
    assert (played.id, played.table, played.number, played.round) == ("8", "royal-1", 7, 2)
    assert (played.outcome, played.bets, played.results[Spot.TIE].payout) == (Outcome.PLAYER, {Spot.TIE: 5}, 45)


def test_a_mark_is_nobodys() -> None:
    assert copies("seal", AT_MS, 2, "00" * 32, 6) == []


@pytest.mark.parametrize("kind", sorted(OWN_KINDS))
def test_the_wallets_own_lines(kind: str) -> None:
    assert statement_line(9, packed(kind, AT_MS, -300, 700, "royal-1", 2, "r1")) == StatementLine(
        id="9", kind=kind, at_ms=AT_MS, amount=-300, balance=700, table="royal-1", transfer=2, request_id="r1"
    )
    plain = statement_line(9, packed(kind, AT_MS, 300, 700, "", 0, ""))
    assert (plain.table, plain.transfer, plain.request_id) == (None, None, None)


@pytest.mark.parametrize("wrong", [[], ["acted", 1, 2, 3], ["other", 1, 2, 3, "t", 1], {"kind": "acted"}, 7])
def test_what_is_no_line_is_told(wrong: Any) -> None:
    with pytest.raises(BadEntry):
        statement_line(1, msgpack.packb(wrong))
