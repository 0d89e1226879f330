"""The limits of a house: what can't be is named, and a rounded commission is foretold exactly."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.game import bets
from client_sdk.game.bets import EMPTY, BetRefused, Layout
from client_sdk.game.variants import VARIANTS, Spot, variant_named
from client_sdk.protocol.messages import AMOUNT_MAX, TableRules
from server.limits import CHIPS_MAX, impossible, rounds_commission
from server.settings import BadSetting, Settings, Stakes
from tests.support.table_rules import rules_of

RULES = rules_of("royal")
PLAYER, BANKER, TIE = Spot.PLAYER, Spot.BANKER, Spot.TIE


def test_the_limits_of_every_house_can_be_played_by_and_none_rounds() -> None:
    given = Settings(open_play=True)
    for rules in given.tables().values():
        assert impossible(rules) is None
        assert not rounds_commission(rules)
    assert given.notes() == []
    assert impossible(RULES) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"chips": []}, "chips: 0 chips"),
        ({"chips": list(range(10, 11 + CHIPS_MAX))}, "chips: 13 chips"),
        ({"chips": [10, 25, 10]}, "chips: one of them comes twice"),
        ({"chips": [10, 0]}, "chips: 0 is no amount"),
        ({"chips": [10, -25]}, "chips: -25 is no amount"),
        ({"chips": [10, AMOUNT_MAX + 1]}, f"chips: {AMOUNT_MAX + 1} is no amount"),
        ({"minimum": 0}, "minimum: 0 is no amount"),
        ({"minimum": 51}, "minimum: 51 is above the maximum on tie, 50"),
        ({"minimum": 10, "chips": [5, 9]}, "chips: no chip reaches the minimum on player"),
        ({"minimum": 10, "chips": [100]}, "chips: no chip reaches the minimum on tie"),
        ({"table_maximums": {BANKER: 9}}, "table_maximum: 9 on banker"),
        ({"win_max": 0}, "win_max: 0"),
        ({"maximums": {TIE: AMOUNT_MAX // 45 + 1}}, "maximum: "),
        ({"maximums": {BANKER: AMOUNT_MAX // 10 + 1}}, "maximum: "),
    ],
)
def test_what_can_not_be_is_named(changes: dict[str, object], named: str) -> None:
    found = impossible(replace(RULES, **changes))
    assert found is not None
    assert f"{found.key}: {found.problem}".startswith(named)


def test_the_largest_win_at_every_seat_stays_a_whole_number() -> None:
    """A stake, its win, and all seats: below 2^53 is possible, the next stake is not."""
    for spot, times in ((PLAYER, 2), (BANKER, 2), (TIE, 9)):
        most = AMOUNT_MAX // (times * RULES.seats_max)
        assert impossible(replace(RULES, maximums={spot: most})) is None
        assert impossible(replace(RULES, maximums={spot: most + 1})) is not None


@pytest.mark.parametrize(
    ("stakes", "named"),
    [
        (Stakes(table_maximum=99), "--table-maximum"),
        (Stakes(minimum=50_001), "--minimum"),
        (Stakes(chips=(7,)), "--chips"),
        (Stakes(maximum=10**12, table_maximum=0), "--maximum"),
    ],
)
def test_settings_that_can_not_be_are_refused(stakes: Stakes, named: str) -> None:
    with pytest.raises(BadSetting, match=f"^{named}: "):
        Settings(open_play=True, stakes=stakes)


def test_without_a_bound_or_a_cap_tables_have_none() -> None:
    tables = Settings(open_play=True, stakes=Stakes(table_maximum=0, win_max=0)).tables()
    assert {(str(rules.table_maximums), rules.win_max) for rules in tables.values()} == {("{}", None)}
    bounds = Settings(open_play=True, stakes=Stakes(table_maximum=1_000)).tables()["royal-1"].table_maximums
    assert bounds == {PLAYER: 1_000, BANKER: 1_000, TIE: 200}


# --- the commission ---------------------------------------------------------------------------------------------------


def test_a_rounded_commission_is_noted_in_one_line() -> None:
    notes = Settings(open_play=True, stakes=Stakes(chips=(100, 110))).notes()
    assert notes == [
        "banker commission is rounded up to the minor unit at royal-1, four-deck-1, punto-banco-1, stand-off-1, "
        "red-lounge-1"
    ]
    notes = Settings(open_play=True, stakes=Stakes(chips=(100, 125))).notes()  # 4 % of it is whole
    assert notes == [
        "banker commission is rounded up to the minor unit at royal-1, four-deck-1, punto-banco-1, stand-off-1"
    ]
    no_room = Stakes(chips=(50, 10_000), maximum=10_000)  # for a 50 on top
    assert Settings(open_play=True, stakes=no_room).notes() == []


def sums_on_banker(rules: TableRules) -> set[int]:
    """Every sum that acts can lay there, by trying them all. What matters of a layout is its sum."""
    limits = bets.Limits(rules.minimum, rules.maximums, tuple(rules.chips))
    found, new = set[int](), {0}
    while new:
        found |= new
        new = {after for amount in new for after in _sums_after(amount, limits)} - found
    return found - {0}


def _sums_after(amount: int, limits: bets.Limits) -> set[int]:
    """The sums that one more act makes of a sum; taking back only leads to sums that were there before."""
    layout, variant = Layout((((BANKER, amount),),)) if amount else EMPTY, variant_named("royal")
    found = set()
    for chip in (*limits.chips, None):
        with contextlib.suppress(BetRefused):
            after = (
                bets.double(layout, 10**6, limits)
                if chip is None
                else bets.place(layout, 10**6, BANKER, chip, limits, variant)
            )
            found.add(after.total)
    return found


@settings(deadline=None)
@given(
    st.sampled_from(sorted(VARIANTS)),
    st.sampled_from([1, 10, 20, 25, 100]),
    st.integers(1, 300),
    st.lists(st.sampled_from([1, 5, 10, 20, 25, 40, 50, 75, 100, 125]), min_size=1, max_size=4, unique=True),
)
def test_a_rounded_commission_is_foretold_exactly(name: str, minimum: int, maximum: int, chips: list[int]) -> None:
    spots = variant_named(name).spots
    rules = rules_of(name, minimum=minimum, maximums=dict.fromkeys(spots, maximum), chips=chips)
    if impossible(rules) is None:
        is_rounded = any(amount * rules.commission_bp % 10_000 for amount in sums_on_banker(rules))
        assert rounds_commission(rules) is is_rounded
