"""Do a table's limits make sense together? Checked once, before a house opens.

Pure. `impossible` names what no patron could ever play by, or what would leave the whole numbers that every part of
the service holds exactly. `rounds_commission` tells whether some sum that may lie on BANKER brings a commission with a
fraction of the minor unit, which is then rounded up (`client_sdk.game.settlement`).
"""

from typing import Final, NamedTuple

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import AMOUNT_MAX, TableRules

CHIPS_MAX: Final = 12
"""So many chips fit beside a layout, and every `place` looks through them."""
_BASIS_POINTS: Final = 10_000


class Impossible(NamedTuple):
    """What is wrong, and with which option."""

    key: str
    problem: str


def impossible(rules: TableRules) -> Impossible | None:
    """Say what is wrong with these limits, None where nothing is."""
    return _bad_chips(rules) or next(filter(None, (_bad_spot(rules, spot) for spot in rules.maximums)), None)


def _bad_chips(rules: TableRules) -> Impossible | None:
    if not 1 <= len(rules.chips) <= CHIPS_MAX:
        return Impossible("chips", f"{len(rules.chips)} chips, not 1 to {CHIPS_MAX}")
    if len(set(rules.chips)) != len(rules.chips):
        return Impossible("chips", "one of them comes twice")
    if wrong := [chip for chip in rules.chips if not 0 < chip <= AMOUNT_MAX]:
        return Impossible("chips", f"{wrong[0]} is no amount (1 to {AMOUNT_MAX})")
    if rules.minimum < 1:
        return Impossible("minimum", f"{rules.minimum} is no amount (1 to {AMOUNT_MAX})")
    if rules.win_max is not None and rules.win_max < 1:
        return Impossible("win_max", f"{rules.win_max} is no amount")
    return None


def _bad_spot(rules: TableRules, spot: Spot) -> Impossible | None:
    maximum, bound = rules.maximums[spot], rules.table_maximums.get(spot)
    if rules.minimum > maximum:
        return Impossible("minimum", f"{rules.minimum} is above the maximum on {spot}, {maximum}")
    if not openers(rules, spot):
        return Impossible("chips", f"no chip reaches the minimum on {spot} alone ({rules.minimum} to {maximum})")
    if bound is not None and bound < min(openers(rules, spot)):
        return Impossible("table_maximum", f"{bound} on {spot} over the whole table leaves no room for a first chip")
    if (most := maximum * (1 + _pays(rules, spot)) * rules.seats_max) > AMOUNT_MAX:
        problem = f"{maximum} on {spot} can bring {most} to {rules.seats_max} seats, more than 2^53 - 1"
        return Impossible("maximum", problem)
    return None


def openers(rules: TableRules, spot: Spot) -> list[int]:
    """List the chips that may lie on a spot alone: every sum there begins with one of them."""
    return [chip for chip in rules.chips if rules.minimum <= chip <= rules.maximums[spot]]


def rounds_commission(rules: TableRules) -> bool:
    """Say whether a sum of these chips within the limits of BANKER can bring a commission that has to be rounded."""
    if Spot.BANKER not in rules.maximums:
        return False
    first = openers(rules, Spot.BANKER)
    room = rules.maximums[Spot.BANKER] - min(first)
    layable = [*first, *(chip for chip in rules.chips if chip <= room)]
    return any(chip * rules.commission_bp % _BASIS_POINTS for chip in layable)


def _pays(rules: TableRules, spot: Spot) -> int:
    return (rules.tie_pays or 0) if spot is Spot.TIE else 1
