"""One shoe as it was seen being dealt, and what its revealed secret must prove about it.

Each card is kept at its position, so a shoe that was seen only from the middle on is still compared where it was seen.
Pure. Read next: `client_sdk.game.fairness`.
"""

from dataclasses import dataclass, field

from client_sdk.bots.findings import Found, Kind
from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import commitment, shuffle
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
    decks: int
    cards: int
    cut_card: int | None
    commitment: str
    remaining: int
    rounds: int | None
    is_last_round: bool = False
    is_ended: bool = False
    dealt: dict[int, str] = field(default_factory=dict)

    @classmethod
    def started(cls, event: ShoeStarted) -> "ShoeRecord":
        """Take in a fresh shoe."""
        return cls(event.shoe, event.decks, event.cards, event.cut_card, event.commitment, event.cards, rounds=0)

    @classmethod
    def seen(cls, view: ShoeView, rules: TableRules) -> "ShoeRecord":
        """Take in a shoe as a snapshot shows it, some of its cards dealt before we looked."""
        return cls(
            number=view.number,
            decks=rules.decks,
            cards=view.cards,
            cut_card=rules.cut_card,
            commitment=view.commitment,
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

    def ends(self, event: ShoeEnded, is_stacked: bool) -> Found:
        """Open the commitment and compare the revealed order with the cards that were seen."""
        found: Found = []
        if event.shoe != self.number or self.is_ended:
            found.append((Kind.SHOE, f"shoe {event.shoe} ended while shoe {self.number} lies on the table"))
        if event.reason == "dealt" and not self.is_last_round:
            found.append((Kind.SHOE, f"shoe {self.number} ended before its last round"))
        if self.rounds is not None and event.rounds != self.rounds:
            found.append((Kind.SHOE, f"{event.rounds} rounds are told, {self.rounds} were seen"))
        self.is_ended = True
        return found + self._opened(event.secret, is_stacked)

    def _opened(self, secret_hex: str, is_stacked: bool) -> Found:
        try:
            secret = bytes.fromhex(secret_hex)
            opened = commitment(secret)
        except ValueError:
            return [(Kind.FAIRNESS, f"what was revealed of shoe {self.number} is no secret")]
        if opened != self.commitment:
            return [(Kind.FAIRNESS, f"the secret opens {opened}, committed was {self.commitment}")]
        if is_stacked:
            return []  # cards from a file: announced in the rules, and no secret orders them
        order = shuffle(secret, self.decks, self.number)
        wrong = [(at, card) for at, card in self.dealt.items() if at >= len(order) or card_of_index(order[at]) != card]
        if not wrong:
            return []
        return [(Kind.FAIRNESS, f"{len(wrong)} cards were not those of the secret, first (position, card) {wrong[0]}")]

    def _take(self, card: str, count: int, remaining: int) -> Found:
        self.dealt[self.cards - self.remaining] = card
        wanted = self.remaining - count
        self.remaining = remaining
        return [] if remaining == wanted else [(Kind.REMAINING, f"{remaining} cards remain after {card}, not {wanted}")]
