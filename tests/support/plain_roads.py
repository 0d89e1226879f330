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
