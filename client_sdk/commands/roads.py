"""`punto roads`: draws the roads of the outcomes that come in as letters.

As JSON the roads have the names of the code, and what lies inside them the spelling in which roads are exchanged
elsewhere: six strings a grid, seven values a cell. It must never compute a road: `client_sdk.game.roads` does. Read
next: that module.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from client_sdk.commands.arguments import BadArgument, Subparsers, add_json
from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.road_layout import EMPTY, ROWS, Grid, Layout, clip, window
from client_sdk.game.road_rounds import RoadRound, parse_outcomes
from client_sdk.game.roads import BigRoadCell, Roads
from client_sdk.game.tableau import Side

OUTCOMES_MAX: Final = 10_000
_INPUT_BYTES_MAX: Final = 2**20

_NAMES_ELSEWHERE: Final = {
    DerivedRoad.BIG_EYE_BOY: "bigEyeBoy",
    DerivedRoad.SMALL_ROAD: "smallRoad",
    DerivedRoad.COCKROACH_PIG: "cockroachPig",
}
_SIDE_LETTERS: Final = {Side.PLAYER: "P", Side.BANKER: "B"}

# The bright ones: the plain blue can hardly be read on black.
_RED, _GREEN, _BLUE, _DIM, _BOLD = "91", "32", "94", "2", "1"
_NO_COLOURS: Final[Mapping[str, str]] = {}
_OUTCOME_COLOURS: Final = {"B": _RED, "P": _BLUE, "T": _GREEN, EMPTY: _DIM}
_DERIVED_COLOURS: Final = {"R": _RED, "B": _BLUE, EMPTY: _DIM}

_CELL_CHARS: Final = 2
_TIES_SHOWN_MAX: Final = 9
_COLUMNS_MIN: Final = 10


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto roads` takes."""
    parser = subparsers.add_parser("roads", help="draw the roads of outcomes read from standard input (B, P, T)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the roads. Raises BadArgument and GameError for what cannot be read."""
    roads = _read()
    print(json.dumps(_as_json(roads)) if args.json else "\n".join(_as_text(roads, sys.stdout.isatty())))
    return 0


def _read() -> Roads:
    content = sys.stdin.buffer.read(_INPUT_BYTES_MAX + 1)
    outcomes = parse_outcomes(content.decode("utf-8", "replace"))
    if len(content) > _INPUT_BYTES_MAX or len(outcomes) > OUTCOMES_MAX:
        raise BadArgument(f"too many outcomes: {OUTCOMES_MAX} are drawn at most")
    return Roads.of(map(RoadRound, outcomes))


def _as_json(roads: Roads) -> dict[str, object]:
    statistics = roads.statistics
    return {
        "rounds": statistics.rounds,
        "counts": {"player": statistics.player, "banker": statistics.banker, "tie": statistics.tie},
        "bead_plate": roads.bead_plate,
        "big_road": {
            "grid": roads.big_road.grid,
            "logicalColumns": roads.runs,
            "cells": [_cell_as_json(cell) for cell in roads.cells],
            "leadingTiesBeforeAnyDecision": roads.tie_only_marker,
            "tieOnlyMarker": roads.tie_only_marker,
        },
        **{road.value: _derived_as_json(roads.derived(road)) for road in DerivedRoad},
        "next": {
            side.value: {_NAMES_ELSEWHERE[road]: mark for road, mark in marks.items()}
            for side, marks in roads.next.items()
        },
    }


def _cell_as_json(cell: BigRoadCell) -> list[object]:
    pairs = int(cell.banker_pair), int(cell.player_pair)
    return [cell.round, cell.column, cell.row, _SIDE_LETTERS[cell.side], cell.ties, *pairs]


def _derived_as_json(layout: Layout) -> dict[str, object]:
    return {"marks": layout.marks, "grid": layout.grid}


def _as_text(roads: Roads, is_terminal: bool) -> Iterator[str]:
    """Draw for a terminal as wide as it is and in colour, else plain and whole."""
    is_coloured = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    columns = max(_COLUMNS_MIN, shutil.get_terminal_size().columns // _CELL_CHARS) if is_terminal else sys.maxsize
    outcome_colours = _OUTCOME_COLOURS if is_coloured else _NO_COLOURS
    derived_colours = _DERIVED_COLOURS if is_coloured else _NO_COLOURS
    width = len(roads.bead_plate[0])
    yield _painted("bead plate", _BOLD, is_coloured)
    yield from _drawn(clip(roads.bead_plate, window(width, columns, width)), outcome_colours)
    yield ""
    yield _painted("big road", _BOLD, is_coloured) + " (a number counts the ties on its cell)"
    yield from _big_road_as_text(roads, columns, outcome_colours)
    for road in DerivedRoad:
        layout = roads.derived(road)
        yield ""
        yield _painted(_title(road), _BOLD, is_coloured)
        yield from _drawn(clip(layout.grid, _shown(layout, columns)), derived_colours)
    yield ""
    for side, marks in roads.next.items():
        told = (f"{_title(road)} {_marked(mark or EMPTY, derived_colours)}" for road, mark in marks.items())
        yield f"next, if {side}: {', '.join(told)}"
    counts = roads.statistics
    yield f"{counts.rounds} rounds: player {counts.player}, banker {counts.banker}, tie {counts.tie}"


def _big_road_as_text(roads: Roads, columns: int, colours: Mapping[str, str]) -> Iterator[str]:
    if roads.tie_only_marker:
        return _drawn(("T", *[EMPTY] * (ROWS - 1)), colours, {(0, 0): roads.tie_only_marker})
    shown = _shown(roads.big_road, columns)
    ties = {(cell.column - shown.start, cell.row): cell.ties for cell in roads.cells}
    return _drawn(clip(roads.big_road.grid, shown), colours, ties)


def _shown(layout: Layout, columns: int) -> range:
    newest = layout.places[-1].column if layout.places else 0
    return window(layout.width, columns, newest)


def _drawn(grid: Grid, colours: Mapping[str, str], ties: Mapping[tuple[int, int], int] | None = None) -> Iterator[str]:
    """Draw each cell as its letter and the count of its ties, or a space."""
    counts = ties or {}
    if not grid[0]:
        yield "nothing yet"
        return
    for number, row in enumerate(grid):
        cells = (
            _marked(letter, colours) + _ties_as_text(counts.get((column, number), 0), colours)
            for column, letter in enumerate(row)
        )
        yield "".join(cells).rstrip()


def _marked(letter: str, colours: Mapping[str, str]) -> str:
    return _painted(letter, colours.get(letter, ""), letter in colours)


def _ties_as_text(ties: int, colours: Mapping[str, str]) -> str:
    if ties == 0:
        return " "
    return _painted(str(ties) if ties <= _TIES_SHOWN_MAX else "+", _GREEN, bool(colours))


def _painted(text: str, colour: str, is_coloured: bool) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if is_coloured else text


def _title(road: DerivedRoad) -> str:
    return road.replace("_", " ")
