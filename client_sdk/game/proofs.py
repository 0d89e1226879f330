"""Checks what a table told against what its cards and secrets prove, and names the first difference.

A round is checked by the proofs of its cards against the root that was published before the first of them; a whole shoe
by its revealed secret. It must never trust what it can compute. What was told has to come from somebody who listened at
the time: a record that a house writes afterwards agrees with itself. Read next: `merkle`, `fairness`, `shoe_file`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from client_sdk.game.cards import CARDS_PER_DECK, Card, card_of_index
from client_sdk.game.fairness import Cut, client_mix, commitment, shuffle
from client_sdk.game.merkle import CardProof, root_of_proof, shoe_tree
from client_sdk.game.shoe import Shoe
from client_sdk.game.tableau import Outcome, Side, TooFewCards, deal_hands, decide, next_side

DEALT: Final = "dealt"
"""Why a shoe ended that was dealt to its last round; any other word tells why it was broken off before."""

_NOTHING: Final = "nothing"


class Part(StrEnum):
    """What a difference was found in, in the order in which a shoe is checked."""

    COMMITMENT = "commitment"
    CUTS = "cuts"
    ROOT = "root"
    BURN = "burn"
    ROUND = "round"
    CARD = "card"
    PROOF = "proof"
    OUTCOME = "outcome"
    ENDING = "ending"


class ProofFailed(Exception):
    """What was told is not what follows. `where` names the place, `told` and `found` both readings of it."""

    def __init__(self, part: Part, where: str, told: str, found: str) -> None:
        super().__init__(part, where, told, found)
        self.part = part
        self.where = where
        self.told = told
        self.found = found

    def __str__(self) -> str:
        return f"{self.where}: told was {self.told}, found {self.found}"


@dataclass(frozen=True, slots=True)
class Burn:
    """The first card of a shoe, shown, and how many were burned, it included."""

    card: Card
    count: int


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A round as it was told. `outcome` is None for a void one, which may have got no further than its first cards."""

    number: int
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class RevealedShoe:
    """A shoe that has ended, as it was told from its commitment to its secret.

    `commitment`, `cuts_digest` and `root` are lower-case hex, as published. The cuts stand in the order in which they
    were accepted; their digest is what the close of betting told. `root` is None where none was published: the first
    betting never closed, or every round has a shoe of its own, which its secret proves. `burn` is None where nothing
    was burned. `cut_card` is as in `Shoe`; `reason` is DEALT or why the shoe was broken off.
    """

    table: str
    number: int
    decks: int
    cut_card: int | None
    commitment: str
    cuts: tuple[Cut, ...]
    cuts_digest: str
    root: str | None
    secret: bytes
    burn: Burn | None
    rounds: tuple[PlayedRound, ...]
    reason: str

    def __repr__(self) -> str:
        return f"RevealedShoe(table={self.table!r}, number={self.number}, rounds={len(self.rounds)})"


def cuts_digest(cuts: Iterable[Cut]) -> str:
    """Return what is published of the cuts when betting closes: the `clientMix` of `fairness` in lower-case hex."""
    return client_mix(cuts).hex()


def verify_card(root: bytes, decks: int, position: int, card: Card, proof: CardProof, where: str) -> None:
    """Check one card at its position in the shoe, counted from 0 with the burned ones. Raises ProofFailed."""
    found = root_of_proof(proof, position, CARDS_PER_DECK * decks)
    if found is None:
        raise ProofFailed(Part.PROOF, where, f"the root {root.hex()}", "a proof of another form")
    _compare(Part.PROOF, where, f"the root {root.hex()}", f"the root {found.hex()}")
    _compare(Part.CARD, where, card, card_of_index(proof.index))


def verify_round(
    root: bytes,
    decks: int,
    position: int,
    cards: Sequence[Card],
    proofs: Sequence[CardProof],
    outcome: Outcome,
) -> int:
    """Check a decided round: its cards in deal order, from `position` on, their proofs, and what the tableau says.

    Returns the position of the next round. Raises ProofFailed, checked in this order: as many proofs as cards, each
    card against the root, no card twice, the tableau, the outcome.
    """
    if len(proofs) != len(cards):
        raise ProofFailed(Part.PROOF, "the round", f"{len(cards)} cards", f"proofs of {len(proofs)}")
    seen: dict[int, int] = {}
    for number, (card, proof) in enumerate(zip(cards, proofs, strict=True), start=1):
        where = f"card {number} of the round (position {position + number - 1})"
        verify_card(root, decks, position + number - 1, card, proof, where)
        if proof.index in seen:
            raise ProofFailed(Part.CARD, where, card, f"the very card that was number {seen[proof.index]}")
        seen[proof.index] = number
    try:
        hands = deal_hands(cards)
    except TooFewCards:
        raise ProofFailed(Part.ROUND, "the round", f"{len(cards)} cards", "that the tableau deals more") from None
    _compare(Part.ROUND, "the round", f"{len(cards)} cards", f"{hands.cards_used} cards")
    _compare(Part.OUTCOME, "the outcome", outcome.value, hands.outcome.value)
    return position + hands.cards_used


def verify_shoe(told: RevealedShoe) -> int:
    """Check a revealed shoe in the order of Part and return how many cards left it.

    Raises ProofFailed for the first difference, GameError for a shoe that cannot be: BadShuffleInput for decks, number,
    secret or cuts without meaning, CutCardMisplaced.
    """
    _compare(Part.COMMITMENT, "the commitment", told.commitment, commitment(told.secret))
    _check_cuts(told)
    order = shuffle(told.secret, told.decks, told.number, told.cuts)
    shoe = Shoe(told.number, tuple(map(card_of_index, order)), told.cut_card)
    if told.root is not None:
        _compare(Part.ROOT, "the root", told.root, shoe_tree(told.secret, told.decks, told.number, order).root.hex())
    elif _shows_cards(told) and told.cut_card is not None:
        raise ProofFailed(Part.ROOT, "the root", _NOTHING, "that cards were shown")
    position = _check_burn(told, shoe)
    return _check_rounds(told, shoe, position)


def _check_cuts(told: RevealedShoe) -> None:
    _compare(Part.CUTS, "the digest of the cuts", told.cuts_digest, cuts_digest(told.cuts))
    patrons = [patron for patron, _ in told.cuts]
    for number, patron in enumerate(patrons, start=1):
        if patron in patrons[: number - 1]:
            raise ProofFailed(Part.CUTS, f"cut {number}", "one of its own", "another one of the same patron")


def _check_burn(told: RevealedShoe, shoe: Shoe) -> int:
    """Return the position after the burn, which only a shoe that shows no card may go without."""
    if told.burn is None and not _shows_cards(told):
        return 0
    right = f"{shoe.burned} cards from {shoe.cards[0]}" if shoe.burned else _NOTHING
    burn = _NOTHING if told.burn is None else f"{told.burn.count} cards from {told.burn.card}"
    _compare(Part.BURN, "the burn", burn, right)
    return shoe.burned


def _check_rounds(told: RevealedShoe, shoe: Shoe, position: int) -> int:
    """Follow the shoe procedure: rounds up to the cut card, one last round, and not one more.

    A void round breaks its shoe off: else a house could void what it does not like and deal on.
    """
    is_last = shoe.cut_card is None
    is_over = is_dealt = False
    for number, played in enumerate(told.rounds, start=told.rounds[0].number if told.rounds else 0):
        _compare(Part.ROUND, f"the round after {number - 1}", f"round {played.number}", f"round {number}")
        if is_over:
            raise ProofFailed(Part.ENDING, "the shoe", f"round {number}", f"that round {number - 1} was its last")
        position = _check_round(played, shoe, position)
        is_dealt = is_last and played.outcome is not None
        is_over = is_last or played.outcome is None
        is_last = shoe.is_past_cut_card(position)
    if told.reason == DEALT and not is_dealt:
        raise ProofFailed(Part.ENDING, "the shoe", f"dealt out in {len(told.rounds)} rounds", "that it was broken off")
    return position


def _check_round(played: PlayedRound, shoe: Shoe, position: int) -> int:
    """Deal the round again from `position` and return where it ends."""
    dealt: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
    told = {Side.PLAYER: played.player, Side.BANKER: played.banker}
    cards_told = len(played.player) + len(played.banker)
    cards = 0
    while (side := next_side(dealt[Side.PLAYER], dealt[Side.BANKER])) is not None:
        if played.outcome is None and cards == cards_told:
            return position + cards  # a void round may stop anywhere
        dealt[side].append(shoe.cards[position + cards])
        _compare_card(played.number, side, told[side], dealt[side])
        cards += 1
    for side, hand in told.items():
        _compare(Part.CARD, f"round {played.number}, the {side}", f"{len(hand)} cards", f"{len(dealt[side])} cards")
    if played.outcome is not None:
        outcome = decide(dealt[Side.PLAYER], dealt[Side.BANKER])
        _compare(Part.OUTCOME, f"round {played.number}, the outcome", played.outcome.value, outcome.value)
    return position + cards


def _compare_card(number: int, side: Side, told: Sequence[Card], dealt: Sequence[Card]) -> None:
    card = told[len(dealt) - 1] if len(told) >= len(dealt) else _NOTHING
    _compare(Part.CARD, f"round {number}, the {side}'s card {len(dealt)}", card, dealt[-1])


def _compare(part: Part, where: str, told: str, found: str) -> None:
    if told != found:
        raise ProofFailed(part, where, told, found)


def _shows_cards(told: RevealedShoe) -> bool:
    return told.burn is not None or any(played.player or played.banker for played in told.rounds)
