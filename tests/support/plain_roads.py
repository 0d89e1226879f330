"""The roads once more, drawn by hand: cell by cell into a dictionary, derived marks by looking at neighbour columns.

Written apart from `client_sdk.game`, to be compared with it. Nothing here is quick, and nothing grows: every road is
drawn from the first round on.
"""

from itertools import groupby
from typing import Any

ROWS = 6


def columns_of(outcomes: str) -> list[str]:
    """The decisions in columns as long as they get, ties left out."""
    return ["".join(run) for _, run in groupby(outcomes.replace("T", ""))]


def laid_out(marks: str) -> dict[tuple[int, int], int]:
    """Place (column, row) -> number of the mark that lies there."""
    taken: dict[tuple[int, int], int] = {}
    column = row = 0
    for number, mark in enumerate(marks):
        if number and mark == marks[number - 1]:
            if row + 1 < ROWS and (column, row + 1) not in taken:
                row += 1
            else:
                column += 1
        else:
            column, row = 0, 0
            while (column, row) in taken:
                column += 1
        assert (column, row) not in taken, f"mark {number} of {marks} covers another"
        taken[column, row] = number
    return taken


def grid_of(marks: str) -> list[str]:
    taken = laid_out(marks)
    width = max((column + 1 for column, _ in taken), default=0)
    return [
        "".join(marks[taken[column, row]] if (column, row) in taken else "." for column in range(width))
        for row in range(ROWS)
    ]


def bead_plate_of(outcomes: str) -> list[str]:
    width = (len(outcomes) + ROWS - 1) // ROWS
    filled = outcomes.ljust(width * ROWS, ".")
    return [filled[row::ROWS] for row in range(ROWS)]


def derived_marks(outcomes: str, columns_back: int) -> str:
    """Casino wording. A cell on top: are the two columns to the left equally long? Any other cell: of the column so far
    back, look at the cell beside ours and the one above that; both filled or both empty is red."""
    columns = columns_of(outcomes)
    marks = ""
    for number, column in enumerate(columns):
        for row in range(len(column)):
            if row == 0:
                left, other = number - 1, number - 1 - columns_back
                if other >= 0:
                    marks += "R" if len(columns[left]) == len(columns[other]) else "B"
            elif number - columns_back >= 0:
                beside = columns[number - columns_back]
                is_filled, is_filled_above = row < len(beside), row - 1 < len(beside)
                marks += "R" if is_filled == is_filled_above else "B"
    return marks


def next_mark(outcomes: str, decision: str, columns_back: int) -> str | None:
    """The mark that one more decision adds, if it adds one."""
    before, after = derived_marks(outcomes, columns_back), derived_marks(outcomes + decision, columns_back)
    assert after.startswith(before), "marks that were made stay"
    return after[len(before) :] or None


def cells_of(outcomes: str, banker_pairs: set[int], player_pairs: set[int]) -> list[list[Any]]:
    """[round, column, row, side, ties, banker pair, player pair] of every big-road cell."""
    decided = [number for number, outcome in enumerate(outcomes) if outcome != "T"]
    places = {number: place for place, number in laid_out(outcomes.replace("T", "")).items()}
    cells: list[list[Any]] = []
    waiting = 0
    for number, outcome in enumerate(outcomes):
        if outcome != "T":
            column, row = places[decided.index(number)]
            pairs = int(number in banker_pairs), int(number in player_pairs)
            cells.append([number, column, row, outcome, waiting, *pairs])
            waiting = 0
        elif cells:
            cells[-1][4] += 1
        else:
            waiting += 1
    return cells


# --- on the wire (PROTOCOL.md, section 16) ----------------------------------------------------------------------------

ROADS = {"big_eye_boy": 1, "small_road": 2, "cockroach_pig": 3}


def bead_of(outcome: str, player: list[str], banker: list[str], naturals: tuple[bool, bool]) -> str:
    """The three letters of a round."""
    pairs = player[0][0] == player[1][0], banker[0][0] == banker[1][0]
    return outcome[0].upper() + _whose(*pairs) + _whose(*naturals)


def whole(beads: str, rounds_max: int | None) -> dict[str, Any]:
    """`roads` of a snapshot, as they must be after these rounds."""
    outcomes = beads[::3]
    decisions = outcomes.replace("T", "")
    return {
        "beads": beads,
        "rounds_max": rounds_max,
        "big_road": {
            "marks": decisions,
            "places": _places(decisions),
            "ties": [cell[4] for cell in cells_of(outcomes, set(), set())],
        },
        "derived": {
            road: {"marks": marks, "places": _places(marks)}
            for road, back in ROADS.items()
            for marks in [derived_marks(outcomes, back)]
        },
        "next": {
            side: {road: next_mark(outcomes, side[0].upper(), back) for road, back in ROADS.items()}
            for side in ("banker", "player")
        },
        "statistics": {
            "rounds": len(outcomes),
            **{side: outcomes.count(side[0].upper()) for side in ("player", "banker", "tie")},
            **{f"{side}_natural": _count(beads[2::3], side) for side in ("player", "banker")},
            **{f"{side}_pair": _count(beads[1::3], side) for side in ("player", "banker")},
        },
    }


def after(roads: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """What a client has after `roads` of a `round_decided`, by that section's words."""
    big_road, newest = roads["big_road"], delta["big_road"]
    marks, places, ties = big_road["marks"], [*big_road["places"]], [*big_road["ties"]]
    if newest is not None and newest["number"] == len(marks):
        marks, places, ties = marks + newest["mark"], [*places, newest["place"]], [*ties, newest["ties"]]
    elif newest is not None:
        ties[newest["number"]] = newest["ties"]
    derived = dict(roads["derived"])
    for road, mark in delta["derived"].items():
        known = derived[road]
        derived[road] = {"marks": known["marks"] + mark["mark"], "places": [*known["places"], mark["place"]]}
    outcome, pairs, naturals = delta["bead"]
    statistics = dict(roads["statistics"])
    statistics["rounds"] += 1
    statistics[{"P": "player", "B": "banker", "T": "tie"}[outcome]] += 1
    for side in ("player", "banker"):
        statistics[f"{side}_pair"] += _count(pairs, side)
        statistics[f"{side}_natural"] += _count(naturals, side)
    return {
        "beads": roads["beads"] + delta["bead"],
        "rounds_max": roads["rounds_max"],
        "big_road": {"marks": marks, "places": places, "ties": ties},
        "derived": derived,
        "next": delta["next"],
        "statistics": statistics,
    }


def _places(marks: str) -> list[int]:
    return [column * ROWS + row for column, row in laid_out(marks)]


def _whose(player: bool, banker: bool) -> str:
    return {(False, False): ".", (True, False): "P", (False, True): "B", (True, True): "2"}[player, banker]


def _count(letters: str, side: str) -> int:
    return letters.count(side[0].upper()) + letters.count("2")
