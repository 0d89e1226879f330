"""One patron's bets at a table: what each act makes of the layout, and what is refused in which order.

A client asks this model what the table will refuse before it sends an act; the table itself decides by the same rules.
It must never know a card, an outcome or a payout. Refusals are checked in the order in which `Refusal` and each
function list them, and a refused act changes nothing. Read next: `settlement`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from client_sdk.game.variants import Spot, Variant

Addition: TypeAlias = tuple[Spot, int]
"""An amount put on a spot, in minor units."""

Act: TypeAlias = tuple[Addition, ...]
"""What one act of the patron put down: a chip, a repeated layout or a doubling."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A table's limits, amounts in minor units.

    After every act each spot's sum is 0 or within `minimum` and that spot's maximum; `maximums` names every spot that
    the variant takes. `chips` are the amounts a single `place` may add. `win_max` caps the win of one bet when it is
    settled and refuses nothing here; None is no cap. `table_maximums` bounds what may lie on a spot over all seats
    together; a spot that it does not name has no such bound.
    """

    minimum: int
    maximums: Mapping[Spot, int]
    chips: tuple[int, ...]
    win_max: int | None = None
    table_maximums: Mapping[Spot, int] = field(default_factory=dict)


class Refusal(StrEnum):
    """Why an act was refused."""

    SPOT_FORBIDDEN = "SPOT_FORBIDDEN"
    CHIP_UNKNOWN = "CHIP_UNKNOWN"
    SPOTS_CONFLICT = "SPOTS_CONFLICT"
    ABOVE_MAXIMUM = "ABOVE_MAXIMUM"
    BELOW_MINIMUM = "BELOW_MINIMUM"
    INSUFFICIENT_STACK = "INSUFFICIENT_STACK"
    TABLE_MAXIMUM = "TABLE_MAXIMUM"
    NOTHING_TO_UNDO = "NOTHING_TO_UNDO"
    NOTHING_TO_DOUBLE = "NOTHING_TO_DOUBLE"
    NOTHING_TO_REBET = "NOTHING_TO_REBET"
    LAYOUT_NOT_EMPTY = "LAYOUT_NOT_EMPTY"


class BetRefused(Exception):
    """The act is not taken; layout and stack stay as they were."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal

    def __str__(self) -> str:
        return self.refusal.value


@dataclass(frozen=True, slots=True)
class Layout:
    """The bets of one patron in one round, as the acts that laid them, oldest first.

    An act changes the stack by the difference of the totals before and after it.
    """

    acts: tuple[Act, ...] = ()

    @property
    def sums(self) -> dict[Spot, int]:
        """The sum on each spot that carries a bet, in the order of Spot."""
        sums = dict.fromkeys(Spot, 0)
        for act in self.acts:
            for spot, amount in act:
                sums[spot] += amount
        return {spot: amount for spot, amount in sums.items() if amount}

    @property
    def total(self) -> int:
        """All that lies on the layout."""
        return sum(amount for act in self.acts for _, amount in act)

    def plus(self, act: Act) -> "Layout":
        """Return the layout with one more act on top."""
        return Layout((*self.acts, act))


EMPTY: Final = Layout()

Totals: TypeAlias = Mapping[Spot, int]
"""What lies on each spot over the whole table, this patron's own bets included; None where it is not known, and then
nothing is refused for it. Others bet at the same time, so a client's answer is a guess that only the table confirms."""


def place(
    layout: Layout,
    stack: int,
    spot: Spot,
    chip: int,
    limits: Limits,
    variant: Variant,
    totals: Totals | None = None,
) -> Layout:
    """Put one chip on a spot.

    Raises BetRefused, checked in this order: SPOT_FORBIDDEN, CHIP_UNKNOWN, SPOTS_CONFLICT, ABOVE_MAXIMUM,
    BELOW_MINIMUM (on the sum of the spot, this chip included), TABLE_MAXIMUM, INSUFFICIENT_STACK.
    """
    _refuse_if(spot not in variant.spots, Refusal.SPOT_FORBIDDEN)
    _refuse_if(chip not in limits.chips, Refusal.CHIP_UNKNOWN)
    sums = layout.sums
    _refuse_if(variant.forbids_together({*sums, spot}), Refusal.SPOTS_CONFLICT)
    amount = sums.get(spot, 0) + chip
    _refuse_if(amount > limits.maximums[spot], Refusal.ABOVE_MAXIMUM)
    _refuse_if(amount < limits.minimum, Refusal.BELOW_MINIMUM)
    _refuse_if(_is_too_much(((spot, chip),), limits, totals), Refusal.TABLE_MAXIMUM)
    _refuse_if(chip > stack, Refusal.INSUFFICIENT_STACK)
    return layout.plus(((spot, chip),))


def undo(layout: Layout, limits: Limits, spot: Spot | None = None) -> Layout:
    """Take back the newest addition on `spot`, or without a spot the whole last act.

    Wherever a sum would then lie below the minimum but above zero, everything on that spot comes off; acts left empty
    vanish. Raises BetRefused with NOTHING_TO_UNDO when there is nothing, or nothing on that spot.
    """
    _refuse_if(not layout.acts if spot is None else spot not in layout.sums, Refusal.NOTHING_TO_UNDO)
    left = Layout(layout.acts[:-1]) if spot is None else _without_newest(layout, spot)
    too_small = {spot for spot, amount in left.sums.items() if amount < limits.minimum}
    return _without_spots(left, too_small)


def clear(layout: Layout) -> Layout:
    """Take back everything. Never refused, an empty layout stays empty."""
    return _without_spots(layout, Spot)


def rebet(
    layout: Layout,
    stack: int,
    last: Mapping[Spot, int],
    limits: Limits,
    variant: Variant,
    totals: Totals | None = None,
) -> Layout:
    """Lay the sums of `last` again on an empty layout, as one act in the order of Spot: all of them or none.

    Raises BetRefused: LAYOUT_NOT_EMPTY, NOTHING_TO_REBET, then each of these for all spots before the next one:
    SPOT_FORBIDDEN, SPOTS_CONFLICT, ABOVE_MAXIMUM, BELOW_MINIMUM, TABLE_MAXIMUM, and at the end INSUFFICIENT_STACK.
    """
    act = tuple((spot, last[spot]) for spot in Spot if last.get(spot))
    _refuse_if(bool(layout.acts), Refusal.LAYOUT_NOT_EMPTY)
    _refuse_if(not act, Refusal.NOTHING_TO_REBET)
    _refuse_if(any(spot not in variant.spots for spot, _ in act), Refusal.SPOT_FORBIDDEN)
    _refuse_if(variant.forbids_together({spot for spot, _ in act}), Refusal.SPOTS_CONFLICT)
    _refuse_if(any(amount > limits.maximums[spot] for spot, amount in act), Refusal.ABOVE_MAXIMUM)
    _refuse_if(any(amount < limits.minimum for _, amount in act), Refusal.BELOW_MINIMUM)
    _refuse_if(_is_too_much(act, limits, totals), Refusal.TABLE_MAXIMUM)
    _refuse_if(sum(amount for _, amount in act) > stack, Refusal.INSUFFICIENT_STACK)
    return layout.plus(act)


def double(layout: Layout, stack: int, limits: Limits, totals: Totals | None = None) -> Layout:
    """Add to each spot the sum that lies on it, as one act in the order of Spot: all of them or none.

    Raises BetRefused: NOTHING_TO_DOUBLE, ABOVE_MAXIMUM (on any spot), TABLE_MAXIMUM (on any spot), INSUFFICIENT_STACK.
    """
    act = tuple(layout.sums.items())
    _refuse_if(not act, Refusal.NOTHING_TO_DOUBLE)
    _refuse_if(any(2 * amount > limits.maximums[spot] for spot, amount in act), Refusal.ABOVE_MAXIMUM)
    _refuse_if(_is_too_much(act, limits, totals), Refusal.TABLE_MAXIMUM)
    _refuse_if(layout.total > stack, Refusal.INSUFFICIENT_STACK)
    return layout.plus(act)


def _is_too_much(act: Act, limits: Limits, totals: Totals | None) -> bool:
    """Return whether the table would then hold more on a spot of this act than it takes."""
    if totals is None:
        return False
    bounds = limits.table_maximums
    return any(spot in bounds and totals.get(spot, 0) + amount > bounds[spot] for spot, amount in act)


def _refuse_if(refused: bool, refusal: Refusal) -> None:
    if refused:
        raise BetRefused(refusal)


def _without_newest(layout: Layout, spot: Spot) -> Layout:
    """Return the layout without the newest addition on `spot`, which carries one."""
    acts = list(layout.acts)
    place_of = max(number for number, act in enumerate(acts) if any(on == spot for on, _ in act))
    acts[place_of] = _without_last(acts[place_of], spot)
    return Layout(tuple(act for act in acts if act))


def _without_last(act: Act, spot: Spot) -> Act:
    """Return the act without its last addition on `spot`."""
    last = max(number for number, (on, _) in enumerate(act) if on == spot)
    return act[:last] + act[last + 1 :]


def _without_spots(layout: Layout, spots: Iterable[Spot]) -> Layout:
    """Return the layout with everything on these spots taken off; acts left empty vanish."""
    gone = set(spots)
    acts = (tuple((spot, amount) for spot, amount in act if spot not in gone) for act in layout.acts)
    return Layout(tuple(act for act in acts if act))
