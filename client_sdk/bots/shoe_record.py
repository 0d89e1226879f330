"""One shoe as it was seen being dealt: its number, its rounds, and how many cards are left in it.

What its cards, proofs and secret show is `client_sdk.auditor`'s. Pure.
"""

from dataclasses import dataclass

from client_sdk.bots.findings import Found, Kind
from client_sdk.protocol.messages import (
    BettingOpened,
    CardDealt,
    CardsBurned,
    ShoeEnded,
    ShoeStarted,
    ShoeView,
    TableRules,
)


@dataclass(slots=True)
class ShoeRecord:
    """What is known of the shoe on the table. `rounds` is None where its first round was not seen."""

    number: int
    cards: int
    cut_card: int | None
    remaining: int
    rounds: int | None
    is_last_round: bool = False
    is_ended: bool = False

    @classmethod
    def started(cls, event: ShoeStarted) -> "ShoeRecord":
        """Take in a fresh shoe."""
        return cls(event.shoe, event.cards, event.cut_card, event.cards, rounds=0)

    @classmethod
    def seen(cls, view: ShoeView, rules: TableRules) -> "ShoeRecord":
        """Take in a shoe as a snapshot shows it, some of its cards dealt before we looked."""
        return cls(
            number=view.number,
            cards=view.cards,
            cut_card=rules.cut_card,
            remaining=view.remaining,
            rounds=None,
            is_last_round=view.is_last_round,
        )

    def opens_round(self, event: BettingOpened) -> Found:
        """Check that the round belongs to this shoe, and is called its last exactly where the cut card says so."""
        found: Found = []
        if event.shoe != self.number or self.is_ended:
            found.append((Kind.SHOE, f"a round from shoe {event.shoe} while shoe {self.number} lies on the table"))
        if self.is_last_round and not self.is_ended:
            found.append((Kind.SHOE, f"a round after the last one of shoe {self.number}"))
        is_last_round = self.cut_card is None or self.remaining <= self.cut_card
        if event.is_last_round is not is_last_round:
            found.append((Kind.SHOE, f"{self.remaining} cards remain: is_last_round must be {is_last_round}"))
        self.is_last_round = event.is_last_round
        if self.rounds is not None:
            self.rounds += 1
        return found

    def burns(self, event: CardsBurned) -> Found:
        """Check the burn: in front of the whole shoe, and as many cards gone as announced."""
        found: Found = []
        if self.remaining != self.cards or event.shoe != self.number:
            found.append((Kind.SHOE, f"a burn with {self.remaining} of {self.cards} cards left in shoe {self.number}"))
        return found + self._take(event.card, event.count, event.remaining)

    def deals(self, event: CardDealt) -> Found:
        """Check that exactly one card left the shoe."""
        return self._take(event.card, 1, event.remaining)

    def ends(self, event: ShoeEnded) -> Found:
        """Check that the shoe ends where it must, with as many rounds as were seen."""
        found: Found = []
        if event.shoe != self.number or self.is_ended:
            found.append((Kind.SHOE, f"shoe {event.shoe} ended while shoe {self.number} lies on the table"))
        if event.reason == "dealt" and not self.is_last_round:
            found.append((Kind.SHOE, f"shoe {self.number} ended before its last round"))
        if self.rounds is not None and event.rounds != self.rounds:
            found.append((Kind.SHOE, f"{event.rounds} rounds are told, {self.rounds} were seen"))
        self.is_ended = True
        return found

    def _take(self, card: str, count: int, remaining: int) -> Found:
        wanted = self.remaining - count
        self.remaining = remaining
        return [] if remaining == wanted else [(Kind.REMAINING, f"{remaining} cards remain after {card}, not {wanted}")]
