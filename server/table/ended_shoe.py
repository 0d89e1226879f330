"""What is kept of a shoe that has ended: all that was told of it, from the state in which its last step left the table.

`write_dealt` notes each round in the state as it is decided or voided, in deal order and without spaces; `ended_shoe`
reads the notes again. Pure. The record tells what was dealt, not what should have been: nothing is dealt again here.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from client_sdk.game.cards import Card
from client_sdk.game.tableau import Side, decide, next_side
from client_sdk.protocol.messages import BurnedCards, DealtCard, EndedShoe, ShoeRound, TableRules
from server.table.state import TableState

_VOID: Final = "!"
_CARD_CHARS: Final = 2


def write_dealt(before: str, dealt: Sequence[DealtCard], *, is_void: bool) -> str:
    """Add a round to the notes."""
    note = "".join(card.card for card in dealt) + (_VOID if is_void else "")
    return f"{before} {note}" if before else note


def ended_shoe(state: TableState, rules: TableRules, secret: str) -> EndedShoe:
    """Tell the shoe that the state has just ended."""
    return EndedShoe(
        shoe=state.shoe,
        decks=rules.decks,
        cards=state.shoe_cards,
        cut_card=rules.cut_card,
        commitment=state.shoe_commitment,
        cuts=state.shoe_cuts,
        cuts_digest=state.shoe_cuts_digest,
        merkle_root=state.shoe_root,
        burned=_burned(state),
        rounds=list(_rounds(state.shoe_dealt.split(), state.shoe_first_round)),
        secret=secret,
        reason=state.shoe_ends_by,
    )


def _burned(state: TableState) -> BurnedCards | None:
    if state.shoe_burned is None:
        return None
    card, count = state.shoe_burned
    return BurnedCards(card=card, count=count)


def _rounds(notes: Sequence[str], first: int) -> Iterator[ShoeRound]:
    for number, note in enumerate(notes, start=first):
        cards = note.removesuffix(_VOID)
        hands: dict[Side, list[Card]] = {side: [] for side in Side}
        for at in range(0, len(cards), _CARD_CHARS):
            side = next_side(hands[Side.PLAYER], hands[Side.BANKER])
            assert side is not None, "a round holds no more cards than the tableau deals"
            hands[side].append(Card(cards[at : at + _CARD_CHARS]))
        player, banker = hands[Side.PLAYER], hands[Side.BANKER]
        outcome = None if note.endswith(_VOID) else decide(player, banker)
        yield ShoeRound(round=number, player=list(player), banker=list(banker), outcome=outcome)
