"""A table's roads: with the shoe, or for a session; void rounds leave no mark; what is kept stays small."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.beads import BEAD_LETTERS
from client_sdk.game.road_rounds import LETTERS, RoadRound
from client_sdk.game.roads import Roads
from client_sdk.game.shoe import play_out
from client_sdk.game.variants import VARIANTS
from client_sdk.protocol.messages import RoadsView, RoundDecided, ShoeStarted
from client_sdk.protocol.road_views import roads_after, roads_view
from server.store.records import pack
from server.table.roads import SESSION_ROUNDS, begins_roads_anew, roads_view_of
from server.table.state import TableState
from tests.support.table_rules import rules_of
from tests.unit.table.walk import SeededShoes, Walk


def told_at_the_end(walk: Walk) -> RoadsView:
    """The roads as they follow from the events of a walk."""
    roads: RoadsView | None = None
    for event in walk.events:
        if isinstance(event, ShoeStarted):
            roads = event.roads or roads
        elif isinstance(event, RoundDecided):
            assert roads is not None
            roads = roads_after(roads, event.roads)
    assert roads is not None
    return roads


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_the_events_make_is_what_a_snapshot_tells(variant: str) -> None:
    walk = Walk(rules_of(variant), SeededShoes(7))
    for _ in range(100):
        walk.play_rounds(1)
        assert told_at_the_end(walk) == roads_view_of(walk.state.beads, walk.state.roads_rounds_max)


@pytest.mark.parametrize("variant", ["royal", "punto-banco", "stand-off"])
def test_roads_go_with_the_shoe(variant: str) -> None:
    """BL-030: of the second shoe only, and they stand until its first round opens."""
    walk = Walk(rules_of(variant), SeededShoes(7))
    walk.play_rounds(1)
    while walk.state.has_shoe:
        walk.play_rounds(1)
    first_shoe = walk.state.beads
    assert first_shoe, "they are shown until the next shoe"
    walk.play_rounds(5)
    assert len(walk.state.beads) == 5 * BEAD_LETTERS
    assert walk.state.shoe == 2
    shoe = walk.open_shoe.dealt_from
    second = Roads.of([RoadRound.of(hands) for hands, _ in zip(play_out(shoe), range(5), strict=False)])
    assert told_at_the_end(walk) == roads_view(second, rounds_max=None)


@pytest.mark.parametrize("variant", ["four-deck", "red-lounge"])
def test_tables_that_shuffle_every_round_keep_roads_for_a_session(variant: str) -> None:
    walk = Walk(rules_of(variant), SeededShoes(7))
    lengths = []
    for _ in range(2 * SESSION_ROUNDS + 3):
        walk.play_rounds(1)
        lengths.append(len(walk.state.beads) // BEAD_LETTERS)
    session = [*range(1, SESSION_ROUNDS + 1)]
    assert lengths == [*session, *session, 1, 2, 3]
    begun = [event.shoe for event in walk.events if isinstance(event, ShoeStarted) and event.roads is not None]
    assert begun == [1, SESSION_ROUNDS + 1, 2 * SESSION_ROUNDS + 1]


@settings(deadline=None, max_examples=40)
@given(
    variant=st.sampled_from(["royal", "red-lounge"]),
    seed=st.integers(0, 2**32),
    disturbances=st.lists(st.tuples(st.integers(1, 25), st.sampled_from(["void", "break", "take over"])), max_size=8),
)
def test_a_void_round_leaves_no_mark_and_another_owner_changes_none(
    variant: str, seed: int, disturbances: list[tuple[int, str]]
) -> None:
    """Whatever happens between two steps, the roads are those of the rounds that were decided."""
    walk = Walk(rules_of(variant), SeededShoes(seed))
    walk.step()
    for steps, what in disturbances:
        for _ in range(steps):
            walk.step()
        before = walk.state.beads
        if what == "take over":
            walk.take_over()
        else:
            walk.disturb(what)
        assert walk.state.beads == before
        assert told_at_the_end(walk) == roads_view_of(walk.state.beads, walk.state.roads_rounds_max)
    walk.play_rounds(2)
    decided: list[str] = []
    for event in walk.events:
        if isinstance(event, ShoeStarted) and event.roads is not None:
            decided = []
        elif isinstance(event, RoundDecided):
            decided.append(LETTERS[event.outcome])
    assert walk.state.beads[::BEAD_LETTERS] == "".join(decided)


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({}, False),
        ({"beads": "P.." * (SESSION_ROUNDS - 1)}, False),
        ({"beads": "P.." * SESSION_ROUNDS}, True),
        ({"roads_rounds_max": None}, True),
        ({"shoe_commitment": ""}, True),
    ],
    ids=["goes on", "one round is left", "full", "roads of a long shoe", "stacked rounds before"],
)
def test_when_a_session_begins_anew(changes: dict[str, Any], begins: bool) -> None:
    values: dict[str, Any] = {"beads": "P..", "roads_rounds_max": SESSION_ROUNDS, "shoe_commitment": "c"} | changes
    assert begins_roads_anew(TableState(**values), None, "c") is begins
    assert begins_roads_anew(TableState(**values), 14, "c") is True


def test_what_a_table_keeps_of_its_roads_is_small() -> None:
    """A shoe of eight decks has at most 104 rounds, of three letters each."""
    most = TableState(beads="B2." * (8 * 52 // 4))
    assert len(pack(most)) - len(pack(TableState())) < 320
