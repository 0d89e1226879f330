"""The rules that a table tells, beside those of the variant whose name it bears.

Pure. Read next: `client_sdk.game.variants`.
"""

from client_sdk.bots.acts import house_of
from client_sdk.bots.findings import Found, Kind
from client_sdk.game.variants import VARIANTS
from client_sdk.protocol.messages import TableRules


def rules_found(rules: TableRules) -> Found:
    """Compare the rules that a table told with those of the variant it names."""
    variant = VARIANTS.get(rules.variant)
    if variant is None:
        return []  # a house of its own: nothing to compare with
    told = house_of(rules).variant
    pairs = [
        ("decks", told.decks, variant.decks),
        ("shuffles_every_round", told.shuffles_every_round, variant.shuffles_every_round),
        ("commission_bp", told.commission_bp, variant.commission_bp),
        ("tie_pays", told.tie_pays, variant.tie_pays),
        ("spots", told.spots, variant.spots),
        ("forbidden_pairs", set(told.forbidden_pairs), set(variant.forbidden_pairs)),
    ]
    return [
        (Kind.RULES, f"{name} is {at_table}, {variant.name} has {right}")
        for name, at_table, right in pairs
        if at_table != right
    ]
