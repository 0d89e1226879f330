"""Exact odds: every round that a fresh shoe can give, counted by dealing it with the tableau itself.

A mistake in one cell of the tableau moves these digits. Fractions and integers only; it must never sample. Cards are
told apart by what they count, ten kinds in all, which is all that an outcome depends on. Read next: `tableau` for the
rules, `settlement` for the payouts that the return is made of.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import perm
from typing import Final, NamedTuple, TypeVar

from client_sdk.game.cards import CARDS_PER_DECK, RANKS, SUITS, Card, card_value
from client_sdk.game.settlement import Result, settle_bet
from client_sdk.game.tableau import CARDS_PER_ROUND_MAX, Hands, Outcome, Side, is_natural, next_side
from client_sdk.game.variants import Spot, Variant

_Key = TypeVar("_Key", bound=Hashable)

_SUITS_PER_RANK: Final = len(SUITS)

_RANKS_PER_VALUE: Final = Counter(card_value(Card(rank)) for rank in RANKS)

# One card for each value: the ten stands for all that count 0.
_CARDS: Final = tuple(Card(rank) for rank in "TA23456789")

# A stake on which no variant's commission is rounded, so that payouts over it are the exact rates.
_UNROUNDED_STAKE: Final = 10_000


class Shape(NamedTuple):
    """What the odds tell rounds apart by. `cards` is how many the round took, 4 to 6."""

    outcome: Outcome
    cards: int
    player_natural: bool
    banker_natural: bool


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """How many ordered draws of six cards from a fresh shoe begin with a round of each shape.

    A round that ends with four or five cards counts once for each way of drawing the rest, so that all counts of one
    deck number share the denominator `total` = (52n)(52n-1)...(52n-5), which stays below 2^53 up to eight decks.
    """

    decks: int
    total: int
    ways: Mapping[Shape, int]

    def by(self, key: Callable[[Shape], _Key]) -> dict[_Key, int]:
        """Return how many draws begin with a round of each `key(shape)`."""
        counts: Counter[_Key] = Counter()
        for shape, ways in self.ways.items():
            counts[key(shape)] += ways
        return dict(counts)

    def by_outcome(self) -> dict[Outcome, int]:
        """Return how many draws begin with a round of each outcome."""
        return self.by(lambda shape: shape.outcome)


@lru_cache(maxsize=16)
def count_rounds(decks: int) -> RoundCounts:
    """Return the exact counts for a fresh shoe of `decks` decks, at least 1; slow once, then kept."""
    size = CARDS_PER_DECK * decks
    counts: Counter[Shape] = Counter()
    shoe = {card: decks * _SUITS_PER_RANK * _RANKS_PER_VALUE[card_value(card)] for card in _CARDS}
    for hands, ways in _rounds(shoe):
        cards = hands.cards_used
        shape = Shape(hands.outcome, cards, is_natural(hands.player), is_natural(hands.banker))
        counts[shape] += ways * perm(size - cards, CARDS_PER_ROUND_MAX - cards)
    return RoundCounts(decks=decks, total=perm(size, CARDS_PER_ROUND_MAX), ways=counts)


def probability(variant: Variant, spot: Spot) -> Fraction:
    """Return the chance that a bet on `spot` wins, in the first round of the variant's shoe."""
    return sum((chance for outcome, chance in _outcomes(variant) if _wins(variant, spot, outcome)), Fraction(0))


def rtp(variant: Variant, spot: Spot) -> Fraction:
    """Return what a bet on `spot` brings back in the mean, the stake included, per unit of stake.

    By the variant's own settlement, for stakes on which the commission is not rounded, without a cap on the win. Raises
    ForbiddenBet where the variant does not take the bet.
    """
    returns = (chance * _payout(variant, spot, outcome) for outcome, chance in _outcomes(variant))
    return sum(returns, Fraction(0)) / _UNROUNDED_STAKE


def house_edge(variant: Variant, spot: Spot) -> Fraction:
    """Return what the house keeps of a bet on `spot` in the mean, per unit of stake: 1 - rtp."""
    return 1 - rtp(variant, spot)


def pair_probability(decks: int) -> Fraction:
    """Return the chance that the first two cards of one side, named beforehand, share their rank."""
    return Fraction(_SUITS_PER_RANK * decks - 1, CARDS_PER_DECK * decks - 1)


def _outcomes(variant: Variant) -> Iterator[tuple[Outcome, Fraction]]:
    counts = count_rounds(variant.decks)
    for outcome, ways in counts.by_outcome().items():
        yield outcome, Fraction(ways, counts.total)


def _wins(variant: Variant, spot: Spot, outcome: Outcome) -> bool:
    return settle_bet(variant, spot, _UNROUNDED_STAKE, outcome).result is Result.WIN


def _payout(variant: Variant, spot: Spot, outcome: Outcome) -> int:
    return settle_bet(variant, spot, _UNROUNDED_STAKE, outcome).payout


def _rounds(shoe: Mapping[Card, int]) -> Iterator[tuple[Hands, int]]:
    """Yield every round with the ways of drawing its cards from a shoe that holds each card so many times.

    The first two cards of a side are an unordered pair, counted twice unless alike: their order changes nothing.
    """
    for player, player_ways in _pairs(shoe, ()):
        for banker, banker_ways in _pairs(shoe, player):
            yield from _finish(shoe, player, banker, player_ways * banker_ways)


def _pairs(shoe: Mapping[Card, int], dealt: tuple[Card, ...]) -> Iterator[tuple[tuple[Card, ...], int]]:
    for first, second in combinations_with_replacement(_CARDS, 2):
        ways = (shoe[first] - dealt.count(first)) * (shoe[second] - (*dealt, first).count(second))
        yield (first, second), ways if first == second else 2 * ways


def _finish(
    shoe: Mapping[Card, int], player: tuple[Card, ...], banker: tuple[Card, ...], ways: int
) -> Iterator[tuple[Hands, int]]:
    """Yield every way in which the tableau completes these hands."""
    side = next_side(player, banker)
    if side is None:
        yield Hands(player, banker), ways
        return
    for card in _CARDS:
        left = shoe[card] - player.count(card) - banker.count(card)
        if side is Side.PLAYER:
            yield from _finish(shoe, (*player, card), banker, ways * left)
        else:
            yield from _finish(shoe, player, (*banker, card), ways * left)
