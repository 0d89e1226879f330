"""Table rules to test with: a house's own, with small limits that are easy to reach."""

from typing import Any

from msgspec.structs import replace

from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import TableRules


def rules_of(variant_name: str = "royal", **changes: Any) -> TableRules:
    """The rules of a table of this variant; any field may be given otherwise."""
    variant = variant_named(variant_name)
    rules = TableRules(
        variant=variant.name,
        decks=variant.decks,
        shuffles_every_round=variant.shuffles_every_round,
        commission_bp=variant.commission_bp,
        tie_pays=variant.tie_pays,
        forbidden_pairs=[sorted(pair) for pair in variant.forbidden_pairs],
        minimum=10,
        maximums={spot: 50 if spot is Spot.TIE else 100 for spot in variant.spots},
        chips=[5, 10, 25, 100],
        win_max=None,
        cut_card=None if variant.shuffles_every_round else 14,
        seats_max=5,
        betting_ms=60_000,
        card_ms=700,
        result_ms=4_000,
        grace_ms=30_000,
    )
    return replace(rules, **changes)
