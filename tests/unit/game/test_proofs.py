"""What proofs find: nothing in an honest round or shoe, and the first difference wherever something was changed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.cards import CARDS_PER_DECK, Card, card_of_index, parse_card
from client_sdk.game.fairness import BadShuffleInput, commitment, shuffle
from client_sdk.game.merkle import CardProof, ShoeTree, shoe_tree
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
from client_sdk.game.shoe import CutCardMisplaced, Shoe
from client_sdk.game.tableau import Outcome, deal_hands
from tests.support.revealed_shoes import CUTS, SECRET, revealed_shoe, tree_of

HONEST = revealed_shoe()
TREE = tree_of(HONEST)
DECK = [card_of_index(index) for index in range(CARDS_PER_DECK)]
BURNED = HONEST.burn.count if HONEST.burn else 0


def difference(told: RevealedShoe) -> ProofFailed:
    with pytest.raises(ProofFailed) as failed:
        verify_shoe(told)
    return failed.value


def flipped(value: bytes, bit: int) -> bytes:
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flipped_hex(value: str, bit: int) -> str:
    return flipped(bytes.fromhex(value), bit).hex()


def with_round(told: RevealedShoe, at: int, **changes: Any) -> RevealedShoe:
    rounds = list(told.rounds)
    rounds[at] = replace(rounds[at], **changes)
    return replace(told, rounds=tuple(rounds))


def dealt_order(played: PlayedRound) -> list[Card]:
    """The cards of a decided round as they left the shoe."""
    thirds = [*played.player[2:], *played.banker[2:]]
    return [played.player[0], played.banker[0], played.player[1], played.banker[1], *thirds]


# --- Whole shoes ---


def test_an_honest_shoe_holds() -> None:
    cards = BURNED + sum(len(played.player) + len(played.banker) for played in HONEST.rounds)
    assert verify_shoe(HONEST) == cards
    assert len(HONEST.rounds) > 3


@pytest.mark.parametrize("number", [0, 1, 2])
def test_known_shoes_hold(shuffle_vectors: Any, number: int) -> None:
    """Built from what the vector tells, not from our dealing, as far as it goes."""
    vector = shuffle_vectors[number]
    played = vector["playedOut"]
    cuts = [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]
    letters = {"P": Outcome.PLAYER, "B": Outcome.BANKER, "T": Outcome.TIE}
    dealt = revealed_shoe(
        secret=bytes.fromhex(vector["serverSeed"]), decks=vector["decks"], number=vector["shoeNumber"], cuts=cuts
    )
    told = replace(
        dealt,
        commitment=vector["commitment"],
        cuts_digest=vector["clientMix"],
        root=vector["merkleRoot"],
        burn=Burn(parse_card(played["burned"][0]), len(played["burned"])),
        rounds=tuple(
            replace(one, outcome=letters[letter]) for one, letter in zip(dealt.rounds, played["outcomes"], strict=True)
        ),
    )
    for known, (at, one) in zip(played["firstThreeRounds"], enumerate(told.rounds), strict=False):
        hands = {side: tuple(map(parse_card, known[side])) for side in ("player", "banker")}
        told = with_round(told, at, **hands)
        assert one.number == 101 + at
    assert verify_shoe(told) == played["cardsUsed"]


def test_the_digest_of_the_cuts_is_their_mix(shuffle_vectors: Any) -> None:
    vector = shuffle_vectors[0]
    cuts = [(bytes.fromhex(cut["idHex"]), bytes.fromhex(cut["seedHex"])) for cut in vector["clientSeeds"]]
    assert cuts_digest(cuts) == vector["clientMix"]
    assert cuts_digest(()) == shuffle_vectors[1]["clientMix"]


def test_a_shoe_for_one_round_holds_with_its_root_and_without() -> None:
    one_round = revealed_shoe(cut_card=None)
    assert (len(one_round.rounds), one_round.burn) == (1, None)
    assert verify_shoe(one_round) == verify_shoe(replace(one_round, root=None)) <= 6


def test_a_shoe_that_was_broken_off_holds() -> None:
    """Before betting closed, after the burn, between two rounds, and within one."""
    nothing = replace(HONEST, reason="changed", rounds=(), burn=None, root=None)
    assert verify_shoe(nothing) == 0
    void = PlayedRound(101, (), (), None)
    assert verify_shoe(replace(nothing, rounds=(void,))) == 0
    assert verify_shoe(replace(HONEST, reason="lost", rounds=(void,))) == BURNED
    between = replace(HONEST, reason="changed", rounds=HONEST.rounds[:2])
    first = HONEST.rounds[0]
    assert verify_shoe(between) == BURNED + sum(len(dealt_order(played)) for played in HONEST.rounds[:2])
    for cards in range(len(dealt_order(first)) + 1):
        player, banker = first.player[: (cards + 1) // 2], first.banker[: cards // 2]
        if cards > 4:
            hands = deal_hands(dealt_order(first))
            player, banker = hands.player, hands.banker
        within = replace(HONEST, reason="lost", rounds=(PlayedRound(101, player, banker, None),))
        assert verify_shoe(within) == BURNED + len(player) + len(banker)


def test_every_variant_of_length_holds() -> None:
    for number in range(40):
        verify_shoe(revealed_shoe(number=number, cut_card=11 + number % 29, cuts=CUTS[: number % 4]))


# --- A changed bit ---


Change = Callable[[RevealedShoe, int], RevealedShoe]

FLIPS: dict[str, tuple[int, Change, set[Part]]] = {
    "secret": (256, lambda told, bit: replace(told, secret=flipped(told.secret, bit)), {Part.COMMITMENT}),
    "secret and commitment": (
        256,
        lambda told, bit: replace(
            told, secret=flipped(told.secret, bit), commitment=commitment(flipped(told.secret, bit))
        ),
        {Part.ROOT},
    ),
    "commitment": (
        256,
        lambda told, bit: replace(told, commitment=flipped_hex(told.commitment, bit)),
        {Part.COMMITMENT},
    ),
    "digest": (256, lambda told, bit: replace(told, cuts_digest=flipped_hex(told.cuts_digest, bit)), {Part.CUTS}),
    "root": (256, lambda told, bit: replace(told, root=flipped_hex(told.root or "", bit)), {Part.ROOT}),
    "cut": (
        8 * len(CUTS[1][1]),
        lambda told, bit: replace(told, cuts=(told.cuts[0], (told.cuts[1][0], flipped(told.cuts[1][1], bit)))),
        {Part.CUTS},
    ),
    "patron": (
        8 * len(CUTS[0][0]),
        lambda told, bit: replace(told, cuts=((flipped(told.cuts[0][0], bit), told.cuts[0][1]), *told.cuts[1:])),
        {Part.CUTS},
    ),
    "cut and digest": (8 * len(CUTS[1][1]), lambda told, bit: with_cuts(told, flipped_cut(told, bit)), {Part.ROOT}),
    "shoe number": (64, lambda told, bit: replace(told, number=told.number ^ (1 << bit)), {Part.ROOT}),
}


def flipped_cut(told: RevealedShoe, bit: int) -> tuple[tuple[bytes, bytes], ...]:
    return told.cuts[0], (told.cuts[1][0], flipped(told.cuts[1][1], bit)), *told.cuts[2:]


def with_cuts(told: RevealedShoe, cuts: tuple[tuple[bytes, bytes], ...]) -> RevealedShoe:
    return replace(told, cuts=cuts, cuts_digest=cuts_digest(cuts))


@pytest.mark.parametrize("what", FLIPS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_flipped_bit_is_found(what: str, data: st.DataObject) -> None:
    bits, change, parts = FLIPS[what]
    bit = data.draw(st.integers(0, bits - 1))
    assert difference(change(HONEST, bit)).part in parts


@settings(deadline=None)
@given(st.data())
def test_a_changed_card_is_found_and_named(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(HONEST.rounds) - 1))
    side = data.draw(st.sampled_from(["player", "banker"]))
    hand = getattr(HONEST.rounds[at], side)
    card_at = data.draw(st.integers(0, len(hand) - 1))
    card = data.draw(st.sampled_from(DECK).filter(lambda card: card != hand[card_at]))
    found = difference(with_round(HONEST, at, **{side: (*hand[:card_at], card, *hand[card_at + 1 :])}))
    assert (found.part, found.told, found.found) == (Part.CARD, card, hand[card_at])
    assert found.where == f"round {101 + at}, the {side}'s card {card_at + 1}"
    assert str(found) == f"{found.where}: told was {card}, found {hand[card_at]}"


@settings(deadline=None)
@given(st.data())
def test_a_changed_outcome_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(HONEST.rounds) - 1))
    outcome = data.draw(st.sampled_from(Outcome).filter(lambda outcome: outcome is not HONEST.rounds[at].outcome))
    assert difference(with_round(HONEST, at, outcome=outcome)).part is Part.OUTCOME


@given(st.permutations(CUTS).filter(lambda cuts: tuple(cuts) != CUTS))
def test_another_order_of_the_cuts_is_found(cuts: list[tuple[bytes, bytes]]) -> None:
    assert difference(replace(HONEST, cuts=tuple(cuts))).part is Part.CUTS
    assert difference(with_cuts(HONEST, tuple(cuts))).part is Part.ROOT


@settings(deadline=None)
@given(st.permutations(range(len(HONEST.rounds))))
def test_another_order_of_the_rounds_is_found(numbers: list[int]) -> None:
    rounds = tuple(HONEST.rounds[number] for number in numbers)
    renumbered = tuple(replace(played, number=101 + at) for at, played in enumerate(rounds))
    if rounds != HONEST.rounds:
        assert difference(replace(HONEST, rounds=rounds)).part in {Part.ROUND, Part.CARD}
        assert difference(replace(HONEST, rounds=renumbered)).part in {Part.CARD, Part.OUTCOME}
    else:
        verify_shoe(replace(HONEST, rounds=renumbered))


def test_another_order_of_the_shoe_is_found() -> None:
    """A house that swaps two cards before it commits to the order: the root is not that of secret and cuts."""
    order = shuffle(SECRET, 1, HONEST.number, CUTS)
    for at in range(51):
        swapped = [*order[:at], order[at + 1], order[at], *order[at + 2 :]]
        root = shoe_tree(SECRET, 1, HONEST.number, swapped).root.hex()
        assert difference(replace(HONEST, root=root)).part is Part.ROOT


# --- Other lies ---


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (Part.CUTS, with_cuts(HONEST, CUTS[:2] + CUTS[:1])),
        (Part.ROOT, with_cuts(HONEST, CUTS[:2])),
        (Part.ROOT, replace(HONEST, root=None)),
        (Part.BURN, replace(HONEST, burn=None)),
        (Part.BURN, replace(HONEST, burn=Burn(HONEST.burn.card, BURNED + 1) if HONEST.burn else None)),
        (Part.BURN, replace(HONEST, burn=Burn(DECK[0], BURNED))),
        (Part.BURN, replace(revealed_shoe(cut_card=None), burn=Burn(Card("9h"), 10))),
        (Part.ROUND, with_round(HONEST, 1, number=103)),
        (Part.ROUND, with_round(HONEST, 1, number=101)),
        (Part.CARD, with_round(HONEST, 0, player=())),
        (Part.CARD, with_round(HONEST, 0, banker=HONEST.rounds[0].banker[:1])),
        (Part.CARD, with_round(HONEST, 0, player=(*HONEST.rounds[0].player, *DECK[:2]))),
        (Part.CARD, replace(HONEST, reason="lost", rounds=(PlayedRound(101, (), HONEST.rounds[0].banker, None),))),
        (Part.CARD, replace(HONEST, reason="lost", rounds=(PlayedRound(101, (Card("9h"),) * 3, (), None),))),
        (Part.ENDING, replace(HONEST, rounds=HONEST.rounds[:-1])),
        (Part.ENDING, replace(HONEST, rounds=())),
        (Part.ENDING, replace(HONEST, rounds=(*HONEST.rounds, PlayedRound(101 + len(HONEST.rounds), (), (), None)))),
        (Part.ENDING, with_round(HONEST, 1, outcome=None)),
        (Part.ENDING, with_round(HONEST, -1, outcome=None)),
    ],
)
def test_other_lies(part: Part, told: RevealedShoe) -> None:
    found = difference(told)
    assert found.part is part
    assert SECRET.hex() not in str(found)


def test_bl_035_an_earlier_or_later_end_than_the_cut_card_says_is_found() -> None:
    """BL-035: one round more than announced, or one less, under another cut card."""
    longest, shortest = revealed_shoe(cut_card=11), revealed_shoe(cut_card=30)
    assert len(longest.rounds) > len(shortest.rounds) + 1
    assert difference(replace(longest, cut_card=30)).part is Part.ENDING
    assert difference(replace(shortest, cut_card=11)).part is Part.ENDING


def test_a_void_round_ends_its_shoe() -> None:
    """A house could void what it does not like and deal on."""
    found = difference(replace(with_round(HONEST, 1, outcome=None), reason="lost"))
    assert (found.part, found.told) == (Part.ENDING, "round 103")


def test_a_shoe_that_cannot_be_is_refused() -> None:
    with pytest.raises(CutCardMisplaced):
        verify_shoe(replace(HONEST, cut_card=3))
    with pytest.raises(BadShuffleInput):
        verify_shoe(replace(HONEST, decks=0))
    with pytest.raises(BadShuffleInput):
        verify_shoe(replace(HONEST, secret=SECRET[:-1]))


def test_a_shoe_does_not_print_its_secret() -> None:
    assert repr(HONEST) == f"RevealedShoe(table='main', number=7, rounds={len(HONEST.rounds)})"


# --- Rounds as they are played ---


class Told:
    """One decided round of the honest shoe with its proofs, as a patron hears it."""

    def __init__(self, at: int) -> None:
        played = HONEST.rounds[at]
        self.position = BURNED + sum(len(dealt_order(before)) for before in HONEST.rounds[:at])
        self.cards = dealt_order(played)
        self.proofs = [TREE.proof(self.position + number) for number in range(len(self.cards))]
        self.outcome = played.outcome or Outcome.TIE
        self.root = TREE.root
        self.decks = 1

    def verify(self) -> int:
        return verify_round(self.root, self.decks, self.position, self.cards, self.proofs, self.outcome)

    def failure(self) -> ProofFailed:
        with pytest.raises(ProofFailed) as failed:
            self.verify()
        return failed.value


def test_each_round_is_proved_as_it_ends_and_leads_to_the_next() -> None:
    for at in range(len(HONEST.rounds)):
        told = Told(at)
        position = told.verify()
        assert position == told.position + len(told.cards)
        assert at + 1 == len(HONEST.rounds) or position == Told(at + 1).position


def test_the_burned_card_is_proved() -> None:
    assert HONEST.burn is not None
    verify_card(TREE.root, 1, 0, HONEST.burn.card, TREE.proof(0), "the burned card")
    with pytest.raises(ProofFailed):
        verify_card(TREE.root, 1, 1, HONEST.burn.card, TREE.proof(0), "the burned card")


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_flipped_bit_of_a_round_is_found(data: st.DataObject) -> None:
    told = Told(data.draw(st.integers(0, len(HONEST.rounds) - 1)))
    at = data.draw(st.integers(0, len(told.cards) - 1))
    proof = told.proofs[at]
    expected = Part.PROOF
    match data.draw(st.sampled_from(["salt", "path", "index", "root", "position", "card", "outcome"])):
        case "salt":
            told.proofs[at] = replace(proof, salt=flipped(proof.salt, data.draw(st.integers(0, 127))))
        case "path":
            sibling = data.draw(st.integers(0, len(proof.path) - 1))
            changed = flipped(proof.path[sibling], data.draw(st.integers(0, 255)))
            told.proofs[at] = replace(proof, path=(*proof.path[:sibling], changed, *proof.path[sibling + 1 :]))
        case "index":
            told.proofs[at] = replace(proof, index=proof.index ^ (1 << data.draw(st.integers(0, 15))))
        case "root":
            told.root = flipped(told.root, data.draw(st.integers(0, 255)))
        case "position":
            told.position ^= 1 << data.draw(st.integers(0, 31))
        case "card":
            told.cards[at] = data.draw(st.sampled_from(DECK).filter(lambda card: card != told.cards[at]))
            expected = Part.CARD
        case "outcome":
            told.outcome = data.draw(st.sampled_from(Outcome).filter(lambda outcome: outcome is not told.outcome))
            expected = Part.OUTCOME
    assert told.failure().part is expected


@settings(deadline=None)
@given(st.data())
def test_another_order_of_a_rounds_cards_is_found(data: st.DataObject) -> None:
    told = Told(data.draw(st.integers(0, len(HONEST.rounds) - 1)))
    numbers = data.draw(st.permutations(range(len(told.cards))).filter(lambda numbers: numbers != sorted(numbers)))
    told.cards = [told.cards[number] for number in numbers]
    told.proofs = [told.proofs[number] for number in numbers]
    assert told.failure().part is Part.PROOF


def test_missing_and_additional_cards_are_found() -> None:
    told = Told(0)
    told.proofs.pop()
    assert told.failure().part is Part.PROOF
    told = Told(0)
    told.cards.append(told.cards[0])
    assert told.failure().part is Part.PROOF
    told = Told(0)
    told.cards, told.proofs = told.cards[:3], told.proofs[:3]
    assert str(told.failure()) == "the round: told was 3 cards, found that the tableau deals more"
    told = Told(0)
    card = len(told.cards)
    told.cards.append(Shoe(7, tuple(map(card_of_index, TREE.order)), 14).cards[told.position + card])
    told.proofs.append(TREE.proof(told.position + card))
    assert told.failure().part is Part.ROUND


def test_a_shoe_that_holds_one_card_twice_is_found_within_a_round() -> None:
    """The proofs are right, the order was none: the house committed to a shoe with a card too many."""
    order = list(TREE.order)
    order[BURNED + 1] = order[BURNED]
    tree: ShoeTree = shoe_tree(SECRET, 1, 7, order)
    cards = [card_of_index(index) for index in order[BURNED : BURNED + 6]]
    hands = deal_hands(cards)
    proofs: list[CardProof] = [tree.proof(BURNED + number) for number in range(hands.cards_used)]
    with pytest.raises(ProofFailed) as failed:
        verify_round(tree.root, 1, BURNED, cards[: hands.cards_used], proofs, hands.outcome)
    assert (failed.value.part, failed.value.found) == (Part.CARD, "the very card that was number 1")
