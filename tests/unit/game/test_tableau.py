"""The tableau: every cell, every natural, the order of the deal, and the rounds on which other engines failed."""

import ast
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from client_sdk.game import tableau
from client_sdk.game.cards import RANKS, Card, card_value, hand_total, parse_cards
from client_sdk.game.shoe import CUT_CARD_DEFAULT, play_out, shuffled_shoe
from client_sdk.game.tableau import (
    BANKER_WHEN_PLAYER_DREW,
    BANKER_WHEN_PLAYER_STOOD,
    Hands,
    ImpossibleHands,
    Outcome,
    Side,
    TooFewCards,
    banker_draws,
    deal_hands,
    decide,
    is_natural,
    next_side,
    player_draws,
)

CARD_COUNTING = [Card(rank) for rank in "TA23456789"]


def deal(cards: str) -> Hands:
    return deal_hands(parse_cards(cards))


def totals(hands: Hands) -> tuple[int, int]:
    return hand_total(hands.player), hand_total(hands.banker)


def two_cards(total: int) -> tuple[Card, Card]:
    return CARD_COUNTING[0], CARD_COUNTING[total]


def test_every_row(tableau_vectors: Any) -> None:
    """All 532 of them, by the two questions and by who is dealt the next card."""
    assert len(tableau_vectors["rows"]) == 532
    for player_total, banker_total, third, player_does, banker_does, branch in tableau_vectors["rows"]:
        row = (player_total, banker_total, third)
        player, banker = two_cards(player_total), two_cards(banker_total)
        assert player_draws(player_total, banker_total) == bool(player_does), row
        assert (is_natural(player) or is_natural(banker)) == (branch == "natural"), row
        if branch != "natural":
            assert banker_draws(banker_total, third) == bool(banker_does), row
        if player_does:
            assert next_side(player, banker) is Side.PLAYER, row
            player_now: tuple[Card, ...] = (*player, CARD_COUNTING[third])
        else:
            player_now = player
        assert next_side(player_now, banker) is (Side.BANKER if banker_does else None), row


def test_bl_009_the_one_grid_is_the_printed_one(tableau_vectors: Any) -> None:
    """BL-009: every banker total against every third card and none; dealing answers as the grid that texts read."""
    for banker_total in range(8):
        printed = tableau_vectors["bankerWhenPlayerDrew"][str(banker_total)]
        assert BANKER_WHEN_PLAYER_DREW[banker_total] == printed
        for third in range(10):
            hands = ((*two_cards(0), CARD_COUNTING[third]), two_cards(banker_total))
            assert (next_side(*hands) is Side.BANKER) == (printed[third] == "D")
        stood = BANKER_WHEN_PLAYER_STOOD[banker_total]
        assert stood == tableau_vectors["bankerWhenPlayerStood"][banker_total]
        assert (next_side(two_cards(6), two_cards(banker_total)) is Side.BANKER) == (stood == "D")


def test_natural_totals_never_draw_by_any_row() -> None:
    for banker_total in (8, 9):
        assert not banker_draws(banker_total, None)
        assert not any(banker_draws(banker_total, third) for third in range(10))
    assert not any(player_draws(total, banker_total) for total, banker_total in product((8, 9), range(10)))


@pytest.mark.parametrize("zero", "TJQK")
def test_bl_002_every_zero_card_is_zero(zero: str) -> None:
    """BL-002: the banker's 4 stands against any zero card, its 3 draws."""
    stands = deal(f"2 {zero} 3 4 {zero} 5")
    assert (totals(stands), stands.outcome, stands.cards_used) == ((5, 4), Outcome.PLAYER, 5)
    draws = deal(f"2 {zero} 3 3 {zero} 5")
    assert (totals(draws), draws.outcome, draws.cards_used) == ((5, 8), Outcome.BANKER, 6)


@pytest.mark.parametrize(
    ("cards", "outcome", "expected"),
    [("2 4 3 4 9", "banker", (5, 8)), ("3 K 5 Q 9", "player", (8, 0)), ("4 3 4 6 9", "banker", (8, 9))],
)
def test_bl_003_a_natural_on_either_side_ends_the_deal(cards: str, outcome: str, expected: tuple[int, int]) -> None:
    """BL-003: nobody draws against a natural; between two naturals the higher wins."""
    hands = deal(cards)
    assert (hands.outcome, totals(hands), hands.cards_used) == (outcome, expected, 4)


def test_bl_005_cards_are_dealt_alternately() -> None:
    """BL-005: P, B, P, B, then the player's third; the banker's 6 stands on a 5."""
    hands = deal("A 2 3 4 5 9")
    assert hands == Hands(player=(Card("A"), Card("3"), Card("5")), banker=(Card("2"), Card("4")))
    assert (hands.outcome, totals(hands)) == (Outcome.PLAYER, (9, 6))
    assert list(order_of("A 2 3 4 5 9")) == ["player", "banker", "player", "banker", "player"]
    assert list(order_of("T T T T T T"))[4:] == ["player", "banker"]


def order_of(cards: str) -> Iterator[str]:
    hands: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
    for card in parse_cards(cards):
        side = next_side(hands[Side.PLAYER], hands[Side.BANKER])
        if side is None:
            return
        hands[side].append(card)
        yield side


def test_bl_007_three_cards_are_no_natural() -> None:
    """BL-007: nine in three cards wins and is no natural."""
    hands = deal("2 T 2 7 5")
    assert (hands.outcome, totals(hands)) == (Outcome.PLAYER, (9, 7))
    assert not is_natural(hands.player)
    assert not is_natural(hands.banker)


def test_bl_008_no_card_after_the_round_is_decided() -> None:
    """BL-008: over whole shoes, hands of 2 or 3 cards, rounds of 4 to 6, and none longer than the tableau asks."""
    rounds = 0
    for number in range(1, 250):
        shoe = shuffled_shoe(sha256(b"whole shoes").digest(), 8, number, CUT_CARD_DEFAULT)
        for hands in play_out(shoe):
            rounds += 1
            assert {len(hands.player), len(hands.banker)} <= {2, 3}
            assert next_side(hands.player, hands.banker) is None
            assert next_side(hands.player[:2], hands.banker[:2]) is not None or hands.cards_used == 4
            if is_natural(hands.player[:2]) or is_natural(hands.banker[:2]):
                assert hands.cards_used == 4
    assert rounds > 20_000


def test_every_first_six_ranks_deal_a_complete_round() -> None:
    """Any six values complete a round: five are enough or the sixth is used, and what is left over is not looked at."""
    for values in product(CARD_COUNTING, repeat=4):
        for third in (CARD_COUNTING[0], CARD_COUNTING[6], CARD_COUNTING[8]):
            source = iter([*values, third, third])
            hands = deal_hands(source)
            assert hands.cards_used + len(list(source)) == 6


@pytest.mark.parametrize(("cards", "given"), [("", 0), ("9 9 9", 3), ("2 T 2 6", 4), ("T T T T T", 5)])
def test_too_few_cards(cards: str, given: int) -> None:
    with pytest.raises(TooFewCards) as refused:
        deal(cards)
    assert refused.value.cards_given == given


@pytest.mark.parametrize("sizes", [(0, 1), (2, 0), (1, 2), (3, 1), (0, 2), (4, 2), (3, 4), (1, 3)])
def test_hands_that_no_deal_gives(sizes: tuple[int, int]) -> None:
    with pytest.raises(ImpossibleHands) as refused:
        next_side(CARD_COUNTING[: sizes[0]], CARD_COUNTING[: sizes[1]])
    assert (refused.value.player_cards, refused.value.banker_cards) == sizes


def test_the_higher_total_wins() -> None:
    for player_total, banker_total in product(range(10), repeat=2):
        expected = "tie" if player_total == banker_total else "player" if player_total > banker_total else "banker"
        assert decide(two_cards(player_total), two_cards(banker_total)) == expected


def test_naturals_are_eight_or_nine_on_two_cards() -> None:
    for first, second in product(RANKS, repeat=2):
        hand = (Card(first), Card(second))
        assert is_natural(hand) == ((card_value(hand[0]) + card_value(hand[1])) % 10 in (8, 9))
        assert not is_natural((*hand, Card("T")))
    assert not is_natural((Card("9"),))


def test_same_cards_whatever_is_bet() -> None:
    """Nothing that orders, deals or decides cards can see a bet: its modules reach none that knows one."""
    folder = Path(tableau.__file__).parent
    reached: set[str] = set()
    to_read = ["shoe", "tableau", "fairness", "cards"]
    while to_read:
        name = to_read.pop()
        reached.add(name)
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("client_sdk"):
                to_read += [module for module in [(node.module or "").rpartition(".")[2]] if module not in reached]
    assert reached == {"shoe", "tableau", "fairness", "cards", "errors"}
