"""How often each thing was dealt, held against the exact odds: within 4 sigma, and by chi-square.

The rounds are the product's: its shuffle, its shoes, its tableau. The odds are those of tests/vectors/odds.json.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import Final, NamedTuple

from client_sdk.commands.simulate import Tally, simulate
from client_sdk.game.variants import variant_named

VARIANTS: Final = {1: "red-lounge", 4: "four-deck", 8: "punto-banco"}
"""A variant for each deck count that a house deals from."""
SIGMAS_MAX: Final = 4.0
CHI_SQUARE_MAX: Final = 18.42
"""Two degrees of freedom: one false alarm in ten thousand."""
SHARE_DIFFERS_MAX: Final = 0.002
"""BL-006: by so much at most a share of the outcomes may differ after a million rounds."""

SHARES_FROM_ROUNDS: Final = 1_000_000

_ODDS: Final = json.loads((Path(__file__).parents[1] / "vectors" / "odds.json").read_text(encoding="utf-8"))


class Finding(NamedTuple):
    """One figure: what was counted, by how many sigmas it differs (or its chi-square), and whether that may be."""

    name: str
    counted: float
    expected: float
    differs: float
    holds: bool


def seeded(seed: str) -> Callable[[int], bytes]:
    """The secrets of shoes 1, 2, ..., all made of the seed."""
    return lambda number: hashlib.sha256(f"punto stats {seed} {number}".encode()).digest()


def deal(decks: int, rounds: int, seed: str) -> Tally:
    """Deal so many rounds from shoes of so many decks."""
    return simulate(variant_named(VARIANTS[decks]), rounds, seeded(seed))


def findings(decks: int, tally: Tally) -> Iterator[Finding]:
    """Compare everything that was counted."""
    odds = {name: told["p"] for name, told in _ODDS["liveTest"]["table"][str(decks)].items()}
    counts = counts_of(tally)
    for name, p in odds.items():
        expected = tally.rounds * p
        sigmas = (counts[name] - expected) / sqrt(expected * (1 - p))
        yield Finding(name, counts[name], expected, sigmas, abs(sigmas) <= SIGMAS_MAX)
    for names in (("banker", "player", "tie"), ("cards4", "cards5", "cards6")):
        chi_square = sum(
            (counts[name] - tally.rounds * odds[name]) ** 2 / (tally.rounds * odds[name]) for name in names
        )
        yield Finding("/".join(names), chi_square, 2, chi_square, chi_square < CHI_SQUARE_MAX)
    if tally.rounds >= SHARES_FROM_ROUNDS:
        for name in ("banker", "player", "tie"):
            share = counts[name] / tally.rounds
            yield Finding(
                f"share of {name}", share, odds[name], share - odds[name], abs(share - odds[name]) <= SHARE_DIFFERS_MAX
            )


def counts_of(tally: Tally) -> Mapping[str, int]:
    """The counts by the names that the odds have."""
    outcomes: Mapping[str, int] = tally.outcomes
    return Counter(
        {
            **{name: outcomes[name] for name in ("banker", "player", "tie")},
            "anyNatural": tally.naturals["either"],
            **{f"cards{cards}": tally.cards[cards] for cards in (4, 5, 6)},
            **{f"{side}Pair": tally.pairs[side] for side in ("player", "banker")},
        }
    )


def together(tallies: list[Tally]) -> Tally:
    """Add up what was counted in parts."""
    total = Tally()
    for tally in tallies:
        total.rounds += tally.rounds
        total.shoes += tally.shoes
        for name in ("outcomes", "cards", "naturals", "pairs"):
            getattr(total, name).update(getattr(tally, name))
    return total
