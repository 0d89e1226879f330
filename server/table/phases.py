"""The phases of a table and the steps between them, as tables.

A phase is a condition that everybody at the table can see; a step is something that the dealer does. A step that has no
entry under the present phase is refused and changes nothing: the missing entry is the refusal. The steps themselves are
in `machine.py`; the diagram in docs/table.md is printed from these tables by `diagram.py`.

A round walks once around: betting is opened for a stated time, closed, cards are dealt one by one until the tableau is
satisfied, the outcome is declared, every bet is settled, and the result stands for a while. Then betting opens again,
or, where nobody is seated, the table falls idle with its shoe as it lies. A round can be voided as long as it is not
decided: then it is settled by giving every stake back, and its shoe ends. The operator may pause a table between two
rounds, and close an idle one whose shoe has ended. Nothing here waits: `machine.due` announces
which step comes next and when, and the dealer keeps that appointment.
"""

from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Phase(StrEnum):
    """What a table is doing."""

    IDLE = "idle"
    BETTING = "betting"
    DEALING = "dealing"
    SETTLING = "settling"
    PAUSED = "paused"
    CLOSED = "closed"


class Step(StrEnum):
    """What a dealer does next."""

    CHANGE_RULES = "change_rules"
    START_SHOE = "start_shoe"
    OPEN_BETTING = "open_betting"
    EXTEND_BETTING = "extend_betting"
    CLOSE_BETTING = "close_betting"
    SHUFFLE_SHOE = "shuffle_shoe"
    BURN_CARDS = "burn_cards"
    DEAL_CARD = "deal_card"
    DECLARE_OUTCOME = "declare_outcome"
    VOID_ROUND = "void_round"
    FINISH_ROUND = "finish_round"
    BREAK_SHOE = "break_shoe"
    FALL_IDLE = "fall_idle"
    PAUSE = "pause"
    RESUME = "resume"
    CLOSE = "close"


NEXT_PHASE: Final = MappingProxyType(
    {
        Phase.IDLE: {
            Step.CHANGE_RULES: Phase.IDLE,
            Step.BREAK_SHOE: Phase.IDLE,
            Step.START_SHOE: Phase.IDLE,
            Step.OPEN_BETTING: Phase.BETTING,
            Step.PAUSE: Phase.PAUSED,
            Step.CLOSE: Phase.CLOSED,
        },
        Phase.BETTING: {
            Step.EXTEND_BETTING: Phase.BETTING,
            Step.CLOSE_BETTING: Phase.DEALING,
            Step.VOID_ROUND: Phase.SETTLING,
        },
        Phase.DEALING: {
            Step.SHUFFLE_SHOE: Phase.DEALING,
            Step.BURN_CARDS: Phase.DEALING,
            Step.DEAL_CARD: Phase.DEALING,
            Step.DECLARE_OUTCOME: Phase.SETTLING,
            Step.VOID_ROUND: Phase.SETTLING,
        },
        Phase.SETTLING: {
            Step.FINISH_ROUND: Phase.SETTLING,
            Step.CHANGE_RULES: Phase.SETTLING,
            Step.BREAK_SHOE: Phase.SETTLING,
            Step.START_SHOE: Phase.SETTLING,
            Step.OPEN_BETTING: Phase.BETTING,
            Step.FALL_IDLE: Phase.IDLE,
            Step.PAUSE: Phase.PAUSED,
        },
        Phase.PAUSED: {
            Step.BREAK_SHOE: Phase.PAUSED,
            Step.FALL_IDLE: Phase.IDLE,
            Step.RESUME: Phase.IDLE,
        },
        Phase.CLOSED: {
            Step.RESUME: Phase.IDLE,
        },
    }
)
"""Which phase a step leads to; no entry means that the step is refused."""


class StepRefused(Exception):
    """A step was asked for that the table's condition does not have; a fault of the dealer, never of a patron."""

    def __init__(self, step: Step, phase: Phase, reason: str = "") -> None:
        super().__init__(step, phase, reason)
        self.step = step
        self.phase = phase
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.step} while {self.phase}" + (f": {self.reason}" if self.reason else "")


def phase_after(phase: Phase, step: Step) -> Phase:
    """Look the step up. Raises `StepRefused`."""
    try:
        return NEXT_PHASE[phase][step]
    except KeyError:
        raise StepRefused(step, phase) from None
