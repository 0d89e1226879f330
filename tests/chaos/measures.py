"""From records to milliseconds: how soon after a fault a table went on, and how late its next step came. Pure.

All instants are this machine's wall clock: nodes, store and seats are on one machine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from client_sdk.protocol.messages import Message
from tests.chaos.tape import Word
from tests.support.house import Claim

LEAD_MS_MAX: Final = 150
"""A card is sent so long before it is shown, or one card's time where that is less."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was done. `tables` are those it should touch; `over_ms` is when it was undone, where it was and
    nobody could go on before."""

    name: str
    at_ms: float
    tables: frozenset[str]
    over_ms: float | None = None


class Recovery(NamedTuple):
    """How one table came out of one fault, in milliseconds after it. `claim_ms` is None where its owner stayed."""

    table: str
    claim_ms: float | None
    commit_ms: float
    late_ms: float


def recoveries(
    faults: Sequence[Fault], claims: Sequence[Claim], firsts: Mapping[str, Sequence[Word]], card_ms: int
) -> list[Recovery]:
    """Look at every table of every fault; one that did nothing more is left out (the stage has waited for it)."""
    found = []
    for number, fault in enumerate(faults):
        until_ms = faults[number + 1].at_ms if number + 1 < len(faults) else float("inf")
        for table in sorted(fault.tables):
            claimed = [claim.at_ms for claim in claims if claim.table == table and fault.at_ms < claim.at_ms < until_ms]
            claim_ms = claimed[0] if claimed else None
            from_ms = claim_ms if claim_ms is not None else fault.over_ms or fault.at_ms
            step = _first_step(firsts.get(table, ()), from_ms, card_ms)
            if step is not None:
                commit_ms, late_ms = step
                found.append(
                    Recovery(
                        table,
                        None if claim_ms is None else claim_ms - fault.at_ms,
                        commit_ms - fault.at_ms,
                        late_ms,
                    )
                )
    return found


class Step(NamedTuple):
    """An event of a table: when it came, and how long after the instant it was due at."""

    at_ms: float
    late_ms: float
    message: Message


def steps(words: Iterable[Word], card_ms: int) -> Iterator[Step]:
    """Every event of one table that follows directly upon the one before it."""
    due_ms = 0.0
    for before, word in pairwise(words):
        due_ms = _due_at_ms(before, due_ms, card_ms)
        if word.message["seq"] == before.message["seq"] + 1:
            yield Step(word.at_ms, max(0.0, word.at_ms - due_ms), word.message)


def _due_at_ms(word: Word, due_before_ms: float, card_ms: int) -> float:
    """When the step after this event was due; `due_before_ms` says when the event itself was."""
    event, lead_ms = word.message, min(LEAD_MS_MAX, card_ms)
    match event["type"]:
        case "betting_opened" | "betting_extended":
            return float(event["closes_at_ms"])
        case "betting_closed":
            return float(event["closed_at_ms"] + card_ms - lead_ms)
        case "cards_burned" | "card_dealt":
            return float(event["show_at_ms"] + card_ms - lead_ms)
        case "round_settled":
            return float(event["next_at_ms"])
        case "shoe_shuffled" | "shoe_ended":  # come between two steps, and move neither
            return max(due_before_ms, word.at_ms)
        case _:
            return word.at_ms


def _first_step(words: Sequence[Word], from_ms: float, card_ms: int) -> tuple[float, float] | None:
    """The first event from an instant on: when it came, and how late it was. Time given back is no step of a round."""
    commit_ms: float | None = None
    for step in steps(words, card_ms):
        if step.at_ms < from_ms:
            continue
        if commit_ms is None:
            commit_ms = step.at_ms
        if step.message["type"] not in ("betting_extended", "round_voided"):
            return commit_ms, step.late_ms
    return None


def lateness_ms(firsts: Mapping[str, Sequence[Word]], card_ms: int) -> list[float]:
    """How late every step of every table came."""
    return [step.late_ms for words in firsts.values() for step in steps(words, card_ms)]


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which this share lies; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
