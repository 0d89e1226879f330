"""The houses: each value that a house's printed rules, or our choice where they are silent, give it."""

import pytest

from client_sdk.game.variants import VARIANTS, Spot, UnknownVariant, variant_named

#        name           decks  anew   commission  tie  stated
TABLE = {
    "royal": (8, False, 500, 8, "98.85"),
    "four-deck": (4, True, 500, 8, None),
    "punto-banco": (8, False, 500, 8, None),
    "stand-off": (8, False, 500, None, None),
    "red-lounge": (1, True, 400, 9, None),
}


def test_the_five_houses() -> None:
    assert {
        name: (v.decks, v.shuffles_every_round, v.commission_bp, v.tie_pays, v.stated_rtp)
        for name, v in VARIANTS.items()
    } == TABLE
    assert all(variant.name == name and variant.title for name, variant in VARIANTS.items())


def test_spots_and_combinations() -> None:
    for name, variant in VARIANTS.items():
        assert variant.spots == ((Spot.PLAYER, Spot.BANKER) if name == "stand-off" else tuple(Spot))
        assert (Spot.TIE in variant.spots) == (variant.tie_pays is not None)
        assert variant.forbids_together({Spot.PLAYER, Spot.BANKER}) == (name == "four-deck")
        assert variant.forbids_together(set(Spot)) == (name == "four-deck")
        assert not variant.forbids_together({Spot.PLAYER, Spot.TIE})
        assert not variant.forbids_together({Spot.BANKER, Spot.TIE})
        assert not variant.forbids_together(())


def test_by_name() -> None:
    assert all(variant_named(name) is variant for name, variant in VARIANTS.items())
    for name in ("", "Royal", "royal ", "punto\nbanco"):
        with pytest.raises(UnknownVariant) as refused:
            variant_named(name)
        assert refused.value.name == name
        assert "\n" not in str(refused.value)


def test_variants_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        VARIANTS["royal"] = VARIANTS["red-lounge"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        VARIANTS["royal"].decks = 1  # type: ignore[misc]
