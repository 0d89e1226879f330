"""The roads: known shoes, a second computation by hand, rounds added one by one, what other scoreboards got wrong."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.cards import Card
from client_sdk.game.derived_roads import DerivedRoad, newest_mark
from client_sdk.game.road_layout import EMPTY, ROWS, Place, clip, draw_bead_plate, window
from client_sdk.game.road_rounds import LETTERS, RoadRound, Statistics, UnknownOutcome, is_pair, parse_outcomes
from client_sdk.game.roads import BigRoadCell, Roads
from client_sdk.game.shoe import play_out, shuffled_shoe
from client_sdk.game.tableau import Hands, Outcome, Side
from tests.support import plain_roads

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "roads.json").read_text(encoding="utf-8"))["vectors"]
NAMES = {
    DerivedRoad.BIG_EYE_BOY: "bigEyeBoy",
    DerivedRoad.SMALL_ROAD: "smallRoad",
    DerivedRoad.COCKROACH_PIG: "cockroachPig",
}
SIDES = {"P": Side.PLAYER, "B": Side.BANKER}

# Runs of every length make tails that meet; single letters would hardly ever make one.
SHOES = st.lists(st.tuples(st.sampled_from("PBT"), st.sampled_from([1, 1, 1, 2, 3, 5, 6, 7, 9, 14])), max_size=40).map(
    lambda runs: "".join(letter * length for letter, length in runs)
)
MARKED_ROUNDS = st.lists(
    st.builds(RoadRound, st.sampled_from(Outcome), *[st.booleans()] * 4),
    max_size=60,
)


def roads_of(outcomes: str) -> Roads:
    return Roads.of(map(RoadRound, parse_outcomes(outcomes)))


def cell_values(cell: BigRoadCell) -> list[Any]:
    side = "P" if cell.side is Side.PLAYER else "B"
    return [cell.round, cell.column, cell.row, side, cell.ties, int(cell.banker_pair), int(cell.player_pair)]


def columns_with_ties(roads: Roads) -> list[str]:
    """Each big-road column as text, a cell's letter followed by its ties if it has some: `["P1P", "B"]`."""
    columns = [""] * roads.big_road.width
    for cell in sorted(roads.cells, key=lambda cell: (cell.column, cell.row)):
        columns[cell.column] += cell.side.value[0].upper() + (str(cell.ties) if cell.ties else "")
    return columns


# --- Known shoes ---


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_known_shoes(vector: Any) -> None:
    banker_pairs, player_pairs = set(vector["bankerPairRounds"]), set(vector["playerPairRounds"])
    roads = Roads.of(
        RoadRound(outcome, player_pair=number in player_pairs, banker_pair=number in banker_pairs)
        for number, outcome in enumerate(parse_outcomes(vector["outcomes"]))
    )
    big_road = vector["bigRoad"]
    assert list(roads.bead_plate) == vector["beadPlate"]
    assert list(roads.big_road.grid) == big_road["grid"]
    assert list(map(cell_values, roads.cells)) == big_road["cells"]
    assert list(roads.runs) == big_road["logicalColumns"]
    assert roads.tie_only_marker == big_road["tieOnlyMarker"]
    for road, name in NAMES.items():
        assert roads.derived(road).marks == vector[name]["marks"]
        assert list(roads.derived(road).grid) == vector[name]["grid"]
    told = {side.value: {NAMES[road]: mark for road, mark in marks.items()} for side, marks in roads.next.items()}
    assert told == vector["next"]
    counts = roads.statistics
    assert (counts.rounds, vector["counts"]) == (
        vector["rounds"],
        {
            "banker": counts.banker,
            "player": counts.player,
            "tie": counts.tie,
            "bankerPair": counts.banker_pair,
            "playerPair": counts.player_pair,
        },
    )


def test_from_secret_to_roads(shuffle_vectors: Any) -> None:
    """The shoe of the first shuffle vector, played out, is the shoe of a road vector, its pairs included."""
    vector = shuffle_vectors[0]
    cuts = [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]
    shoe = shuffled_shoe(bytes.fromhex(vector["serverSeed"]), vector["decks"], vector["shoeNumber"], 14, cuts)
    roads = Roads.of(map(RoadRound.of, play_out(shoe)))
    known = next(vector for vector in VECTORS if vector["id"] == "R17")
    assert roads.letters == known["outcomes"]
    assert list(map(cell_values, roads.cells)) == known["bigRoad"]["cells"]
    assert roads.statistics.player_pair == known["counts"]["playerPair"]
    assert 0 < roads.statistics.player_natural < roads.statistics.rounds


# --- The second computation ---


def test_every_short_shoe_is_drawn_as_by_hand() -> None:
    for length in range(8):
        for letters in product("PBT", repeat=length):
            assert_drawn_as_by_hand("".join(letters))


@settings(deadline=None, max_examples=200)
@given(SHOES)
def test_any_shoe_is_drawn_as_by_hand(outcomes: str) -> None:
    assert_drawn_as_by_hand(outcomes)


def assert_drawn_as_by_hand(outcomes: str) -> None:
    roads = roads_of(outcomes)
    assert list(roads.bead_plate) == plain_roads.bead_plate_of(outcomes)
    assert list(roads.big_road.grid) == plain_roads.grid_of(outcomes.replace("T", ""))
    assert list(map(cell_values, roads.cells)) == plain_roads.cells_of(outcomes, set(), set())
    assert list(roads.runs) == list(map(len, plain_roads.columns_of(outcomes)))
    for road in DerivedRoad:
        marks = plain_roads.derived_marks(outcomes, road.offset)
        assert roads.derived(road).marks == marks
        assert list(roads.derived(road).grid) == plain_roads.grid_of(marks)
        for letter, side in SIDES.items():
            assert roads.next[side][road] == plain_roads.next_mark(outcomes, letter, road.offset)


# --- Round by round ---


class Picture:
    """Somebody who saw the roads once and from then on hears only what each round changed."""

    def __init__(self, roads: Roads) -> None:
        self.beads = list(roads.letters)
        self.big_road = {(cell.column, cell.row): cell for cell in roads.cells}
        self.derived = {
            road: dict(zip(roads.derived(road).places, roads.derived(road).marks, strict=True)) for road in DerivedRoad
        }

    def hear(self, roads: Roads) -> None:
        delta = roads.newest
        assert delta is not None
        assert delta.number == len(self.beads)
        self.beads.append(LETTERS[delta.round.outcome])
        if delta.cell is not None:
            self.big_road[delta.cell.column, delta.cell.row] = delta.cell
        for road, (column, row, colour) in delta.derived.items():
            assert Place(column, row) not in self.derived[road]
            self.derived[road][Place(column, row)] = colour

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and vars(self) == vars(other)


@settings(deadline=None)
@given(st.one_of(MARKED_ROUNDS, SHOES.map(lambda letters: list(map(RoadRound, parse_outcomes(letters))))), st.data())
def test_added_round_by_round_equals_drawn_whole(rounds: list[RoadRound], data: st.DataObject) -> None:
    seen = data.draw(st.integers(0, len(rounds)))
    roads = Roads.of(rounds[:seen])
    picture = Picture(roads)
    for number, played in enumerate(rounds[seen:], start=seen + 1):
        before, unchanged = roads, repr(roads)
        roads = roads.plus(played)
        assert repr(before) == unchanged
        assert roads == Roads.of(rounds[:number])
        picture.hear(roads)
    assert picture == Picture(Roads.of(rounds))


def test_nothing_is_newest_before_the_first_round() -> None:
    assert Roads().newest is None
    assert Roads().bead_plate == Roads().big_road.grid == ("",) * ROWS
    assert Roads().statistics == Statistics(*[0] * 8)


def test_a_tie_changes_the_last_cell_and_no_derived_road() -> None:
    delta = roads_of("BPBT").newest
    assert delta is not None
    assert delta.cell == BigRoadCell(2, 2, 0, Side.BANKER, 1, False, False)
    assert delta.derived == {}
    assert roads_of("BPBT").next == roads_of("BPB").next


@settings(deadline=None)
@given(SHOES, st.sampled_from(Side))
def test_next_is_what_the_next_decision_marks(outcomes: str, side: Side) -> None:
    roads = roads_of(outcomes)
    after = roads.plus(RoadRound(Outcome(side.value)))
    for road, mark in roads.next[side].items():
        assert after.derived(road).marks == roads.derived(road).marks + (mark or "")


def test_no_run_at_all_marks_nothing() -> None:
    assert newest_mark((), 1) is None


# --- Pairs and statistics ---


def test_dots_come_from_the_round_that_made_the_cell() -> None:
    tie_with_pairs = RoadRound(Outcome.TIE, player_pair=True, banker_pair=True)
    roads = Roads.of([tie_with_pairs, RoadRound(Outcome.BANKER, banker_pair=True), tie_with_pairs])
    assert list(map(cell_values, roads.cells)) == [[1, 0, 0, "B", 2, 1, 0]]
    assert roads.rounds[0].player_pair
    assert (roads.statistics.player_pair, roads.statistics.banker_pair) == (2, 3)


def test_a_round_is_kept_as_its_hands_show_it() -> None:
    hands = Hands(player=(Card("9h"), Card("9d")), banker=(Card("4s"), Card("4c")))
    assert RoadRound.of(hands) == RoadRound(Outcome.TIE, True, True, True, True)
    hands = Hands(player=(Card("Kh"), Card("Qd"), Card("Qs")), banker=(Card("2s"), Card("4c"), Card("2d")))
    assert RoadRound.of(hands) == RoadRound(Outcome.BANKER, False, False, False, False)
    assert is_pair((Card("Th"), Card("Tc")))
    assert not is_pair((Card("Th"), Card("Kh"), Card("Kc")))


@given(MARKED_ROUNDS)
def test_bl_029_the_counts_add_up(rounds: list[RoadRound]) -> None:
    """BL-029: player, banker and tie are the rounds of this shoe, also for who computes them late."""
    counts = Roads.of(rounds).statistics
    assert counts.player + counts.banker + counts.tie == counts.rounds == len(rounds)
    assert counts.player_natural == sum(played.player_natural for played in rounds)
    assert counts.banker_natural == sum(played.banker_natural for played in rounds)


def test_bl_029_three_ties_among_twenty() -> None:
    roads = roads_of("TPBPPTBBPBPPBBPTPBPB")
    assert roads.statistics.rounds == 20
    assert (roads.statistics.player, roads.statistics.banker, roads.statistics.tie) == (9, 8, 3)
    assert sum(cell.ties for cell in roads.cells) == 3
    assert len(roads.cells) == 17


def test_bl_030_a_shoe_begins_with_empty_roads() -> None:
    """BL-030: roads are a value of one shoe; those of the next know nothing of it."""
    before, now = roads_of("PBPBTPPBPB"), roads_of("BBPTB")
    assert before.statistics.rounds == 10
    assert now == Roads().plus(RoadRound(Outcome.BANKER)).plus(RoadRound(Outcome.BANKER)).plus(
        RoadRound(Outcome.PLAYER)
    ).plus(RoadRound(Outcome.TIE)).plus(RoadRound(Outcome.BANKER))
    assert now.statistics.rounds == 5


# --- What other scoreboards got wrong ---


def test_bl_020_the_result_after_stacked_ties_opens_its_own_column() -> None:
    """BL-020: `P B T T P`: three columns of one cell, the ties on B; big eye boy has one red mark."""
    roads = roads_of("PBTTP")
    assert columns_with_ties(roads) == ["P", "B2", "P"]
    assert roads.big_eye_boy.marks == "R"


def test_bl_021_a_tie_is_marked_once() -> None:
    """BL-021: `P T P B T B P`."""
    assert columns_with_ties(roads_of("PTPBTBP")) == ["P1P", "B1B", "P"]


def test_bl_023_the_same_side_after_a_tie_stays_in_its_column() -> None:
    """BL-023: `B P T P`: B, then P with a tie and P below it; big eye boy has one blue mark."""
    roads = roads_of("BPTP")
    assert columns_with_ties(roads) == ["B", "P1P"]
    assert roads.big_eye_boy.marks == "B"


def test_bl_024_a_long_streak_turns_right() -> None:
    """BL-024: eight B, then P: six down, two along the last row, P on top of the second column."""
    places = [(cell.column, cell.row) for cell in roads_of("B" * 8 + "P").cells]
    assert places == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 5), (2, 5), (1, 0)]


def test_bl_026_derived_roads_are_columns_that_turn_on_a_change() -> None:
    """BL-026: drawn by the big road's own rule, colours in place of sides."""
    roads = roads_of("PBPBPBPBPBPBPBPPBBPPBBPPBBPPBBPBBBPBBBPBBBPBBBPPBB")
    for road in DerivedRoad:
        colours = roads.derived(road).marks
        as_sides = roads_of(colours.replace("R", "P"))
        assert roads.derived(road).places == as_sides.big_road.places
        assert len(colours) > 40


def test_bl_027_a_road_wider_than_its_display_shows_its_end() -> None:
    """BL-027: 45 columns: the newest are visible, none is laid out anew, and the same again for who comes later."""
    outcomes = "BP" * 22 + "B"
    roads = roads_of(outcomes)
    assert roads.big_road.width == 45
    shown = window(roads.big_road.width, 20, roads.big_road.places[-1].column)
    assert shown == range(25, 45)
    assert clip(roads.big_road.grid, shown) == tuple(row[25:] for row in roads.big_road.grid)
    assert roads_of(outcomes) == roads


def test_bl_031_ties_before_the_first_decision_wait_for_it() -> None:
    """BL-031: `T T T`: a marker of three ties and no cell; then `B`: one cell that carries them."""
    roads = roads_of("TTT")
    assert (roads.tie_only_marker, roads.cells, roads.big_road.width) == (3, (), 0)
    assert roads.bead_plate == ("T", "T", "T", ".", ".", ".")
    after = roads.plus(RoadRound(Outcome.BANKER))
    assert after.tie_only_marker == 0
    assert columns_with_ties(after) == ["B3"]
    assert columns_with_ties(after.plus(RoadRound(Outcome.TIE))) == ["B4"]


# --- The window ---


@pytest.mark.parametrize(
    ("width", "columns", "newest", "shown"),
    [
        (0, 10, 0, range(0)),
        (4, 10, 3, range(4)),
        (10, 10, 9, range(10)),
        (15, 10, 14, range(5, 15)),
        (15, 10, 5, range(5, 15)),
        (15, 10, 4, range(10)),
        (30, 10, 12, range(3, 13)),
        (30, 1, 12, range(12, 13)),
    ],
)
def test_the_window_is_the_end_of_the_road_and_shows_the_newest_mark(
    width: int, columns: int, newest: int, shown: range
) -> None:
    assert window(width, columns, newest) == shown


@settings(deadline=None)
@given(SHOES.filter(lambda outcomes: outcomes.strip("T") != ""), st.integers(1, 30))
def test_the_newest_mark_is_always_in_the_window(outcomes: str, columns: int) -> None:
    road = roads_of(outcomes).big_road
    column, row = road.places[-1]
    shown = window(road.width, columns, column)
    assert len(shown) == min(columns, road.width)
    assert clip(road.grid, shown)[row][column - shown.start] == road.marks[-1]
    assert column not in range(road.width)[-columns:] or shown.stop == road.width


# --- Letters ---


def test_letters_are_read_past_white_space() -> None:
    assert parse_outcomes(" B\tP\nT\r\n\n") == (Outcome.BANKER, Outcome.PLAYER, Outcome.TIE)
    assert parse_outcomes("") == ()


@pytest.mark.parametrize(
    ("text", "letter", "number"), [("BXP", "X", 1), ("b", "b", 0), ("PB 0", "0", 2), ("Ｐ", "Ｐ", 0)]
)
def test_other_letters_are_refused(text: str, letter: str, number: int) -> None:
    with pytest.raises(UnknownOutcome) as refused:
        parse_outcomes(text)
    assert (refused.value.letter, refused.value.number) == (letter, number)
    assert "write P, B or T" in str(refused.value)


@given(st.text(alphabet="PBT", max_size=100))
def test_the_bead_plate_holds_every_round_in_its_order(letters: str) -> None:
    grid = draw_bead_plate(letters)
    assert len({len(row) for row in grid}) == 1
    assert "".join("".join(column) for column in zip(*grid, strict=True)).rstrip(EMPTY) == letters
