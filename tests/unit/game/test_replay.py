"""A finished round dealt again from its record: every round that the rules make, and no other."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_sdk.game.cards import Card, card_of_index, hand_total, parse_cards
from client_sdk.game.replay import ReplayDiffers, replay_round
from client_sdk.game.tableau import Hands, Outcome, Side, deal_hands


def hands_of(seed: int) -> Hands:
    return deal_hands(card_of_index(index) for index in Random(seed).sample(range(416), 6))


def replayed(hands: Hands, outcome: Outcome | None) -> list[tuple[Side, Card, int]]:
    return [(card.side, card.card, card.total) for card in replay_round(hands.player, hands.banker, outcome)]


@given(st.integers(0, 2**32))
def test_a_right_record_is_dealt_card_by_card(seed: int) -> None:
    hands = hands_of(seed)
    cards = replayed(hands, hands.outcome)
    assert [side for side, _, _ in cards][:4] == [Side.PLAYER, Side.BANKER, Side.PLAYER, Side.BANKER]
    for side, hand in ((Side.PLAYER, hands.player), (Side.BANKER, hands.banker)):
        assert tuple(card for dealt, card, _ in cards if dealt is side) == hand
        assert [total for dealt, _, total in cards if dealt is side][-1] == hand_total(hand)
    assert deal_hands(card for _, card, _ in cards) == hands


@given(st.integers(0, 2**32), st.integers(0, 5))
def test_a_void_round_may_end_after_any_card(seed: int, cards: int) -> None:
    order = replayed(hands_of(seed), None)[:cards]
    hands = Hands(*(tuple(card for dealt, card, _ in order if dealt is side) for side in (Side.PLAYER, Side.BANKER)))
    assert replayed(hands, None) == order


@given(st.integers(0, 2**32))
def test_every_other_outcome_is_found(seed: int) -> None:
    hands = hands_of(seed)
    for outcome in set(Outcome) - {hands.outcome}:
        with pytest.raises(ReplayDiffers, match=f"the outcome is {hands.outcome}, the record says {outcome}"):
            replayed(hands, outcome)


@given(st.integers(0, 2**32), st.data())
def test_a_card_more_or_less_is_found(seed: int, data: st.DataObject) -> None:
    hands = hands_of(seed)
    player, banker = list(hands.player), list(hands.banker)
    hand = data.draw(st.sampled_from([player, banker]))
    if data.draw(st.booleans()):
        hand.append(Card("Ac"))
    else:
        hand.pop()
    with pytest.raises(ReplayDiffers):
        replayed(Hands(tuple(player), tuple(banker)), hands.outcome)


def test_only_what_the_tableau_deals_is_a_record() -> None:
    """Every pair of hands of two or three cards, by their values: a record is taken exactly if the rules deal it."""
    values = [Card(f"{rank}h") for rank in "A23456789T"]
    taken = 0
    for player_two, banker_two in product(range(10), repeat=2):
        firsts = [(values[(total - 1) % 10], Card("Th")) for total in (player_two, banker_two)]
        thirds: list[tuple[Card, ...]] = [(), *((value,) for value in values)]
        for player_third, banker_third in product(thirds, repeat=2):
            hands = Hands(firsts[0] + player_third, firsts[1] + banker_third)
            cards = (hands.player[0], hands.banker[0], hands.player[1], hands.banker[1], *player_third, *banker_third)
            try:
                is_dealt = deal_hands(cards) == hands
            except Exception:
                is_dealt = False
            try:
                replayed(hands, hands.outcome)
            except ReplayDiffers:
                assert not is_dealt
            else:
                assert is_dealt
                taken += 1
    assert taken > 1_000


def test_where_a_record_differs_is_told() -> None:
    cards = parse_cards("2h Td 2s 6c")
    with pytest.raises(ReplayDiffers, match="after 4 cards the rules deal to player, the record ends"):
        list(replay_round((cards[0], cards[2]), (cards[1], cards[3]), Outcome.BANKER))
