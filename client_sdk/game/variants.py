"""The five houses, as data: decks, shuffle, commission, tie odds, and which bets may lie together.

All of them play the one tableau. This module must never compute: `bets` and `settlement` read these values. Read next:
`settlement`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from client_sdk.game.errors import GameError


class Spot(StrEnum):
    """Where a bet may lie. The order of the members is the order in which spots are listed everywhere."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class UnknownVariant(GameError):
    """A name that no variant has."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"unknown variant {self.name!r}: there are {', '.join(VARIANTS)}"


@dataclass(frozen=True, slots=True)
class Variant:
    """A house's rules.

    `commission_bp` is taken from a banker win, in basis points of the stake. `tie_pays` is the win per unit of stake
    beside the stake itself (8 is "8 to 1", the same as "9 for 1"), None where no tie bet is taken. `stated_rtp` is the
    percentage the house prints, None where it prints none; `odds` computes the true ones.
    """

    name: str
    title: str
    decks: int
    shuffles_every_round: bool
    commission_bp: int
    tie_pays: int | None
    spots: tuple[Spot, ...]
    forbidden_pairs: tuple[frozenset[Spot], ...] = ()
    stated_rtp: str | None = None

    def forbids_together(self, spots: Collection[Spot]) -> bool:
        """Return whether two of these spots may not carry bets in the same round."""
        return any(pair.issubset(spots) for pair in self.forbidden_pairs)


_ALL_SPOTS: Final = tuple(Spot)

_HOUSES: Final = (
    Variant(
        name="royal",
        title="Royal Baccarat",
        decks=8,
        shuffles_every_round=False,
        commission_bp=500,
        tie_pays=8,
        spots=_ALL_SPOTS,
        stated_rtp="98.85",
    ),
    Variant(
        name="four-deck",
        title="Four-Deck Baccarat",
        decks=4,
        shuffles_every_round=True,
        commission_bp=500,
        tie_pays=8,
        spots=_ALL_SPOTS,
        forbidden_pairs=(frozenset({Spot.PLAYER, Spot.BANKER}),),
    ),
    Variant(
        name="punto-banco",
        title="Punto Banco",
        decks=8,
        shuffles_every_round=False,
        commission_bp=500,
        tie_pays=8,
        spots=_ALL_SPOTS,
    ),
    Variant(
        name="stand-off",
        title="Stand-Off Baccarat",
        decks=8,
        shuffles_every_round=False,
        commission_bp=500,
        tie_pays=None,
        spots=(Spot.PLAYER, Spot.BANKER),
    ),
    Variant(
        name="red-lounge",
        title="Red Lounge Baccarat",
        decks=1,
        shuffles_every_round=True,
        commission_bp=400,
        tie_pays=9,
        spots=_ALL_SPOTS,
    ),
)

VARIANTS: Final[Mapping[str, Variant]] = MappingProxyType({house.name: house for house in _HOUSES})


def variant_named(name: str) -> Variant:
    """Return the variant of that name. Raises UnknownVariant."""
    try:
        return VARIANTS[name]
    except KeyError:
        raise UnknownVariant(name) from None
