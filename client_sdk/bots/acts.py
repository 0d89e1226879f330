"""The acts a bot can make, as values, and what the plain model of the rules says to each before it is sent.

`foresee` is the whole model of a seat: what a patron holds + an act -> what it holds then, or the refusal. It must
never learn anything from the table's answer; the ledger compares the two. Read next: `client_sdk.game.bets`, `ledger`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from client_sdk.checks import variant_of
from client_sdk.game import bets
from client_sdk.game.bets import EMPTY, BetRefused, Layout, Limits, Refusal
from client_sdk.game.variants import Spot, Variant
from client_sdk.protocol.messages import TableRules


@dataclass(frozen=True, slots=True)
class Place:
    """Lay one chip on a spot."""

    spot: Spot
    chip: int


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back the newest chip of a spot, or without a spot the last act whole."""

    spot: Spot | None = None


@dataclass(frozen=True, slots=True)
class Clear:
    """Take all bets back."""


@dataclass(frozen=True, slots=True)
class Rebet:
    """Lay the bets of the last round played."""


@dataclass(frozen=True, slots=True)
class Double:
    """Lay again what lies on every spot."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Ask for the cards."""


Act: TypeAlias = Place | Undo | Clear | Rebet | Double | Ready


@dataclass(frozen=True, slots=True)
class House:
    """A table's rules in the form in which the model of the bets takes them."""

    variant: Variant
    limits: Limits

    @property
    def chips_to_open(self) -> tuple[int, ...]:
        """The chips that may lie on a spot alone, smallest first."""
        lowest, highest = self.limits.minimum, max(self.limits.maximums.values())
        return tuple(sorted(chip for chip in self.limits.chips if lowest <= chip <= highest))


@dataclass(frozen=True, slots=True)
class Holding:
    """What a patron holds at a table at one moment; amounts in minor units. `last` is what a rebet would lay."""

    stack: int
    layout: Layout = EMPTY
    last: Mapping[Spot, int] = field(default_factory=dict)
    is_ready: bool = False

    @property
    def total(self) -> int:
        """Stack and bets together."""
        return self.stack + self.layout.total


def house_of(rules: TableRules) -> House:
    """Read the rules that a table told as a variant and its limits."""
    limits = Limits(rules.minimum, rules.maximums, tuple(rules.chips), rules.win_max, rules.table_maximums)
    return House(variant_of(rules), limits)


def foresee(act: Act, holding: Holding, house: House) -> Holding | Refusal:
    """Return what the patron holds after the act, or why the table refuses it while betting is open."""
    if isinstance(act, Ready):
        return replace(holding, is_ready=True)
    try:
        layout = _layout_after(act, holding, house)
    except BetRefused as refused:
        return refused.refusal
    stack = holding.total - layout.total
    return Holding(stack=stack, layout=layout, last=holding.last, is_ready=False)  # a bet act takes `ready` back


def may_be_too_much(act: Act, foreseen: Holding | Refusal, house: House) -> bool:
    """Return whether the table may refuse an act as TABLE_MAXIMUM, which hangs on what all others lay meanwhile.

    It is checked when everything else was found right but the stack.
    """
    adds = isinstance(act, Place | Rebet | Double) and bool(house.limits.table_maximums)
    return adds and (isinstance(foreseen, Holding) or foreseen is Refusal.INSUFFICIENT_STACK)


def _layout_after(act: Place | Undo | Clear | Rebet | Double, holding: Holding, house: House) -> Layout:
    layout, stack = holding.layout, holding.stack
    match act:
        case Place(spot, chip):
            return bets.place(layout, stack, spot, chip, house.limits, house.variant)
        case Undo(spot):
            return bets.undo(layout, house.limits, spot)
        case Clear():
            return bets.clear(layout)
        case Rebet():
            return bets.rebet(layout, stack, holding.last, house.limits, house.variant)
        case Double():
            return bets.double(layout, stack, house.limits)
