"""A bot's way into its seat: what it makes of a buy-in whose answer was lost."""

from types import SimpleNamespace
from typing import Any

import pytest

from client_sdk.bots.chair import Chair
from client_sdk.bots.report import Tally
from client_sdk.bots.seat import Seat
from client_sdk.bots.witness import Witness
from client_sdk.exceptions import TimedOut
from tests.unit.bots.story import TABLE, rules_of, seat_of, view_of

RULES = rules_of("punto-banco")
BUY_IN = 500


class LosesAnswers:
    """A client whose first join is decided, but not answered; the table then tells what the seat holds."""

    def __init__(self, table: Any, stack: int) -> None:
        self.wallet = 10_000
        self.asked: list[int] = []
        self._table = table
        self._stack = stack

    async def join(self, _table: str, buy_in: int) -> Any:
        self.asked.append(buy_in)
        if len(self.asked) == 1:
            raise TimedOut("join", 10_000)
        self._table.mirror.you = seat_of(self._stack)
        return self._table


@pytest.mark.parametrize(
    ("stack", "phase", "is_sure"), [(BUY_IN, "betting", True), (0, "betting", True), (0, "dealing", False)]
)
async def test_a_bot_asks_what_lies_where_the_answer_to_its_buy_in_was_lost(
    stack: int, phase: str, is_sure: bool
) -> None:
    """Else it would not know what it may bet, and sit there without a bet for ever."""
    seat = Seat("bot", Witness(TABLE), view_of(RULES, you=seat_of(0)))
    round = seat.ledger.round
    table: Any = SimpleNamespace(
        id=TABLE, mirror=SimpleNamespace(rules=RULES, you=seat_of(0), round=round, phase=phase)
    )
    client, plan, tally = LosesAnswers(table, stack), SimpleNamespace(buy_in=BUY_IN, name="bot"), Tally()
    chair = Chair(client, plan, tally)  # type: ignore[arg-type]
    await chair.buy_more(table, seat)
    assert (seat.ledger.is_sure, tally.unanswered) == (False, 1)
    await chair.ask_what_lies(table, seat)
    assert (client.asked, seat.ledger.is_sure, tally.is_clean) == ([BUY_IN, 0], is_sure, True)
    assert seat.ledger.holding.stack == (stack if is_sure else 0)
