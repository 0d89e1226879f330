"""The table's phases as a mermaid state diagram, made from `phases.NEXT_PHASE` and never drawn by hand.

docs/table.md holds a copy; a test compares the two. `python -m server.table.diagram` prints it.
"""

from collections.abc import Callable

from server.table.phases import NEXT_PHASE, Phase
from server.table.state import TableState


def mermaid() -> str:
    """Draw every entry of the table, the steps between two phases on one arrow; ends with a newline."""
    lines = ["stateDiagram-v2", f"    [*] --> {TableState().phase}"]
    for phase, steps in NEXT_PHASE.items():
        for to in Phase:
            labels = [step.value for step, leads_to in steps.items() if leads_to is to]
            if labels:
                lines.append(f"    {phase} --> {to}: {', '.join(labels)}")
    return "\n".join(lines) + "\n"


def main(write: Callable[[str], object]) -> None:
    """Hand the diagram to whoever writes it down: this package does no I/O of its own."""
    write(mermaid().rstrip("\n"))


if __name__ == "__main__":
    main(print)
