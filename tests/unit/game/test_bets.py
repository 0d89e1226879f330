"""Bets at a table: what each act does, every refusal in its order, and what holds after any run of acts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game import bets
from client_sdk.game.bets import EMPTY, BetRefused, Layout, Limits, Refusal, clear, double, place, rebet, undo
from client_sdk.game.variants import VARIANTS, Spot, Variant, variant_named

PLAYER, BANKER, TIE = Spot.PLAYER, Spot.BANKER, Spot.TIE
ROYAL, FOUR_DECK, STAND_OFF = variant_named("royal"), variant_named("four-deck"), variant_named("stand-off")
LIMITS = Limits(minimum=10, maximums={PLAYER: 100, BANKER: 100, TIE: 50}, chips=(5, 10, 25, 100))
RICH = 10_000


def laid(*acts: tuple[tuple[Spot, int], ...]) -> Layout:
    return Layout(tuple(acts))


def refusal_of(act: Callable[..., Layout], *args: Any, **kwargs: Any) -> Refusal:
    with pytest.raises(BetRefused) as refused:
        act(*args, **kwargs)
    assert str(refused.value) == refused.value.refusal.value
    return refused.value.refusal


# --- What the acts do ---


def test_a_layout_adds_up_its_acts() -> None:
    layout = laid(((TIE, 10),), ((PLAYER, 10), (TIE, 5)), ((PLAYER, 25),))
    assert layout.sums == {PLAYER: 35, TIE: 15}
    assert list(layout.sums) == [PLAYER, TIE]
    assert layout.total == 50
    assert EMPTY.sums == {}
    assert EMPTY.total == 0


def test_place_lays_one_chip_on_top() -> None:
    layout = place(EMPTY, RICH, PLAYER, 10, LIMITS, ROYAL)
    layout = place(layout, RICH, TIE, 25, LIMITS, ROYAL)
    layout = place(layout, RICH, PLAYER, 5, LIMITS, ROYAL)
    assert layout == laid(((PLAYER, 10),), ((TIE, 25),), ((PLAYER, 5),))


def test_minimum_maximum_and_the_whole_stack_are_accepted() -> None:
    assert place(EMPTY, 10, PLAYER, 10, LIMITS, ROYAL).total == 10
    assert place(EMPTY, 100, PLAYER, 100, LIMITS, ROYAL).total == 100
    assert place(laid(((TIE, 25),)), 25, TIE, 25, LIMITS, ROYAL).sums == {TIE: 50}


def test_undo_of_a_spot_takes_its_newest_addition_only() -> None:
    layout = laid(((PLAYER, 10),), ((TIE, 10),), ((PLAYER, 25),), ((TIE, 25),))
    assert undo(layout, LIMITS, PLAYER) == laid(((PLAYER, 10),), ((TIE, 10),), ((TIE, 25),))
    assert undo(undo(layout, LIMITS, PLAYER), LIMITS, PLAYER) == laid(((TIE, 10),), ((TIE, 25),))


def test_undo_of_a_spot_leaves_the_rest_of_the_act() -> None:
    doubled = laid(((PLAYER, 10),), ((TIE, 10),), ((PLAYER, 10), (TIE, 10)))
    assert undo(doubled, LIMITS, PLAYER) == laid(((PLAYER, 10),), ((TIE, 10),), ((TIE, 10),))
    assert undo(undo(doubled, LIMITS, PLAYER), LIMITS, TIE) == laid(((PLAYER, 10),), ((TIE, 10),))


def test_undo_without_a_spot_takes_the_last_act_whole() -> None:
    doubled = laid(((PLAYER, 10),), ((TIE, 10),), ((PLAYER, 10), (TIE, 10)))
    assert undo(doubled, LIMITS) == laid(((PLAYER, 10),), ((TIE, 10),))
    assert undo(laid(((PLAYER, 10),)), LIMITS) == EMPTY


def test_undo_leaves_no_sum_below_the_minimum() -> None:
    """Reached where the minimum rose, or additions came in another order: the whole spot comes off."""
    layout = laid(((PLAYER, 5),), ((TIE, 10),), ((PLAYER, 10),))
    assert undo(layout, LIMITS, PLAYER) == laid(((TIE, 10),))
    assert undo(layout, LIMITS) == laid(((TIE, 10),))
    both = laid(((PLAYER, 5), (TIE, 10)), ((PLAYER, 10),))
    assert undo(both, LIMITS) == laid(((TIE, 10),))


def test_clear_is_never_refused() -> None:
    assert clear(laid(((PLAYER, 10), (TIE, 10)), ((PLAYER, 5),))) == EMPTY
    assert clear(EMPTY) == EMPTY


def test_rebet_lays_the_last_bets_as_one_act_in_the_order_of_spots() -> None:
    layout = rebet(EMPTY, 60, {TIE: 10, BANKER: 0, PLAYER: 50}, LIMITS, ROYAL)
    assert layout == laid(((PLAYER, 50), (TIE, 10)))
    assert undo(layout, LIMITS) == EMPTY


def test_double_adds_each_sum_as_one_act() -> None:
    layout = laid(((TIE, 10),), ((PLAYER, 25),), ((PLAYER, 25),))
    doubled = double(layout, 60, LIMITS)
    assert doubled.acts == (*layout.acts, ((PLAYER, 50), (TIE, 10)))
    assert undo(doubled, LIMITS) == layout


# --- Refusals in their order: each case breaks the named rule and every later one that can be broken beside it ---


@pytest.mark.parametrize(
    ("refusal", "layout", "stack", "spot", "chip", "variant"),
    [
        (Refusal.SPOT_FORBIDDEN, laid(((PLAYER, 10),)), 0, TIE, 7, STAND_OFF),
        (Refusal.CHIP_UNKNOWN, laid(((PLAYER, 10),)), 0, BANKER, 7, FOUR_DECK),
        (Refusal.CHIP_UNKNOWN, EMPTY, 0, PLAYER, 0, ROYAL),
        (Refusal.CHIP_UNKNOWN, EMPTY, 0, PLAYER, -10, ROYAL),
        (Refusal.SPOTS_CONFLICT, laid(((PLAYER, 10),)), 0, BANKER, 5, FOUR_DECK),
        (Refusal.SPOTS_CONFLICT, laid(((BANKER, 10),), ((TIE, 10),)), RICH, PLAYER, 100, FOUR_DECK),
        (Refusal.ABOVE_MAXIMUM, laid(((PLAYER, 100),)), 0, PLAYER, 5, ROYAL),
        (Refusal.ABOVE_MAXIMUM, EMPTY, RICH, TIE, 100, ROYAL),
        (Refusal.BELOW_MINIMUM, EMPTY, 0, PLAYER, 5, ROYAL),
        (Refusal.INSUFFICIENT_STACK, EMPTY, 9, PLAYER, 10, ROYAL),
        (Refusal.INSUFFICIENT_STACK, laid(((PLAYER, 10),)), 4, PLAYER, 5, ROYAL),
    ],
)
def test_place_refuses_in_order(
    refusal: Refusal, layout: Layout, stack: int, spot: Spot, chip: int, variant: Variant
) -> None:
    assert refusal_of(place, layout, stack, spot, chip, LIMITS, variant) is refusal


def test_above_the_maximum_comes_before_below_the_minimum() -> None:
    impossible = Limits(minimum=30, maximums={PLAYER: 20, BANKER: 20, TIE: 20}, chips=(25,))
    assert refusal_of(place, EMPTY, 0, PLAYER, 25, impossible, ROYAL) is Refusal.ABOVE_MAXIMUM
    assert refusal_of(rebet, EMPTY, 0, {PLAYER: 25}, impossible, ROYAL) is Refusal.ABOVE_MAXIMUM


def test_undo_refuses_where_there_is_nothing() -> None:
    assert refusal_of(undo, EMPTY, LIMITS) is Refusal.NOTHING_TO_UNDO
    assert refusal_of(undo, EMPTY, LIMITS, PLAYER) is Refusal.NOTHING_TO_UNDO
    assert refusal_of(undo, laid(((PLAYER, 10),)), LIMITS, TIE) is Refusal.NOTHING_TO_UNDO


@pytest.mark.parametrize(
    ("refusal", "layout", "stack", "last", "variant"),
    [
        (Refusal.LAYOUT_NOT_EMPTY, laid(((PLAYER, 10),)), 0, {}, STAND_OFF),
        (Refusal.LAYOUT_NOT_EMPTY, laid(((PLAYER, 10),)), 0, {TIE: 1}, STAND_OFF),
        (Refusal.NOTHING_TO_REBET, EMPTY, 0, {}, STAND_OFF),
        (Refusal.NOTHING_TO_REBET, EMPTY, 0, {TIE: 0, PLAYER: 0}, STAND_OFF),
        (Refusal.SPOT_FORBIDDEN, EMPTY, 0, {PLAYER: 1000, TIE: 1}, STAND_OFF),
        (Refusal.SPOTS_CONFLICT, EMPTY, 0, {PLAYER: 1000, BANKER: 1}, FOUR_DECK),
        (Refusal.ABOVE_MAXIMUM, EMPTY, 0, {PLAYER: 1, BANKER: 101}, ROYAL),
        (Refusal.BELOW_MINIMUM, EMPTY, 0, {PLAYER: 10, TIE: 9}, ROYAL),
        (Refusal.INSUFFICIENT_STACK, EMPTY, 109, {PLAYER: 100, TIE: 10}, ROYAL),
    ],
)
def test_rebet_refuses_in_order(
    refusal: Refusal, layout: Layout, stack: int, last: dict[Spot, int], variant: Variant
) -> None:
    """Each check runs over all spots before the next: a maximum on the second spot before a minimum on the first."""
    assert refusal_of(rebet, layout, stack, last, LIMITS, variant) is refusal


def test_double_refuses_in_order() -> None:
    assert refusal_of(double, EMPTY, 0, LIMITS) is Refusal.NOTHING_TO_DOUBLE
    assert refusal_of(double, laid(((PLAYER, 10), (TIE, 26))), 0, LIMITS) is Refusal.ABOVE_MAXIMUM
    assert refusal_of(double, laid(((PLAYER, 50), (TIE, 25))), 74, LIMITS) is Refusal.INSUFFICIENT_STACK
    assert double(laid(((PLAYER, 50), (TIE, 25))), 75, LIMITS).sums == {PLAYER: 100, TIE: 50}


BOUNDED = replace(LIMITS, table_maximums={PLAYER: 200})


def test_the_bound_of_the_whole_table_comes_after_the_minimum_and_before_the_stack() -> None:
    full = {PLAYER: 196, BANKER: 10**9}
    assert refusal_of(place, EMPTY, 0, PLAYER, 5, BOUNDED, ROYAL, full) is Refusal.BELOW_MINIMUM
    assert refusal_of(place, EMPTY, 0, PLAYER, 10, BOUNDED, ROYAL, full) is Refusal.TABLE_MAXIMUM
    assert refusal_of(place, EMPTY, 0, BANKER, 10, BOUNDED, ROYAL, full) is Refusal.INSUFFICIENT_STACK
    assert refusal_of(rebet, EMPTY, 0, {PLAYER: 9}, BOUNDED, ROYAL, full) is Refusal.BELOW_MINIMUM
    assert refusal_of(rebet, EMPTY, 0, {BANKER: 10, PLAYER: 10}, BOUNDED, ROYAL, full) is Refusal.TABLE_MAXIMUM
    assert refusal_of(double, laid(((PLAYER, 100),)), 0, BOUNDED, full) is Refusal.ABOVE_MAXIMUM
    assert refusal_of(double, laid(((PLAYER, 10),)), 0, BOUNDED, full) is Refusal.TABLE_MAXIMUM
    assert refusal_of(double, laid(((BANKER, 10),)), 0, BOUNDED, full) is Refusal.INSUFFICIENT_STACK


def test_the_bound_of_the_whole_table_itself_is_taken() -> None:
    totals = {PLAYER: 190}
    assert place(EMPTY, 10, PLAYER, 10, BOUNDED, ROYAL, totals).total == 10
    assert rebet(EMPTY, 10, {PLAYER: 10}, BOUNDED, ROYAL, totals).total == 10
    assert double(laid(((PLAYER, 10),)), 10, BOUNDED, totals).total == 20
    assert place(EMPTY, 10, PLAYER, 10, BOUNDED, ROYAL).total == 10  # the totals are not known
    assert place(EMPTY, 10, PLAYER, 10, BOUNDED, ROYAL, {}).total == 10


@pytest.mark.parametrize(("first", "second"), [(PLAYER, BANKER), (BANKER, PLAYER)])
def test_bl_019_the_second_of_a_forbidden_pair_is_refused(first: Spot, second: Spot) -> None:
    """BL-019: in either order, or both at once; the first bet stays. Where the pair is allowed, both stand."""
    layout = place(EMPTY, RICH, first, 10, LIMITS, FOUR_DECK)
    assert refusal_of(place, layout, RICH, second, 10, LIMITS, FOUR_DECK) is Refusal.SPOTS_CONFLICT
    assert layout.sums == {first: 10}
    both = {first: 10, second: 10}
    assert refusal_of(rebet, EMPTY, RICH, both, LIMITS, FOUR_DECK) is Refusal.SPOTS_CONFLICT
    assert place(place(EMPTY, RICH, first, 10, LIMITS, ROYAL), RICH, second, 10, LIMITS, ROYAL).sums == both
    assert rebet(EMPTY, RICH, both, LIMITS, ROYAL).sums == both


def test_refusals_are_named_as_they_are_written() -> None:
    assert all(refusal.value == refusal.name for refusal in Refusal)


# --- What holds whatever patrons do ---


@dataclass(frozen=True)
class Step:
    """One act with its arguments, to be tried on any layout."""

    name: str
    spot: Spot | None = None
    chip: int = 0

    def on(self, layout: Layout, stack: int, last: dict[Spot, int], limits: Limits, variant: Variant) -> Layout:
        match self.name:
            case "place":
                assert self.spot is not None
                return place(layout, stack, self.spot, self.chip, limits, variant)
            case "undo":
                return undo(layout, limits, self.spot)
            case "rebet":
                return rebet(layout, stack, last, limits, variant)
            case "double":
                return double(layout, stack, limits)
            case _:
                return clear(layout)


CHIPS = (1, 5, 10, 25, 100)
STEPS = st.lists(
    st.builds(Step, st.just("place"), st.sampled_from(Spot), st.sampled_from([*CHIPS, 7]))
    | st.builds(Step, st.just("undo"), st.none() | st.sampled_from(Spot))
    | st.builds(Step, st.sampled_from(["rebet", "double", "clear"])),
    max_size=30,
)
LIMITS_DRAWN = st.builds(
    lambda minimum, player, banker, tie: Limits(minimum, {PLAYER: player, BANKER: banker, TIE: tie}, CHIPS),
    st.integers(1, 30),
    *[st.integers(30, 300)] * 3,
)
SUMS = st.dictionaries(st.sampled_from(Spot), st.integers(0, 320))


@settings(deadline=None, max_examples=400)
@given(STEPS, LIMITS_DRAWN, SUMS, st.integers(0, 600), st.sampled_from(sorted(VARIANTS)))
def test_after_every_act_sums_are_within_limits_and_no_chip_is_lost(
    steps: list[Step], limits: Limits, last: dict[Spot, int], stack_at_first: int, name: str
) -> None:
    variant = variant_named(name)
    layout, stack = EMPTY, stack_at_first
    for step in steps:
        before, acts_before = layout, layout.acts
        try:
            layout = step.on(layout, stack, last, limits, variant)
        except BetRefused:
            assert step.name != "clear"
            assert before.acts == acts_before
            continue
        stack -= layout.total - before.total
        assert stack >= 0
        assert stack + layout.total == stack_at_first
        assert layout.total == sum(layout.sums.values())
        assert all(limits.minimum <= amount <= limits.maximums[spot] for spot, amount in layout.sums.items())
        assert all(act and all(amount > 0 for _, amount in act) for act in layout.acts)
        assert set(layout.sums) <= set(variant.spots)
        assert not variant.forbids_together(layout.sums)


@settings(deadline=None)
@given(STEPS, LIMITS_DRAWN, st.sampled_from(sorted(VARIANTS)))
def test_undo_goes_back_step_by_step(steps: list[Step], limits: Limits, name: str) -> None:
    """Undoing without a spot walks back through exactly the layouts that placing and doubling made."""
    layouts = [EMPTY]
    for step in steps:
        if step.name in ("place", "double"):
            try:
                layouts.append(step.on(layouts[-1], RICH, {}, limits, variant_named(name)))
            except BetRefused:
                continue
    layout = layouts[-1]
    for earlier in reversed(layouts[:-1]):
        layout = undo(layout, limits)
        assert layout == earlier
    assert layout == EMPTY


def test_the_model_never_sees_a_card() -> None:
    assert not {"tableau", "cards", "settlement", "Outcome"} & set(vars(bets))
