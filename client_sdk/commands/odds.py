"""`punto odds`: prints the exact odds of every variant, and beside them what a house states.

It must never round before the last step: the numbers come as fractions. Read next: `client_sdk.game.odds`.
"""

import argparse
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from client_sdk.commands.arguments import Subparsers, add_json
from client_sdk.game.odds import count_rounds, house_edge, pair_probability, probability, rtp
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import VARIANTS, Spot, Variant

_DECKS: Final = (1, 2, 4, 6, 8)
_DECIMALS: Final = 12

# Whether the player holds a natural, whether the banker does.
_NATURALS: Final = {
    "none": (False, False),
    "player_only": (True, False),
    "banker_only": (False, True),
    "both": (True, True),
}

_STATED_REMARK: Final = (
    "the plain mean of the returns of the player and the banker bet, cut to two decimals; it leaves out the tie bet"
    " and, being the same for one deck or eight, does not tell the number of decks"
)


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto odds` takes."""
    parser = subparsers.add_parser("odds", help="print the exact odds of every variant")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the odds."""
    print(json.dumps(_as_json()) if args.json else "\n".join(_as_text()))
    return 0


def _as_json() -> dict[str, object]:
    return {
        "variants": {variant.name: _variant_as_json(variant) for variant in VARIANTS.values()},
        "decks": {str(decks): _counts_as_json(decks) for decks in _DECKS},
    }


def _variant_as_json(variant: Variant) -> dict[str, object]:
    stated = {} if variant.stated_rtp is None else {"stated_rtp": variant.stated_rtp, "stated_remark": _STATED_REMARK}
    return {
        "decks": variant.decks,
        "counts": _outcomes_as_json(variant.decks),
        "spots": {spot: _spot_as_json(variant, spot) for spot in variant.spots},
        **stated,
    }


def _spot_as_json(variant: Variant, spot: Spot) -> dict[str, object]:
    return {
        "probability": _number(probability(variant, spot)),
        "rtp": _number(rtp(variant, spot)),
        "rtp_exact": str(rtp(variant, spot)),
        "house_edge": _number(house_edge(variant, spot)),
    }


def _outcomes_as_json(decks: int) -> dict[str, int]:
    counts = count_rounds(decks)
    by_outcome = counts.by_outcome()
    return {"total": counts.total, **{outcome.value: by_outcome[outcome] for outcome in Outcome}}


def _counts_as_json(decks: int) -> dict[str, object]:
    """Return the exact counts for one deck number; each of the groups splits the same total."""
    counts = count_rounds(decks)
    by_cards = counts.by(lambda shape: shape.cards)
    by_naturals = counts.by(lambda shape: (shape.player_natural, shape.banker_natural))
    return {
        **_outcomes_as_json(decks),
        "cards": {str(cards): by_cards[cards] for cards in sorted(by_cards)},
        "naturals": {name: by_naturals[held] for name, held in _NATURALS.items()},
        "pair": int(counts.total * pair_probability(decks)),
    }


def _number(fraction: Fraction) -> float:
    return round(float(fraction), _DECIMALS)


def _as_text() -> Iterator[str]:
    yield f"{'variant':<13}{'decks':>5}  {'bet':<7}{'wins %':>10}{'return %':>10}{'house edge %':>14}{'stated %':>10}"
    for variant in VARIANTS.values():
        for spot in variant.spots:
            yield (
                f"{variant.name:<13}{variant.decks:>5}  {spot:<7}{_percent(probability(variant, spot)):>10}"
                f"{_percent(rtp(variant, spot)):>10}{_percent(house_edge(variant, spot)):>14}"
                f"{_stated_beside(variant, spot):>10}"
            ).rstrip()
    yield "A tie returns player and banker bets. Each return holds for a fresh shoe and a win without a cap."
    for variant in VARIANTS.values():
        if variant.stated_rtp is not None:
            mean = (rtp(variant, Spot.PLAYER) + rtp(variant, Spot.BANKER)) / 2
            yield f"{variant.name} states {variant.stated_rtp}: {_STATED_REMARK} (that mean is {_percent(mean)} here)."


def _stated_beside(variant: Variant, spot: Spot) -> str:
    """Return the stated return beside the bets that it is the mean of."""
    return variant.stated_rtp or "" if spot is not Spot.TIE else ""


def _percent(fraction: Fraction) -> str:
    return f"{float(100 * fraction):.4f}"
