"""What a client can check of a round: right rounds pass, and each kind of wrong one is named."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.checks import check_round, check_void_round, require_round, variant_of
from client_sdk.exceptions import RoundDisputed
from client_sdk.game.cards import parse_cards
from client_sdk.game.settlement import Result
from client_sdk.game.tableau import Hands, Outcome, Side, deal_hands
from client_sdk.game.variants import VARIANTS, Spot
from client_sdk.protocol.messages import BetLine, Results
from tests.unit.sdk.builders import dealt_cards, decided, hands_of, results, rules

PLAYER_WINS = deal_hands(parse_cards("9h Td Tc 5s"))  # 9 over 5, four cards
SIX_CARDS = deal_hands(parse_cards("2c Tc 3d 3h Ks 5s"))  # player 5, banker 8 with a third card


def wrong(hands: Hands = SIX_CARDS, **changes: Any) -> list[str]:
    return check_round(rules(), dealt_cards(hands), decided(hands, **changes))


@given(st.integers(), st.sampled_from(sorted(VARIANTS)), st.data())
def test_a_round_by_the_rules_passes(seed: int, variant: str, data: st.DataObject) -> None:
    hands, table_rules = hands_of(Random(seed)), rules(variant, win_max=data.draw(st.sampled_from([None, 700])))
    spots = [(Spot.PLAYER,), (Spot.BANKER,), tuple(table_rules.maximums)[-1:]]
    bets = {spot: data.draw(st.integers(1, 10**6)) for spot in data.draw(st.sampled_from(spots))}
    told = results(hands, bets, stack=0, table_rules=table_rules)
    assert check_round(table_rules, dealt_cards(hands), decided(hands), told, bets) == []
    require_round(table_rules, dealt_cards(hands), decided(hands), told, bets)


def test_a_round_without_own_bets_passes() -> None:
    assert wrong() == []
    assert check_round(rules(), dealt_cards(SIX_CARDS), decided(SIX_CARDS), None, {}) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"outcome": Outcome.TIE}, "the outcome is tie, the cards make banker"),
        ({"player_total": 6}, "the player's total is 6, the cards make 5"),
        ({"banker_total": 0}, "the banker's total is 0, the cards make 8"),
        ({"player_natural": True}, "the player's natural is True"),
        ({"banker_natural": True}, "the banker's natural is True"),
        ({"player": ["2c", "3d"]}, "the player's hand is ['2c', '3d']"),
        ({"banker": ["Tc", "3h", "6s"]}, "the banker's hand is"),
        ({"roads": replace(decided(SIX_CARDS).roads, bead="T2.")}, "the bead is T2., the cards make B.."),
    ],
)
def test_a_wrong_decision_is_named(changes: dict[str, Any], named: str) -> None:
    mismatches = wrong(**changes)
    assert len(mismatches) == 1
    assert mismatches[0].startswith(named)


def test_a_natural_on_three_cards_is_none() -> None:
    assert wrong(banker_natural=True) == ["the banker's natural is True, the cards make False"]


def test_a_card_for_the_wrong_hand_is_named() -> None:
    dealt = dealt_cards(SIX_CARDS)
    dealt[0] = replace(dealt[0], side=Side.BANKER)
    assert check_round(rules(), dealt, decided(SIX_CARDS)) == ["card 1 went to banker, the tableau gives it to player"]


def test_a_card_after_the_round_was_over_is_named() -> None:
    dealt = dealt_cards(PLAYER_WINS)
    dealt.append(replace(dealt[0], card="2c"))
    assert check_round(rules(), dealt, decided(PLAYER_WINS)) == [
        "card 5 went to player, the tableau gives it to nobody"
    ]


@pytest.mark.parametrize("count", range(6))
def test_a_decision_before_the_last_card_is_named(count: int) -> None:
    assert check_round(rules(), dealt_cards(SIX_CARDS)[:count], decided(SIX_CARDS)) == [
        f"the round was decided after {count} cards, the tableau goes on"
    ]


def test_what_is_no_card_is_named() -> None:
    dealt = dealt_cards(SIX_CARDS)
    dealt[2] = replace(dealt[2], card="1x")
    assert "unknown card '1x'" in check_round(rules(), dealt, decided(SIX_CARDS))[0]


BETS = {Spot.BANKER: 1_000, Spot.TIE: 100}
RIGHT = results(SIX_CARDS, BETS, stack=0)


def disputed(told: Results | None, bets: dict[Spot, int] | None = None, **changes: Any) -> list[str]:
    return check_round(rules(**changes), dealt_cards(SIX_CARDS), decided(SIX_CARDS), told, bets)


def line(spot: Spot, **changes: Any) -> Results:
    return replace(RIGHT, bets=RIGHT.bets | {spot: replace(RIGHT.bets[spot], **changes)})


@pytest.mark.parametrize("field", ["payout", "commission", "capped"])
@pytest.mark.parametrize("spot", BETS)
def test_every_number_of_every_payout_is_checked(spot: Spot, field: str) -> None:
    told: BetLine = RIGHT.bets[spot]
    mismatches = disputed(line(spot, **{field: getattr(told, field) + 1}))
    assert len(mismatches) == 1
    assert mismatches[0].startswith(f"{spot.value} came back as")


def test_a_cap_that_was_not_applied_is_named() -> None:
    assert disputed(RIGHT, win_max=900) == [
        "banker came back as win 1950 of 1000, commission 50, capped 0,"
        " the rules give win 1900 of 1000, commission 50, capped 50"
    ]


def test_results_of_another_round_or_outcome_are_named() -> None:
    assert disputed(replace(RIGHT, round=7)) == ["the results are of round 7, the cards of round 1"]
    assert disputed(replace(RIGHT, outcome=Outcome.TIE)) == ["the results go by tie, the round by banker"]


def test_bets_that_were_not_settled_as_laid_are_named() -> None:
    assert disputed(RIGHT, BETS) == []
    assert disputed(RIGHT, {Spot.BANKER: 1_000}) == [
        "{'banker': 1000, 'tie': 100} was settled, {'banker': 1000} was bet"
    ]
    assert disputed(None, BETS) == ["no results came for the bets {'banker': 1000, 'tie': 100}"]
    assert disputed(None, None) == []


def test_a_void_round_gives_every_stake_back_and_no_more() -> None:
    told = replace(RIGHT, outcome=None, bets={spot: push(stake) for spot, stake in BETS.items()})
    assert check_void_round(told) == []
    assert check_void_round(told, BETS) == []
    assert check_void_round(replace(told, outcome=Outcome.TIE)) == ["a void round has the outcome tie"]
    assert check_void_round(told, {Spot.TIE: 100}) == ["{'banker': 1000, 'tie': 100} was settled, {'tie': 100} was bet"]
    kept = replace(told, bets={Spot.TIE: replace(push(100), payout=0)})
    assert check_void_round(kept) == [
        "tie came back as push 0 of 100, commission 0, capped 0, the rules give push 100 of 100, commission 0, capped 0"
    ]
    assert disputed(replace(RIGHT, outcome=None)) == ["the results go by no outcome, the round by banker"]


def push(stake: int) -> BetLine:
    return BetLine(stake=stake, payout=stake, commission=0, result=Result.PUSH)


def test_a_bet_that_the_house_does_not_take_is_named() -> None:
    told = results(SIX_CARDS, {Spot.TIE: 100}, stack=0)
    stand_off = rules("stand-off")
    mismatches = check_round(stand_off, dealt_cards(SIX_CARDS), decided(SIX_CARDS), told)
    assert mismatches == ["stand-off takes no bet on tie"]


def test_a_dispute_names_table_round_and_all_mismatches() -> None:
    with pytest.raises(RoundDisputed, match="round 1 of royal-1 does not add up") as disputed_round:
        require_round(rules(), dealt_cards(SIX_CARDS), decided(SIX_CARDS, outcome=Outcome.TIE, player_total=1))
    assert len(disputed_round.value.mismatches) == 2


@pytest.mark.parametrize("name", VARIANTS)
def test_the_house_is_read_from_its_rules(name: str) -> None:
    house, read = VARIANTS[name], variant_of(rules(name))
    assert (read.name, read.decks, read.commission_bp, read.tie_pays) == (
        house.name,
        house.decks,
        house.commission_bp,
        house.tie_pays,
    )
    assert (read.spots, read.forbidden_pairs) == (house.spots, house.forbidden_pairs)
