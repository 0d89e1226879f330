"""The open shoe as its dealer holds it: the secret, and once the cuts are frozen the cards and the tree over them.

It never lies in the store and is never packed: what a new owner needs follows from `TableState` and the cuts. The
order must not be in any text.
"""

from dataclasses import dataclass, field

from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import Cut, shuffle
from client_sdk.game.merkle import ShoeTree, shoe_tree
from client_sdk.game.shoe import Shoe
from client_sdk.protocol.messages import CardProof


@dataclass(frozen=True, slots=True)
class OpenShoe:
    """`secret` is empty and `tree` None where the cards were prepared; `shoe` is None until the cuts are frozen."""

    secret: bytes = field(repr=False)
    shoe: Shoe | None = field(default=None, repr=False)
    tree: ShoeTree | None = field(default=None, repr=False)

    @property
    def dealt_from(self) -> Shoe:
        """The shoe, of which cards may be dealt."""
        assert self.shoe is not None, "cards come from a shuffled shoe"
        return self.shoe

    @property
    def root(self) -> str:
        """The Merkle root in hex."""
        assert self.tree is not None, "only a shuffled shoe has a root"
        return self.tree.root.hex()

    def proof(self, position: int) -> CardProof:
        """Prove the card at a position, which must have been dealt."""
        assert self.tree is not None, "only a card of a shuffled shoe is proved"
        proof = self.tree.proof(position)
        return CardProof(index=proof.index, salt=proof.salt.hex(), path=[sibling.hex() for sibling in proof.path])


def shuffled(secret: bytes, decks: int, number: int, cut_card: int | None, cuts: tuple[Cut, ...]) -> OpenShoe:
    """Shuffle by secret and cuts."""
    order = shuffle(secret, decks, number, cuts)
    shoe = Shoe(number, tuple(map(card_of_index, order)), cut_card)
    return OpenShoe(secret, shoe, shoe_tree(secret, decks, number, order))
