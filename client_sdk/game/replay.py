"""Deals a finished round again from its record, card by card, by the rules alone.

The record must be one that the rules make, up to its last card and its outcome; else ReplayDiffers says where it is
not. Read next: `tableau`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from client_sdk.game.cards import Card, hand_total
from client_sdk.game.errors import GameError
from client_sdk.game.tableau import Outcome, Side, decide, next_side


class ReplayDiffers(GameError):
    """The rules do not make this record. `cards` counts those that could be dealt before."""

    def __init__(self, cards: int, why: str) -> None:
        super().__init__(cards, why)
        self.cards = cards
        self.why = why

    def __str__(self) -> str:
        return f"after {self.cards} cards {self.why}"


@dataclass(frozen=True, slots=True)
class ReplayedCard:
    """A card that was dealt again; `total` is its hand's with it."""

    side: Side
    card: Card
    total: int


def replay_round(player: Sequence[Card], banker: Sequence[Card], outcome: Outcome | None) -> Iterator[ReplayedCard]:
    """Deal the recorded hands again and compare the outcome. No outcome: the round was voided, at whatever card.

    Raises ReplayDiffers, once the cards before the difference were yielded.
    """
    recorded = {Side.PLAYER: player, Side.BANKER: banker}
    dealt: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
    cards = 0
    while (side := next_side(dealt[Side.PLAYER], dealt[Side.BANKER])) is not None:
        hand = dealt[side]
        if len(hand) == len(recorded[side]):
            break
        hand.append(recorded[side][len(hand)])
        cards += 1
        yield ReplayedCard(side, hand[-1], hand_total(hand))
    if cards < len(player) + len(banker):
        raise ReplayDiffers(
            cards, f"the rules deal {f'to {side}' if side else 'no more'}, the record goes on otherwise"
        )
    if outcome is None:
        return
    if side is not None:
        raise ReplayDiffers(cards, f"the rules deal to {side}, the record ends")
    if (right := decide(dealt[Side.PLAYER], dealt[Side.BANKER])) != outcome:
        raise ReplayDiffers(cards, f"the outcome is {right}, the record says {outcome}")
