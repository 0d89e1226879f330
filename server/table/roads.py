"""A table's roads as its state keeps them: three letters for each round, and after how many they begin anew.

Roads go with the shoe. Where every round has a shoe of its own they go with a session of SESSION_ROUNDS rounds. Only a
decided round is ever entered, so a void one leaves no mark. Computed roads are remembered by their letters, for the
next round and for whoever asks for a snapshot; they are never kept anywhere else.
"""

from functools import lru_cache
from typing import Final

from client_sdk.game.beads import BEAD_LETTERS, read_beads
from client_sdk.game.roads import Roads
from client_sdk.protocol.messages import RoadsView
from client_sdk.protocol.road_views import roads_view
from server.table.state import TableState

SESSION_ROUNDS: Final = 72
"""Rounds of a session: a bead plate of twelve columns, about as many as an eight-deck shoe gives."""
ROADS_REMEMBERED_MAX: Final = 2_048
"""So many different roads are remembered; of more tables than that in play some are computed anew each round."""


def begins_roads_anew(state: TableState, cut_card: int | None, commitment: str) -> bool:
    """Say whether the roads begin anew with a fresh shoe, or go on in the same session. One session never holds both
    stacked rounds, which nobody commits to, and others."""
    rounds_max = roads_rounds_max(cut_card)
    if rounds_max is None or rounds_max != state.roads_rounds_max or bool(commitment) != bool(state.shoe_commitment):
        return True
    return len(state.beads) >= rounds_max * BEAD_LETTERS


def roads_rounds_max(cut_card: int | None) -> int | None:
    """Return how many rounds the roads have where they do not end with the shoe."""
    return SESSION_ROUNDS if cut_card is None else None


@lru_cache(ROADS_REMEMBERED_MAX)
def roads_of(beads: str) -> Roads:
    """Return the roads of these rounds, by those of the rounds before."""
    if not beads:
        return Roads()
    (newest,) = read_beads(beads[-BEAD_LETTERS:])
    return roads_of(beads[:-BEAD_LETTERS]).plus(newest)


@lru_cache(ROADS_REMEMBERED_MAX)
def roads_view_of(beads: str, rounds_max: int | None) -> RoadsView:
    """Return the roads as the wire tells them."""
    return roads_view(roads_of(beads), rounds_max)
