"""The roads on the wire: whoever follows the deltas has what a late comer is told, and both are the computed roads."""

from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.beads import BEAD_LETTERS
from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.road_rounds import LETTERS, RoadRound
from client_sdk.game.roads import Roads
from client_sdk.game.tableau import Outcome
from client_sdk.protocol.messages import BigRoadView, DerivedRoadView, RoadsView
from client_sdk.protocol.road_views import roads_after, roads_delta, roads_view
from tests.support import plain_roads

SHOES = st.lists(st.builds(RoadRound, st.sampled_from(Outcome), *[st.booleans()] * 4), max_size=110)


def assert_tells(view: RoadsView, rounds: list[RoadRound]) -> None:
    """Hold a view against the roads drawn by hand, by what the protocol page says of its fields."""
    outcomes = view.beads[::BEAD_LETTERS]
    assert outcomes == "".join(LETTERS[played.outcome] for played in rounds)
    decided = [number for number, outcome in enumerate(outcomes) if outcome != "T"]
    all_roads: list[BigRoadView | DerivedRoadView] = [view.big_road, *view.derived.values()]
    for road in all_roads:
        hand_drawn = {number: place for place, number in plain_roads.laid_out(road.marks).items()}
        assert [divmod(place, 6) for place in road.places] == [hand_drawn[number] for number in range(len(road.marks))]
    cells = plain_roads.cells_of(outcomes, set(), set())
    assert [cell[0] for cell in cells] == decided
    assert [cell[3] for cell in cells] == list(view.big_road.marks)
    assert [cell[4] for cell in cells] == view.big_road.ties
    for columns_back, name in enumerate(DerivedRoad, start=1):
        assert view.derived[name].marks == plain_roads.derived_marks(outcomes, columns_back)
        for side, told in view.next.items():
            letter = side.value[0].upper()
            assert told[name] == plain_roads.next_mark(outcomes, letter, columns_back)
    counts = view.statistics
    assert (counts.player, counts.banker, counts.tie) == tuple(map(outcomes.count, "PBT"))
    assert counts.player_pair == sum(pair in "P2" for pair in view.beads[1::BEAD_LETTERS])
    assert counts.banker_pair == sum(pair in "B2" for pair in view.beads[1::BEAD_LETTERS])
    assert counts.player_natural == sum(natural in "P2" for natural in view.beads[2::BEAD_LETTERS])
    assert counts.banker_natural == sum(natural in "B2" for natural in view.beads[2::BEAD_LETTERS])


@settings(deadline=None, max_examples=60)
@given(SHOES)
def test_deltas_keep_up_with_the_whole(rounds: list[RoadRound]) -> None:
    """BL-029: the counts too: an old seat that adds up has what somebody who comes late is told."""
    roads = Roads()
    followed = roads_view(roads, rounds_max=None)
    for played in rounds:
        roads = roads.plus(played)
        followed = roads_after(followed, roads_delta(roads))
        assert followed == roads_view(roads, rounds_max=None)
    assert_tells(followed, rounds)
