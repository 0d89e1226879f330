"""What every round must look like to whoever follows its numbered events, judged by the plain rules."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.support import plain_roads, plain_rules
from tests.support.raw_client import Message


def whole_rounds(events: Iterable[Message]) -> list[list[Message]]:
    """Cut a table's numbered events into rounds, each from betting_opened to round_settled; cut-off ones are left
    out."""
    rounds: list[list[Message]] = []
    current: list[Message] | None = None
    for event in events:
        if event["type"] == "betting_opened":
            current = []
        if current is not None:
            current.append(event)
            if event["type"] == "round_settled":
                rounds.append(current)
                current = None
    return rounds


def cards_of(events: Iterable[Message]) -> list[str]:
    """The cards of a round in deal order."""
    return [event["card"] for event in events if event["type"] == "card_dealt"]


def check_round(events: Sequence[Message]) -> plain_rules.Played:
    """Check one whole round: the order of its events, its cards by the plain rules, its instants. Returns what was
    played."""
    kinds = [event["type"] for event in events]
    cards = cards_of(events)
    extended = [event for event in events if event["type"] == "betting_extended"]
    burned = [kind for kind in ("shoe_shuffled", "cards_burned") if kind in kinds]
    assert kinds == [
        *("betting_opened", *(["betting_extended"] * len(extended)), "betting_closed", *burned),
        *(["card_dealt"] * len(cards)),
        *("round_decided", "round_settled"),
    ]
    assert [event["seq"] for event in events] == list(range(events[0]["seq"], events[0]["seq"] + len(events)))
    assert len({event["round"] for event in events}) == 1
    opened, closed, decided, settled = events[0], events[1 + len(extended)], events[-2], events[-1]
    played = plain_rules.play(cards)
    dealt = [event for event in events if event["type"] == "card_dealt"]
    assert [event["side"] for event in dealt] == played.sides
    _check_totals(dealt)
    assert [event["remaining"] for event in dealt] == [dealt[0]["remaining"] - n for n in range(len(dealt))]
    assert decided["outcome"] == played.outcome
    assert (decided["player"], decided["banker"]) == (played.player, played.banker)
    assert decided["player_total"] == plain_rules.total(played.player)
    assert decided["banker_total"] == plain_rules.total(played.banker)
    for side, hand in (("player", played.player), ("banker", played.banker)):
        assert decided[f"{side}_natural"] is (len(hand) == 2 and plain_rules.total(hand) >= 8)
    naturals = decided["player_natural"], decided["banker_natural"]
    bead = plain_roads.bead_of(played.outcome, played.player, played.banker, naturals)
    assert decided["roads"]["bead"] == bead
    shown = [event["show_at_ms"] for event in events if "show_at_ms" in event]
    assert all(earlier <= later for earlier, later in pairwise([closed["closed_at_ms"], *shown, settled["next_at_ms"]]))
    closes_at_ms = (extended or [opened])[-1]["closes_at_ms"]
    if closed["early"]:
        assert opened["opened_at_ms"] <= closed["closed_at_ms"] < closes_at_ms
    else:
        assert closed["closed_at_ms"] == closes_at_ms
    return played


def _check_totals(dealt: Sequence[Message]) -> None:
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for event in dealt:
        hands[event["side"]].append(event["card"])
        assert event["total"] == plain_rules.total(hands[event["side"]])
