"""Shoes that were dealt honestly and revealed, as a table would have told them."""

from collections.abc import Sequence
from hashlib import sha256

from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import Cut, commitment, shuffle
from client_sdk.game.merkle import ShoeTree, shoe_tree
from client_sdk.game.proofs import DEALT, Burn, PlayedRound, RevealedShoe, cuts_digest
from client_sdk.game.shoe import Shoe, play_out

SECRET = sha256(b"a shoe for tests").digest()
CUTS: tuple[Cut, ...] = ((b"g01", b"eight or more"), (b"g02", bytes(range(32))), (b"g03", b"a third cut"))


def revealed_shoe(
    *,
    secret: bytes = SECRET,
    decks: int = 1,
    number: int = 7,
    cut_card: int | None = 14,
    cuts: Sequence[Cut] = CUTS,
    first_round: int = 101,
) -> RevealedShoe:
    """A whole shoe, dealt to its last round."""
    order = shuffle(secret, decks, number, cuts)
    shoe = Shoe(number, tuple(map(card_of_index, order)), cut_card)
    return RevealedShoe(
        table="main",
        number=number,
        decks=decks,
        cut_card=cut_card,
        commitment=commitment(secret),
        cuts=tuple(cuts),
        cuts_digest=cuts_digest(cuts),
        root=shoe_tree(secret, decks, number, order).root.hex(),
        secret=secret,
        burn=Burn(shoe.cards[0], shoe.burned) if shoe.burned else None,
        rounds=tuple(
            PlayedRound(round_number, hands.player, hands.banker, hands.outcome)
            for round_number, hands in enumerate(play_out(shoe), start=first_round)
        ),
        reason=DEALT,
    )


def tree_of(told: RevealedShoe) -> ShoeTree:
    """The tree whose root was published for this shoe."""
    order = shuffle(told.secret, told.decks, told.number, told.cuts)
    return shoe_tree(told.secret, told.decks, told.number, order)
