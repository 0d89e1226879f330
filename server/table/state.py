"""The values of one table between two steps: everything that a new owner needs to go on with the same round.

Bets, stacks, seats and cuts are not here: they race from many nodes and live in the store (see `server/store/lua`). The
order of undealt cards is not here either: it follows from the shoe's secret and its cuts, which the dealer alone turns
into an `OpenShoe`. The secret is here only as it was sealed by the operator's key (`server/keyring.py`).
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
    # the shoe; `shoe_sealed` is the sealed secret, "" for prepared cards, None while no shoe is open
    shoe: int = 0
    shoe_sealed: str | None = None
    shoe_commitment: str = ""
    shoe_cuts: int | None = None
    shoe_cuts_digest: str | None = None
    shoe_root: str | None = None
    shoe_burned: tuple[str, int] | None = None
    shoe_dealt: str = ""
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
        return self.shoe_sealed is not None

    @property
    def takes_cuts(self) -> bool:
        """Whether the open shoe may be cut as long as betting is open: in its first round, where a secret orders it."""
        return bool(self.shoe_sealed) and self.shoe_cuts is None
