"""A seat's ledger: right money passes, and each wrong unit is found."""

from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk.bots.acts import Act, Clear, Double, Place, Ready, Rebet, Undo, house_of
from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.ledger import Foreseen, Ledger
from client_sdk.game.settlement import Result
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BetLine, Receipt, Results
from tests.unit.bots.story import TABLE, results_of, rules_of, seat_of

RULES = rules_of("royal")
STACK = 10_000
PLAYER, BANKER, TIE = Spot.PLAYER, Spot.BANKER, Spot.TIE


@pytest.fixture
def ledger() -> Ledger:
    opened = Ledger(TABLE, "bot", house_of(RULES), seat_of(STACK), 0)
    assert opened.open_round(1) == []
    return opened


def receipt(stack: int, bets: dict[Spot, int], *, round: int = 1, ready: bool = False) -> Receipt:
    return Receipt(request_id="r", table=TABLE, round=round, accepted_at_ms=1, stack=stack, bets=bets, ready=ready)


def laid(ledger: Ledger, bets: dict[Spot, int]) -> None:
    """Lay these bets, accepted as the rules say."""
    total: dict[Spot, int] = {}
    for spot, chip in bets.items():
        total[spot] = chip
        stack = ledger.holding.stack - chip
        assert ledger.accepted(ledger.begin(Place(spot, chip)), receipt(stack, dict(total), round=ledger.round)) == []


def kinds(found: list[Mismatch]) -> list[Kind]:
    return [mismatch.kind for mismatch in found]


# --- acts ---


def test_a_round_that_adds_up(ledger: Ledger) -> None:
    laid(ledger, {PLAYER: 500, BANKER: 200})
    assert ledger.accepted(ledger.begin(Double()), receipt(8_600, {PLAYER: 1_000, BANKER: 400})) == []
    assert ledger.accepted(ledger.begin(Undo(BANKER)), receipt(8_800, {PLAYER: 1_000, BANKER: 200})) == []
    assert ledger.refused(ledger.begin(Rebet()), "LAYOUT_NOT_EMPTY") == []
    assert ledger.accepted(ledger.begin(Ready()), receipt(8_800, {PLAYER: 1_000, BANKER: 200}, ready=True)) == []
    bets = {PLAYER: 1_000, BANKER: 200}
    assert ledger.settled(results_of(RULES, 1, Outcome.BANKER, bets, 8_800)) == []
    assert ledger.open_round(2) == []
    assert ledger.holding.stack == 8_800 + 390
    assert ledger.accepted(ledger.begin(Rebet()), receipt(9_190 - 1_200, bets, round=2)) == []
    assert ledger.accepted(ledger.begin(Clear()), receipt(9_190, {PLAYER: 0}, round=2)) == []
    assert (ledger.rounds_settled, ledger.bets_settled, ledger.acks_lost) == (1, 2, 0)


def test_a_seat_that_counts_as_away_is_not_ready_and_changes_nothing(ledger: Ledger) -> None:
    """The protocol says so: its node was held up, and its last words must not speak for a seat that is there."""
    laid(ledger, {PLAYER: 500})
    assert ledger.accepted(ledger.begin(Ready()), receipt(STACK - 500, {PLAYER: 500})) == []
    assert kinds(ledger.accepted(ledger.begin(Ready()), receipt(STACK - 400, {PLAYER: 500}))) == [Kind.RECEIPT]


@pytest.mark.parametrize(
    "wrong",
    [
        receipt(STACK - 499, {PLAYER: 500}),
        receipt(STACK - 501, {PLAYER: 500}),
        receipt(STACK - 500, {BANKER: 500}),
        receipt(STACK - 500, {}),
        receipt(STACK - 500, {PLAYER: 500}, ready=True),
    ],
)
def test_a_wrong_receipt_is_found_and_then_believed(ledger: Ledger, wrong: Receipt) -> None:
    assert kinds(ledger.accepted(ledger.begin(Place(PLAYER, 500)), wrong)) == [Kind.RECEIPT]
    assert ledger.holding.stack == wrong.stack
    assert ledger.is_sure


def test_an_act_taken_against_the_rules_is_found(ledger: Ledger) -> None:
    foreseen = ledger.begin(Place(PLAYER, 123))
    assert kinds(ledger.accepted(foreseen, receipt(STACK - 123, {PLAYER: 123}))) == [Kind.ACCEPTED]


@pytest.mark.parametrize(
    ("act", "code", "found"),
    [
        (Place(PLAYER, 500), "ABOVE_MAXIMUM", [Kind.REFUSED]),
        (Place(PLAYER, 123), "SPOT_FORBIDDEN", [Kind.REFUSED]),
        (Place(PLAYER, 123), "CHIP_UNKNOWN", []),
        (Place(PLAYER, 100), "BELOW_MINIMUM", []),
        (Undo(), "NOTHING_TO_UNDO", []),
        (Ready(), "NOT_SEATED", [Kind.REFUSED]),
        (Place(PLAYER, 500), "BETTING_CLOSED", []),
        (Place(PLAYER, 500), "ROUND_OVER", []),
    ],
)
def test_a_refusal_is_compared_with_the_model(ledger: Ledger, act: Act, code: str, found: list[Kind]) -> None:
    assert kinds(ledger.refused(ledger.begin(act), code)) == found
    assert ledger.holding.stack == STACK
    assert ledger.is_sure


@pytest.mark.parametrize(
    ("act", "bounds", "found"),
    [
        (Place(PLAYER, 500), {}, [Kind.REFUSED]),
        (Place(PLAYER, 500), {PLAYER: 100_000}, []),
        (Place(PLAYER, 10_000), {PLAYER: 100_000}, []),  # the stack would not do either, but that is checked last
        (Place(PLAYER, 123), {PLAYER: 100_000}, [Kind.REFUSED]),
        (Clear(), {PLAYER: 100_000}, [Kind.REFUSED]),
    ],
)
def test_a_full_table_may_refuse_what_the_model_takes(act: Act, bounds: dict[Spot, int], found: list[Kind]) -> None:
    ledger = Ledger(TABLE, "bot", house_of(replace(RULES, table_maximums=bounds)), seat_of(STACK - 1), 0)
    ledger.open_round(1)
    assert kinds(ledger.refused(ledger.begin(act), "TABLE_MAXIMUM")) == found
    assert (ledger.holding.stack, ledger.is_sure) == (STACK - 1, True)


# --- settlement ---


@pytest.mark.parametrize("by", [-1, 1])
def test_a_stack_off_by_one_is_found(ledger: Ledger, by: int) -> None:
    laid(ledger, {BANKER: 500})
    right = results_of(RULES, 1, Outcome.BANKER, {BANKER: 500}, STACK - 500)
    assert kinds(ledger.settled(replace(right, stack=right.stack + by))) == [Kind.STACK]


@pytest.mark.parametrize("field", ["payout", "commission", "capped"])
def test_a_wrong_line_is_found(ledger: Ledger, field: str) -> None:
    laid(ledger, {BANKER: 500})
    right = results_of(RULES, 1, Outcome.BANKER, {BANKER: 500}, STACK - 500)
    line = right.bets[BANKER]
    wrong = replace(line, **{field: getattr(line, field) + 1})
    stack = right.stack + (field == "payout")
    assert kinds(ledger.settled(replace(right, bets={BANKER: wrong}, stack=stack))) == [Kind.PAYOUT]


def test_the_cap_on_a_win_is_checked(ledger: Ledger) -> None:
    laid(ledger, {TIE: 2_500})
    right = results_of(replace(RULES, win_max=5_000), 1, Outcome.TIE, {TIE: 2_500}, STACK - 2_500)
    assert right.bets[TIE].capped == 15_000
    assert kinds(ledger.settled(right)) == [Kind.PAYOUT]  # this table caps at 20,000


@pytest.mark.parametrize("by", [0, 1])
def test_a_void_round_gives_every_stake_back(ledger: Ledger, by: int) -> None:
    laid(ledger, {BANKER: 500, TIE: 200})
    lines = {
        spot: BetLine(stake=stake, payout=stake + by, commission=0, result=Result.PUSH)
        for spot, stake in {BANKER: 500, TIE: 200}.items()
    }
    void = Results(table=TABLE, round=1, outcome=None, bets=lines, stack=STACK + 2 * by)
    assert kinds(ledger.settled(void)) == [Kind.PAYOUT] * by


def test_a_second_settlement_is_found(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500})
    right = results_of(RULES, 1, Outcome.PLAYER, {BANKER: 500}, STACK - 500)
    assert ledger.settled(right) == []
    assert kinds(ledger.settled(right)) == [Kind.SETTLED_TWICE]
    assert ledger.holding.stack == STACK - 500


def test_a_settlement_that_never_comes_loses_the_acks(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500, TIE: 200})
    assert kinds(ledger.open_round(2)) == [Kind.UNSETTLED]
    assert ledger.acks_lost == 2


def test_a_settlement_of_other_stakes_loses_the_acks(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500, TIE: 200})
    forgot = results_of(RULES, 1, Outcome.PLAYER, {BANKER: 500}, STACK - 500)
    assert Kind.UNSETTLED in kinds(ledger.settled(forgot))
    assert ledger.acks_lost == 2


def test_results_of_another_round_are_found(ledger: Ledger) -> None:
    assert kinds(ledger.settled(results_of(RULES, 7, Outcome.TIE, {TIE: 200}, 0))) == [Kind.UNSETTLED]


def test_bets_that_the_house_does_not_have_are_found() -> None:
    rules = rules_of("stand-off")
    ledger = Ledger(TABLE, "bot", house_of(rules), seat_of(STACK), 1)
    assert Kind.PAYOUT in kinds(ledger.settled(results_of(RULES, 1, Outcome.TIE, {TIE: 200}, STACK)))


# --- an act without an answer ---


@pytest.fixture
def unsure(ledger: Ledger) -> tuple[Ledger, Foreseen]:
    laid(ledger, {PLAYER: 200})
    foreseen = ledger.begin(Place(BANKER, 500))
    assert not ledger.is_sure
    return ledger, foreseen


@pytest.mark.parametrize("bets", [{PLAYER: 200}, {PLAYER: 200, BANKER: 500}])
def test_either_holding_may_be_settled(unsure: tuple[Ledger, Foreseen], bets: dict[Spot, int]) -> None:
    ledger, _ = unsure
    assert ledger.settled(results_of(RULES, 1, Outcome.BANKER, bets, STACK - sum(bets.values()))) == []
    assert ledger.is_sure


def test_no_third_holding_may_be_settled(unsure: tuple[Ledger, Foreseen]) -> None:
    ledger, _ = unsure
    assert Kind.UNSETTLED in kinds(ledger.settled(results_of(RULES, 1, Outcome.BANKER, {BANKER: 500}, STACK - 500)))


@pytest.mark.parametrize("bets", [{PLAYER: 200}, {PLAYER: 200, BANKER: 500}])
def test_either_holding_may_be_told(unsure: tuple[Ledger, Foreseen], bets: dict[Spot, int]) -> None:
    ledger, _ = unsure
    assert ledger.told(seat_of(STACK - sum(bets.values()), bets=bets), 1) == []
    assert ledger.is_sure


def test_a_wrong_stack_told_is_found(unsure: tuple[Ledger, Foreseen]) -> None:
    ledger, _ = unsure
    assert kinds(ledger.told(seat_of(STACK, bets={PLAYER: 200}), 1)) == [Kind.STACK]


def test_an_answer_after_the_settlement_changes_nothing(unsure: tuple[Ledger, Foreseen]) -> None:
    ledger, foreseen = unsure
    bets = {PLAYER: 200, BANKER: 500}
    assert ledger.settled(results_of(RULES, 1, Outcome.TIE, bets, STACK - 700)) == []
    assert ledger.accepted(foreseen, receipt(STACK - 700, bets)) == []
    assert ledger.holding.stack == STACK


def test_bets_may_be_missing_where_none_was_certain(ledger: Ledger) -> None:
    ledger.begin(Place(PLAYER, 200))
    assert ledger.open_round(2) == []
    assert ledger.holding.stack == STACK


# --- what the table says of the seat ---


def test_a_settlement_that_was_missed_is_taken_from_the_seat(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500})
    results = results_of(RULES, 1, Outcome.BANKER, {BANKER: 500}, STACK - 500)
    you: Any = seat_of(results.stack, last_round=1, last_results=results.bets, last_bets={BANKER: 500})
    assert ledger.told(you, 3) == []
    assert (ledger.round, ledger.rounds_settled, ledger.holding.stack) == (3, 1, results.stack)


def test_a_missed_settlement_is_checked_too(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500})
    results = results_of(RULES, 1, Outcome.BANKER, {BANKER: 500}, STACK - 500)
    wrong = {BANKER: replace(results.bets[BANKER], payout=results.bets[BANKER].payout + 1)}
    you: Any = seat_of(results.stack + 1, last_round=1, last_results=wrong)
    assert kinds(ledger.told(you, 1)) == [Kind.PAYOUT]


def test_a_buy_in_is_expected_from_the_moment_it_is_asked_for(ledger: Ledger) -> None:
    ledger.begin_buy_in(500)
    assert not ledger.is_sure
    assert ledger.told(seat_of(STACK + 500), 1) == []
    ledger.end_buy_in(STACK + 500)
    assert (ledger.is_sure, ledger.holding.stack) == (True, STACK + 500)


def test_it_believes_a_seat_after_the_store_forgot(ledger: Ledger) -> None:
    laid(ledger, {BANKER: 500})
    results = results_of(RULES, 9, Outcome.BANKER, {BANKER: 500}, 77)
    you: Any = seat_of(results.stack, last_round=9, last_results=results.bets)
    ledger.rebase(you, 9)
    assert ledger.told(you, 9) == []  # its stack has the settlement already
    ledger.rebase(seat_of(77), 9)
    assert (ledger.holding.stack, ledger.round, ledger.acks_lost) == (77, 9, 0)
    assert "bot at table-1 round=9" in repr(ledger)


def test_what_was_foretold_before_the_store_forgot_is_not_held_against_it(ledger: Ledger) -> None:
    foreseen = ledger.begin(Place(BANKER, 50_000))
    ledger.rebase(seat_of(77), 1)
    assert ledger.refused(foreseen, "SPOT_FORBIDDEN") == []
    assert ledger.holding.stack == 77
    assert ledger.accepted(foreseen, receipt(27, {BANKER: 50})) == []
    assert ledger.holding.stack == 27
