"""What a bet brings back once the outcome is known, to the last minor unit.

Integers only; the one division is the commission and its rounding is written there. It must never see cards, a patron
or a balance: variant, spot, stake and outcome decide. Read next: `odds`, which weighs these very payouts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from client_sdk.game.errors import GameError
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot, Variant

AMOUNT_MAX: Final = 2**53 - 1
"""The largest stake, in minor units: every program that reads our JSON or runs our scripts holds it exactly."""

_BASIS_POINTS: Final = 10_000


class Result(StrEnum):
    """What became of a bet. A push is neither win nor loss: the stake comes back, nothing else moves."""

    WIN = "win"
    LOSE = "lose"
    PUSH = "push"


class ForbiddenBet(GameError):
    """A bet that the variant does not take, alone or beside another."""

    def __init__(self, variant_name: str, spots: tuple[Spot, ...]) -> None:
        super().__init__(variant_name, spots)
        self.variant_name = variant_name
        self.spots = spots

    def __str__(self) -> str:
        bets = " and ".join(self.spots)
        return f"{self.variant_name} takes no bet on {bets}{' together' if len(self.spots) > 1 else ''}"


class BadStake(GameError):
    """A stake that is no possible amount."""

    def __init__(self, stake: int) -> None:
        super().__init__(stake)
        self.stake = stake

    def __str__(self) -> str:
        return f"a stake is 1 to {AMOUNT_MAX} minor units, not {self.stake}"


@dataclass(frozen=True, slots=True)
class BetResult:
    """A settled bet, amounts in minor units.

    `payout` is all that comes back, the stake included. `commission` is the house's share of a banker win. `capped` is
    what the cap on the win took, 0 where it took nothing.
    """

    stake: int
    payout: int
    commission: int
    result: Result
    capped: int


def settle_bet(variant: Variant, spot: Spot, stake: int, outcome: Outcome, win_max: int | None = None) -> BetResult:
    """Settle the sum that one patron has on one spot.

    Player wins 1 to 1, banker 1 to 1 less commission, tie what the variant pays; on a tie, player and banker bets push.
    `win_max` limits the win after commission, never the stake that comes back; None is no cap.

    Raises ForbiddenBet where the variant does not take this spot, BadStake outside 1 to AMOUNT_MAX.
    """
    if spot not in variant.spots:
        raise ForbiddenBet(variant.name, (spot,))
    if not 1 <= stake <= AMOUNT_MAX:
        raise BadStake(stake)
    if spot.value == outcome.value:
        return _won(variant, spot, stake, win_max)
    if outcome is Outcome.TIE:
        return BetResult(stake=stake, payout=stake, commission=0, result=Result.PUSH, capped=0)
    return BetResult(stake=stake, payout=0, commission=0, result=Result.LOSE, capped=0)


def settle(
    variant: Variant, bets: Mapping[Spot, int], outcome: Outcome, win_max: int | None = None
) -> dict[Spot, BetResult]:
    """Settle one patron's bets of a round, in the order of Spot; `win_max` caps each of them for itself.

    Raises ForbiddenBet, for a pair that the variant forbids too, and BadStake as `settle_bet` does.
    """
    spots = tuple(spot for spot in Spot if spot in bets)
    for pair in variant.forbidden_pairs:
        if pair.issubset(spots):
            raise ForbiddenBet(variant.name, tuple(spot for spot in spots if spot in pair))
    return {spot: settle_bet(variant, spot, bets[spot], outcome, win_max) for spot in spots}


def commission_on(stake: int, commission_bp: int) -> int:
    """Return the commission on a banker win, in minor units: on the whole stake, rounded up.

    Rounded up because any other way lets small stakes beat the house: below ten units none would be due.
    """
    return -(-stake * commission_bp // _BASIS_POINTS)


def _won(variant: Variant, spot: Spot, stake: int, win_max: int | None) -> BetResult:
    commission = commission_on(stake, variant.commission_bp) if spot is Spot.BANKER else 0
    win = stake * _pays(variant, spot) - commission
    capped = max(0, win - win_max) if win_max is not None else 0
    return BetResult(stake=stake, payout=stake + win - capped, commission=commission, result=Result.WIN, capped=capped)


def _pays(variant: Variant, spot: Spot) -> int:
    """Return the win per unit of stake, before commission."""
    if spot is not Spot.TIE:
        return 1
    assert variant.tie_pays is not None, f"{variant.name} takes tie bets but does not say what they pay"
    return variant.tie_pays
