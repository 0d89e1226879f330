"""One shoe as it was told, from its commitment to its secret, and whether all of it fits together.

Each round is checked by the proofs of its cards as it ends; the whole shoe once its secret and its cuts are known. A
shoe that was seen only from the middle on is checked where it was seen. Pure: every method raises ProofFailed for the
first difference, and what was told stays as it was told. Read next: `client_sdk.game.proofs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from client_sdk.game.cards import CARDS_PER_DECK, Card, card_of_index
from client_sdk.game.errors import GameError
from client_sdk.game.fairness import Cut, commitment, shuffle
from client_sdk.game.merkle import CardProof, shoe_tree
from client_sdk.game.proofs import (
    Burn,
    Part,
    PlayedRound,
    ProofFailed,
    RevealedShoe,
    cuts_digest,
    verify_card,
    verify_round,
    verify_shoe,
)
from client_sdk.game.tableau import Side
from client_sdk.protocol import messages
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    CardDealt,
    CardsBurned,
    RoundDecided,
    RoundVoided,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    ShoeView,
    TableView,
)

_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class OwnCut:
    """A cut of ours that the table has accepted, at its place in the list, from 1."""

    number: int
    cut: Cut


@dataclass(slots=True)
class ShoeAudit:
    """What is known of a shoe. `is_whole`: every event since its start was seen. Prepared cards prove nothing, and no
    shoe of them has an audit."""

    table: str
    number: int
    decks: int
    cut_card: int | None
    commitment: str
    is_whole: bool
    remaining: int
    cuts: int | None = None
    cuts_digest: str | None = None
    root: str | None = None
    own_cuts: list[OwnCut] = field(default_factory=list)
    burn: Burn | None = None
    rounds: list[PlayedRound] = field(default_factory=list)
    cards: dict[int, Card] = field(default_factory=dict)
    """By position, as far as they were seen."""
    secret: str | None = None
    reason: str = ""
    _hand: list[tuple[Side, Card]] = field(default_factory=list)

    # --- what is told -------------------------------------------------------------------------------------------------

    @classmethod
    def started(cls, event: ShoeStarted) -> "ShoeAudit | None":
        """Begin with a fresh shoe; None where its cards were prepared."""
        if not event.commitment:
            return None
        return cls(
            table=event.table,
            number=event.shoe,
            decks=event.decks,
            cut_card=event.cut_card,
            commitment=event.commitment,
            is_whole=True,
            remaining=event.decks * CARDS_PER_DECK,
        )

    @classmethod
    def seen(cls, view: TableView) -> "ShoeAudit | None":
        """Begin with a shoe as a snapshot shows it; None where there is none that proves anything."""
        shoe = view.shoe
        if shoe is None or not shoe.commitment:
            return None
        audit = cls(
            table=view.table,
            number=shoe.number,
            decks=view.rules.decks,
            cut_card=view.rules.cut_card,
            commitment=shoe.commitment,
            is_whole=view.phase == "betting" and view.round == shoe.first_round,
            remaining=shoe.remaining,
        )
        audit._look(view, shoe)
        return audit

    def looks_again(self, view: TableView) -> bool:
        """Go on at a snapshot, where events were missed; False where it shows another shoe, and this one's end was
        missed."""
        shoe = view.shoe
        if shoe is None or (shoe.number, shoe.commitment) != (self.number, self.commitment):
            return False
        self.is_whole = False
        self._look(view, shoe)
        return True

    def takes(self, event: AnyNumbered) -> None:
        """Take in the next event of the table."""
        match event:
            case BettingClosed() if event.cuts is not None:
                self._tell_cuts(event.cuts, event.cuts_digest)
            case ShoeShuffled():
                self._tell_root(event.merkle_root)
            case CardsBurned():
                self._burned(event)
            case CardDealt():
                self._dealt(event)
            case RoundDecided():
                self._decided(event)
            case RoundVoided():
                self.rounds.append(self._played(event.round, None))
            case ShoeEnded():
                self._ended(event)
            case _:
                pass

    def _look(self, view: TableView, shoe: ShoeView) -> None:
        if shoe.cuts is not None:
            self._tell_cuts(shoe.cuts, shoe.cuts_digest)
        if shoe.merkle_root is not None:
            self._tell_root(shoe.merkle_root)
        self.remaining = shoe.remaining
        is_going_on = view.phase == "dealing"
        self._hand = [(card.side, Card(card.card)) for card in view.dealt] if is_going_on else []
        for at, (_, card) in enumerate(self._hand, start=self._position - len(self._hand)):
            self._note(at, card)

    def _tell_cuts(self, cuts: int, digest: str | None) -> None:
        if self.cuts_digest is not None:
            _compare(Part.CUTS, "the digest of the cuts", digest or _NOTHING, self.cuts_digest)
        self.cuts, self.cuts_digest = cuts, digest

    def _tell_root(self, root: str) -> None:
        if self.root is not None:
            _compare(Part.ROOT, "the root", root, self.root)
        if self.cuts_digest is None:
            raise ProofFailed(Part.CUTS, "the cuts", _NOTHING, "that the shoe was shuffled")
        self.root = root

    def _burned(self, event: CardsBurned) -> None:
        root = self._root_before(event.card)
        verify_card(root, self.decks, 0, Card(event.card), _proof(event.proof), "the burned card")
        self.burn = Burn(Card(event.card), event.count)
        _compare(Part.BURN, "the cards left", str(event.remaining), str(self.decks * CARDS_PER_DECK - event.count))
        self._note(0, Card(event.card))
        self.remaining = event.remaining

    def _dealt(self, event: CardDealt) -> None:
        self._root_before(event.card)
        _compare(Part.CARD, "the cards left", str(event.remaining), str(self.remaining - 1))
        self._note(self._position, Card(event.card))
        self._hand.append((event.side, Card(event.card)))
        self.remaining = event.remaining

    def _decided(self, event: RoundDecided) -> None:
        cards = [card for _, card in self._hand]
        if self.cut_card is not None:
            root, position = self._root_before("the outcome"), self._position - len(cards)
            verify_round(root, self.decks, position, cards, list(map(_proof, event.proofs)), event.outcome)
        played = self._played(event.round, event)
        for side, told in ((Side.PLAYER, event.player), (Side.BANKER, event.banker)):
            made = played.player if side is Side.PLAYER else played.banker
            _compare(Part.CARD, f"the {side}'s hand", " ".join(told), " ".join(made))
        self.rounds.append(played)

    def _played(self, number: int, decided: RoundDecided | None) -> PlayedRound:
        hands = {side: tuple(card for of, card in self._hand if of is side) for side in Side}
        self._hand = []
        outcome = None if decided is None else decided.outcome
        return PlayedRound(number, hands[Side.PLAYER], hands[Side.BANKER], outcome)

    def _ended(self, event: ShoeEnded) -> None:
        self.secret, self.reason = event.secret, event.reason
        if not event.secret:
            raise ProofFailed(Part.COMMITMENT, "the commitment", self.commitment, f"no secret ({event.reason})")
        _compare(Part.COMMITMENT, "the commitment", self.commitment, commitment(self._opened))

    @property
    def _position(self) -> int:
        return self.decks * CARDS_PER_DECK - self.remaining

    def _root_before(self, what: str) -> bytes:
        if self.root is None:
            raise ProofFailed(Part.ROOT, f"the root before {what}", _NOTHING, "a card")
        return _bytes(Part.ROOT, "the root", self.root)

    def _note(self, position: int, card: Card) -> None:
        if not 0 <= position < self.decks * CARDS_PER_DECK:
            raise ProofFailed(Part.CARD, "a card", f"position {position}", "no such place in the shoe")
        known = self.cards.setdefault(position, card)
        _compare(Part.CARD, f"the card at position {position}", card, known)

    # --- when it has ended --------------------------------------------------------------------------------------------

    @property
    def needs_cuts(self) -> bool:
        """Whether the list of its cuts must be asked for before it can be judged."""
        return bool(self.cuts)

    def check(self, cuts: Sequence[Cut] = ()) -> None:
        """Judge the revealed shoe by its secret and its cuts. Raises ProofFailed."""
        if self.cuts_digest is None:
            return  # its betting never closed, and no card came; the secret has opened the commitment already
        for own in self.own_cuts:
            found = cuts[own.number - 1] if own.number <= len(cuts) else None
            if found != own.cut:
                raise ProofFailed(Part.CUTS, f"cut {own.number}", "our own", "another, or none")
        try:
            if self.is_whole:
                verify_shoe(self.revealed(cuts))
            else:
                self._check_seen(cuts)
        except GameError as error:
            raise ProofFailed(Part.ROUND, "the shoe", "one that can be", str(error)) from None

    def revealed(self, cuts: Sequence[Cut]) -> RevealedShoe:
        """Return all that was told, to be kept in a file: `client_sdk.game.shoe_file`."""
        return RevealedShoe(
            table=self.table,
            number=self.number,
            decks=self.decks,
            cut_card=self.cut_card,
            commitment=self.commitment,
            cuts=tuple(cuts),
            cuts_digest=self.cuts_digest or cuts_digest(cuts),
            root=self.root,
            secret=self._opened,
            burn=self.burn,
            rounds=tuple(self.rounds),
            reason=self.reason,
        )

    def _check_seen(self, cuts: Sequence[Cut]) -> None:
        _compare(Part.CUTS, "the digest of the cuts", self.cuts_digest or _NOTHING, cuts_digest(cuts))
        order = shuffle(self._opened, self.decks, self.number, cuts)
        if self.root is not None:
            made = shoe_tree(self._opened, self.decks, self.number, order).root.hex()
            _compare(Part.ROOT, "the root", self.root, made)
        for position, card in self.cards.items():
            _compare(Part.CARD, f"the card at position {position}", card, card_of_index(order[position]))

    @property
    def _opened(self) -> bytes:
        opened = _bytes(Part.COMMITMENT, "the secret", self.secret or "")
        if len(opened) != 32:
            raise ProofFailed(Part.COMMITMENT, "the secret", "32 bytes", f"{len(opened)} bytes")
        return opened


def _proof(told: messages.CardProof) -> CardProof:
    salt = _bytes(Part.PROOF, "the salt", told.salt)
    return CardProof(told.index, salt, tuple(_bytes(Part.PROOF, "the path", sibling) for sibling in told.path))


def _bytes(part: Part, where: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ProofFailed(part, where, "bytes in hex", "something else") from None


def _compare(part: Part, where: str, told: str, found: str) -> None:
    if told != found:
        raise ProofFailed(part, where, told, found)
