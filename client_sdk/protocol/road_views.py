"""The roads as the wire tells them: whole, and what one round changed.

Pure. The house tells by `roads_view` and `roads_delta` what `client_sdk.game.roads` has computed; a mirror keeps up by
`roads_after`, which computes no road. Read next: `client_sdk.game.roads`.
"""

from dataclasses import asdict

from msgspec.structs import replace

from client_sdk.game.beads import read_beads, write_bead, write_beads
from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.road_layout import ROWS, Layout, Place
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.roads import BigRoadCell, Roads
from client_sdk.game.tableau import Outcome
from client_sdk.protocol.messages import (
    BigRoadMark,
    BigRoadView,
    DerivedMark,
    DerivedRoadView,
    RoadsDelta,
    RoadStatistics,
    RoadsView,
)


def roads_view(roads: Roads, rounds_max: int | None) -> RoadsView:
    """Tell all of it; after `rounds_max` rounds they begin anew (None: with each shoe)."""
    return RoadsView(
        beads=write_beads(roads.rounds),
        rounds_max=rounds_max,
        big_road=BigRoadView(
            marks=roads.big_road.marks, places=_numbers(roads.big_road), ties=[cell.ties for cell in roads.cells]
        ),
        derived={road: _derived_view(roads.derived(road)) for road in DerivedRoad},
        next=roads.next,
        statistics=RoadStatistics(**asdict(roads.statistics)),
    )


def roads_delta(roads: Roads) -> RoadsDelta:
    """Tell what the newest round changed; there must be one."""
    newest = roads.newest
    assert newest is not None, "a round was played"
    return RoadsDelta(
        bead=write_bead(newest.round),
        big_road=None if newest.cell is None else _big_road_mark(newest.cell, roads),
        derived={
            road: DerivedMark(mark=cell.colour, place=_number(Place(cell.column, cell.row)))
            for road, cell in newest.derived.items()
        },
        next=roads.next,
    )


def roads_after(view: RoadsView, delta: RoadsDelta) -> RoadsView:
    """Return the roads with one more round. Raises BadBeads where the delta's bead can't be read."""
    (played,) = read_beads(delta.bead)
    return replace(
        view,
        beads=view.beads + delta.bead,
        big_road=view.big_road if delta.big_road is None else _big_road_after(view.big_road, delta.big_road),
        derived=view.derived | {road: _derived_after(view.derived[road], mark) for road, mark in delta.derived.items()},
        next=delta.next,
        statistics=_statistics_after(view.statistics, played),
    )


def _big_road_mark(cell: BigRoadCell, roads: Roads) -> BigRoadMark:
    number = len(roads.decided) - 1
    place = _number(Place(cell.column, cell.row))
    return BigRoadMark(number=number, mark=roads.big_road.marks[number], place=place, ties=cell.ties)


def _big_road_after(view: BigRoadView, newest: BigRoadMark) -> BigRoadView:
    if newest.number < len(view.marks):  # a tie more on the newest cell
        return replace(view, ties=[*view.ties[:-1], newest.ties])
    return BigRoadView(
        marks=view.marks + newest.mark, places=[*view.places, newest.place], ties=[*view.ties, newest.ties]
    )


def _derived_view(layout: Layout) -> DerivedRoadView:
    return DerivedRoadView(marks=layout.marks, places=_numbers(layout))


def _derived_after(view: DerivedRoadView, newest: DerivedMark) -> DerivedRoadView:
    return DerivedRoadView(marks=view.marks + newest.mark, places=[*view.places, newest.place])


def _statistics_after(counts: RoadStatistics, played: RoadRound) -> RoadStatistics:
    return RoadStatistics(
        rounds=counts.rounds + 1,
        player=counts.player + (played.outcome is Outcome.PLAYER),
        banker=counts.banker + (played.outcome is Outcome.BANKER),
        tie=counts.tie + (played.outcome is Outcome.TIE),
        player_natural=counts.player_natural + played.player_natural,
        banker_natural=counts.banker_natural + played.banker_natural,
        player_pair=counts.player_pair + played.player_pair,
        banker_pair=counts.banker_pair + played.banker_pair,
    )


def _numbers(layout: Layout) -> list[int]:
    return [_number(place) for place in layout.places]


def _number(place: Place) -> int:
    """Count the cells of a road column by column."""
    return place.column * ROWS + place.row
