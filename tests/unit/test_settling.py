"""What a round pays, as the house settles it, against a second calculation that knows nothing of ours: every variant,
outcome, spot and pair of spots, with amounts at which a commission has to be rounded or a win is cut."""

from collections.abc import Iterator
from itertools import combinations

import msgpack
import pytest

from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import TableRules
from server.settings import Settings, Stakes
from server.settling import settle_line
from server.table.phases import Phase
from server.table.state import TableState
from tests.support import plain_rules

TABLES = Settings(open_play=True).tables()
ODD = (1, 2, 3, 7, 9, 10, 11, 19, 20, 21, 24, 25, 26, 33, 99, 101, 333, 999, 1_001, 9_374, 9_375, 9_376, 9_999, 12_345)
LARGE = (49_999, 75_000, 75_001, 78_947, 78_948, 99_999_999, 2**40 + 1, 2**45 - 1)
"""Around the cap of 750.00: a tie of 93.75 wins it to the unit, BANKER at 789.47 less commission just below it."""


def settled(rules: TableRules, bets: dict[Spot, int], outcome: Outcome | None) -> tuple[int, int, dict[str, object]]:
    """Stake, payout and the record of one patron's bets."""
    state = TableState(phase=Phase.SETTLING, round=7, outcome=outcome, is_void=outcome is None, is_settled=False)
    line = settle_line("p", bets, state, rules)
    return line.stake, line.payout, msgpack.unpackb(line.record)


def layouts(table: str) -> Iterator[tuple[Spot, ...]]:
    """Every set of spots that a house takes bets on together."""
    house = plain_rules.HOUSES[table]
    for count in range(1, len(house.spots) + 1):
        for spots in combinations(house.spots, count):
            if house.player_with_banker or not {"player", "banker"} <= set(spots):
                yield tuple(Spot(spot) for spot in spots)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("outcome", Outcome)
def test_every_payment_is_that_of_a_plain_second_calculation(table: str, outcome: Outcome) -> None:
    seen = 0
    for spots in layouts(table):
        for number, amount in enumerate((*ODD, *LARGE, *range(1, 400))):
            bets = {spot: amount + 13 * place * (number % 5) for place, spot in enumerate(spots)}
            plain = plain_rules.results(table, {spot.value: stake for spot, stake in bets.items()}, outcome.value)
            stake, payout, record = settled(TABLES[table], bets, outcome)
            assert record == {"round": 7, "outcome": outcome.value, "bets": bets, "results": plain}
            assert (stake, payout) == (sum(bets.values()), sum(line["payout"] for line in plain.values()))
            seen += 1
    assert seen > 1_000


def test_the_rounding_and_the_cut_show_in_the_result() -> None:
    """BL-014, BL-018: a commission of a fraction is a whole unit, and what the cap took is told beside the payout."""
    for table, commissions in (
        ("punto-banco-1", {1: 1, 20: 1, 21: 2, 99: 5, 101: 6}),
        ("red-lounge-1", {25: 1, 26: 2}),
    ):
        for stake, commission in commissions.items():
            line = settled(TABLES[table], {Spot.BANKER: stake}, Outcome.BANKER)[2]["results"]["banker"]  # type: ignore[index]
            assert (line["commission"], line["payout"], line["capped"]) == (commission, 2 * stake - commission, 0)
    for stake, capped in ((9_375, 0), (9_376, 8), (10_000, 5_000)):
        line = settled(TABLES["royal-1"], {Spot.TIE: stake}, Outcome.TIE)[2]["results"]["tie"]  # type: ignore[index]
        assert (line["payout"], line["capped"]) == (stake + min(8 * stake, 75_000), capped)
    for stake, capped in ((78_947, 0), (78_948, 0), (78_949, 1)):  # 5 % is rounded up before the cap is held against it
        line = settled(TABLES["royal-1"], {Spot.BANKER: stake}, Outcome.BANKER)[2]["results"]["banker"]  # type: ignore[index]
        assert (line["payout"] - stake, line["capped"]) == (stake - line["commission"] - capped, capped)


@pytest.mark.parametrize("table", TABLES)
def test_a_void_round_gives_back_what_lay(table: str) -> None:
    for spots in layouts(table):
        for amount in (*ODD, *LARGE):
            bets = {spot: amount + place for place, spot in enumerate(spots)}
            stake, payout, record = settled(TABLES[table], bets, None)
            assert stake == payout == sum(bets.values())
            assert record["results"] == {
                spot: {"stake": amount, "payout": amount, "commission": 0, "result": "push", "capped": 0}
                for spot, amount in bets.items()
            }


def test_a_cap_of_the_operators_own_is_kept_to_the_unit() -> None:
    tables = Settings(open_play=True, stakes=Stakes(win_max=1_234)).tables()
    for spot, outcome in ((Spot.PLAYER, Outcome.PLAYER), (Spot.BANKER, Outcome.BANKER), (Spot.TIE, Outcome.TIE)):
        for stake in (1, 100, 154, 155, 1_233, 1_234, 1_235, 1_299, 1_300, 9_999):
            _, payout, _ = settled(tables["royal-1"], {spot: stake}, outcome)
            uncapped = plain_rules.line("punto-banco-1", spot.value, stake, outcome.value)["payout"]
            assert payout == min(uncapped, stake + 1_234)
            assert settled(tables["punto-banco-1"], {spot: stake}, outcome)[1] == uncapped
