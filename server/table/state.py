"""The values of one table between two steps: everything that a new owner needs to go on with the same round.

Bets, stacks and seats are not here: they race from many nodes and live in the store (see `server/store/lua`). The order
of undealt cards is not here either: it follows from the shoe's secret, which the dealer alone turns into a `Shoe`.
"""

from msgspec import Struct

from client_sdk.game.cards import Card
from client_sdk.game.seals import FIRST_SEAL, Seal
from client_sdk.game.tableau import Outcome
from client_sdk.protocol.messages import DealtCard
from server.table.phases import Phase


class TableState(Struct, frozen=True, kw_only=True):
    """One table at `seq`. Instants are on the table's clock; `position` counts cards taken from the shoe."""

    phase: Phase = Phase.IDLE
    seq: int = 0
    round: int = 0
    # the shoe; `shoe_secret` is hex, None while no shoe is open
    shoe: int = 0
    shoe_secret: str | None = None
    shoe_commitment: str = ""
    shoe_cards: int = 0
    shoe_first_round: int = 0
    position: int = 0
    is_last_round: bool = False
    shoe_ends_by: str = "dealt"
    # the roads (server/table/roads.py)
    beads: str = ""
    roads_rounds_max: int | None = None
    # the round
    opened_at_ms: int | None = None
    closes_at_ms: int | None = None
    closed_at_ms: int | None = None
    dealt: tuple[DealtCard, ...] = ()
    outcome: Outcome | None = None
    is_void: bool = False
    void_reason: str = ""
    shown_at_ms: int = 0
    is_settled: bool = True
    next_at_ms: int | None = None
    # the ledger, sealed where a round ends
    seal: Seal = FIRST_SEAL

    @property
    def player(self) -> tuple[Card, ...]:
        """PLAYER's hand so far."""
        return tuple(Card(card.card) for card in self.dealt if card.side == "player")

    @property
    def banker(self) -> tuple[Card, ...]:
        """BANKER's hand so far."""
        return tuple(Card(card.card) for card in self.dealt if card.side == "banker")

    @property
    def has_shoe(self) -> bool:
        """Whether a shoe is open."""
        return self.shoe_secret is not None
