"""Which card lands in which place of a shuffled small shoe, by chi-square.

Each shuffle puts every card into one place and fills every place, so the counts of a row, and of a column, are fixed:
sum((n - e)^2 / e) * 51 / 52 has chi-square's distribution with 51 * 51 degrees of freedom.
"""

from collections.abc import Iterable
from math import sqrt
from typing import Final

from client_sdk.game.cards import CARDS_PER_DECK
from client_sdk.game.fairness import shuffle
from tests.stats.dealt import Finding, seeded

Counts = list[int]
"""By place * 52 + card."""
DEGREES: Final = (CARDS_PER_DECK - 1) ** 2
_Z_99: Final = 2.326347874
CHI_SQUARE_MAX: Final = DEGREES * (1 - 2 / (9 * DEGREES) + _Z_99 * sqrt(2 / (9 * DEGREES))) ** 3
"""The bound that 99 of 100 fair shuffles stay below (Wilson and Hilferty; at so many degrees exact to a hundredth)."""


def count_places(shuffles: int, seed: str) -> Counts:
    """Shuffle one deck so often by the product's shuffle and count."""
    secret_of_shoe = seeded(seed)
    return count_orders(shuffle(secret_of_shoe(number), 1, number) for number in range(1, shuffles + 1))


def count_orders(orders: Iterable[list[int]]) -> Counts:
    """Count where each card lies in these orders of one deck."""
    counts = [0] * CARDS_PER_DECK**2
    rows = range(0, CARDS_PER_DECK**2, CARDS_PER_DECK)
    for order in orders:
        for row, card in zip(rows, order, strict=True):
            counts[row + card] += 1
    return counts


def chi_square(counts: Counts) -> float:
    """Return what is chi-square distributed if every order is as likely as any other."""
    expected = sum(counts) / CARDS_PER_DECK**2
    total = sum((n - expected) ** 2 for n in counts) / expected
    return total * (CARDS_PER_DECK - 1) / CARDS_PER_DECK


def finding(counts: Counts) -> Finding:
    """Compare with the bound."""
    found = chi_square(counts)
    return Finding("place against card", found, DEGREES, found, found < CHI_SQUARE_MAX)


def together(parts: list[Counts]) -> Counts:
    """Add up what was counted in parts."""
    return [sum(each) for each in zip(*parts, strict=True)]
