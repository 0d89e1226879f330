"""The tables of phases and steps: every pair that is there, every pair that is not, and the diagram made from them."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from server.table.diagram import mermaid
from server.table.phases import NEXT_PHASE, Phase, Step, StepRefused, phase_after

ROOT = Path(__file__).resolve().parents[3]

# Written out a second time, by hand: what a table does, and nothing else.
ALLOWED = {
    (Phase.IDLE, Step.CHANGE_RULES): Phase.IDLE,
    (Phase.IDLE, Step.BREAK_SHOE): Phase.IDLE,
    (Phase.IDLE, Step.START_SHOE): Phase.IDLE,
    (Phase.IDLE, Step.OPEN_BETTING): Phase.BETTING,
    (Phase.BETTING, Step.EXTEND_BETTING): Phase.BETTING,
    (Phase.BETTING, Step.CLOSE_BETTING): Phase.DEALING,
    (Phase.BETTING, Step.VOID_ROUND): Phase.SETTLING,
    (Phase.DEALING, Step.SHUFFLE_SHOE): Phase.DEALING,
    (Phase.DEALING, Step.BURN_CARDS): Phase.DEALING,
    (Phase.DEALING, Step.DEAL_CARD): Phase.DEALING,
    (Phase.DEALING, Step.DECLARE_OUTCOME): Phase.SETTLING,
    (Phase.DEALING, Step.VOID_ROUND): Phase.SETTLING,
    (Phase.SETTLING, Step.FINISH_ROUND): Phase.SETTLING,
    (Phase.SETTLING, Step.CHANGE_RULES): Phase.SETTLING,
    (Phase.SETTLING, Step.BREAK_SHOE): Phase.SETTLING,
    (Phase.SETTLING, Step.START_SHOE): Phase.SETTLING,
    (Phase.SETTLING, Step.OPEN_BETTING): Phase.BETTING,
    (Phase.SETTLING, Step.FALL_IDLE): Phase.IDLE,
    (Phase.IDLE, Step.PAUSE): Phase.PAUSED,
    (Phase.IDLE, Step.CLOSE): Phase.CLOSED,
    (Phase.SETTLING, Step.PAUSE): Phase.PAUSED,
    (Phase.PAUSED, Step.BREAK_SHOE): Phase.PAUSED,
    (Phase.PAUSED, Step.FALL_IDLE): Phase.IDLE,
    (Phase.PAUSED, Step.RESUME): Phase.IDLE,
    (Phase.CLOSED, Step.RESUME): Phase.IDLE,
}


@pytest.mark.parametrize(("phase", "step"), list(product(Phase, Step)))
def test_every_pair_leads_where_the_table_says_or_is_refused(phase: Phase, step: Step) -> None:
    if (phase, step) in ALLOWED:
        assert phase_after(phase, step) is ALLOWED[phase, step]
        return
    with pytest.raises(StepRefused) as refused:
        phase_after(phase, step)
    assert (refused.value.step, refused.value.phase) == (step, phase)
    assert str(refused.value) == f"{step.value} while {phase.value}"


def test_every_phase_and_every_step_is_used() -> None:
    assert set(NEXT_PHASE) == set(Phase)
    assert {step for _, step in ALLOWED} == set(Step)
    assert set(ALLOWED.values()) == set(Phase)


def test_a_refusal_says_why() -> None:
    assert str(StepRefused(Step.START_SHOE, Phase.IDLE, "a shoe is open")) == "start_shoe while idle: a shoe is open"


# --- The diagram ------------------------------------------------------------------------------------------------------


def test_the_diagram_draws_every_entry_and_no_other() -> None:
    drawn = set()
    for line in mermaid().splitlines()[2:]:
        arrow, labels = line.strip().split(": ")
        start, end = arrow.split(" --> ")
        drawn |= {(Phase(start), Step(label), Phase(end)) for label in labels.split(", ")}
    assert drawn == {(phase, step, to) for (phase, step), to in ALLOWED.items()}
    assert mermaid().startswith("stateDiagram-v2\n    [*] --> idle\n")


def test_the_diagram_in_the_documents_is_the_one_that_is_printed() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "server.table.diagram"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert printed.stdout == mermaid()
    document = (ROOT / "docs" / "table.md").read_text()
    between = document.partition("<!-- diagram: begin -->\n")[2].partition("<!-- diagram: end -->")[0]
    assert between == f"```mermaid\n{mermaid()}```\n"
