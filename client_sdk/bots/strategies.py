"""Ways to bet: the rules of a table, what the bot holds and a source of chance go in, a list of acts comes out.

Pure: the same seed gives the same acts. A strategy must never wait, and knows nothing of what the table answers.
`flat` and `mixed` return only acts that the rules take, `busy` also acts that they refuse. Read next: `acts`.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Final, TypeAlias

from client_sdk.bots.acts import Act, Clear, Double, Holding, House, Place, Ready, Rebet, Undo, foresee
from client_sdk.game.bets import Refusal
from client_sdk.game.variants import Spot

Strategy: TypeAlias = Callable[[House, Holding, int, Random], list[Act]]
"""`(house, holding, round, rng)` -> the acts of that round, in order."""

MIXED_CHIPS_MAX: Final = 4
BUSY_ACTS_MAX: Final = 10
"""Well below what one seat may do in a round."""


def flat(house: House, holding: Holding, round: int, rng: Random) -> list[Act]:
    """Lay the smallest sum that the table takes, on any spot."""
    acts: list[Act] = []
    for spot in _spots(house, rng):
        for chip in house.chips_to_open[:1]:
            if not acts:
                _add_if_taken(acts, Place(spot, chip), holding, house)
    return acts


def mixed(house: House, holding: Holding, round: int, rng: Random) -> list[Act]:
    """Lay some chips on some spots, now and then the last bets again, now and then twice as much."""
    acts: list[Act] = []
    if rng.random() < 0.25:
        holding = _add_if_taken(acts, Rebet(), holding, house)
    for _ in range(rng.randint(1, MIXED_CHIPS_MAX)):
        holding = _add_if_taken(acts, _any_legal_place(house, holding, rng), holding, house)
    if rng.random() < 0.15:
        _add_if_taken(acts, Double(), holding, house)
    return acts


def busy(house: House, holding: Holding, round: int, rng: Random) -> list[Act]:
    """Place, undo, clear, double, rebet and get ready in any order, right or wrong; end with a bet where one can be.

    What must be refused is not marked here: `foresee` says it of every act.
    """
    acts: list[Act] = []
    for _ in range(rng.randint(2, BUSY_ACTS_MAX)):
        act = _anything(house, holding, rng)
        acts.append(act)
        after = foresee(act, holding, house)
        holding = holding if isinstance(after, Refusal) else after
    if not holding.layout.acts:
        _add_if_taken(acts, _any_legal_place(house, holding, rng), holding, house)
    return acts


def modest(house: House, holding: Holding, round: int, rng: Random) -> list[Place]:
    """Lay one to three of the two smallest chips on one spot, mostly on a side: what a careful patron does."""
    places: list[Act] = []
    weights = [0.1 if spot is Spot.TIE else 1.0 for spot in house.variant.spots]
    spot = rng.choices(house.variant.spots, weights)[0]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        if house.chips_to_open:
            chip = rng.choice(house.chips_to_open[:2])
            holding = _add_if_taken(places, Place(spot, chip), holding, house)
    return [place for place in places if isinstance(place, Place)]


STRATEGIES: Final[Mapping[str, Strategy]] = MappingProxyType({"flat": flat, "mixed": mixed, "busy": busy})


def cheapest_bet(house: House) -> int:
    """Return the smallest stack with which a bet can still be laid, in minor units."""
    return min(house.chips_to_open, default=0)


def _spots(house: House, rng: Random) -> list[Spot]:
    return rng.sample(house.variant.spots, len(house.variant.spots))


def _add_if_taken(acts: list[Act], act: Act | None, holding: Holding, house: House) -> Holding:
    """Append the act where the rules take it, and return what is held then."""
    if act is None:
        return holding
    after = foresee(act, holding, house)
    if isinstance(after, Refusal):
        return holding
    acts.append(act)
    return after


def _any_legal_place(house: House, holding: Holding, rng: Random) -> Place | None:
    """Return a chip and a spot that the rules take, small chips more often; None where there is none.

    A bot that always laid the largest chips would spend its runs at the maximum and without a stack.
    """
    chips = sorted(chip for chip in house.limits.chips if chip <= holding.stack)
    for chip in sorted(chips, key=lambda chip: rng.random() * chip):
        for spot in _spots(house, rng):
            if not isinstance(foresee(Place(spot, chip), holding, house), Refusal):
                return Place(spot, chip)
    return None


def _anything(house: House, holding: Holding, rng: Random) -> Act:
    """Return some act, legal or not."""
    kind = rng.random()
    if kind < 0.35:
        return _any_legal_place(house, holding, rng) or Clear()
    if kind < 0.55:
        return _any_place(house, rng)
    if kind < 0.70:
        return Undo(rng.choice([None, *Spot]))
    others: tuple[Act, ...] = (Clear(), Double(), Double(), Rebet(), Rebet(), Ready())
    return rng.choice(others)


def _any_place(house: House, rng: Random) -> Place:
    """Return a chip on a spot without asking whether the house has the spot or the chip, or the bot the money."""
    chip = rng.choice(house.limits.chips)
    return Place(rng.choice(list(Spot)), chip + 1 if rng.random() < 0.2 else chip)
