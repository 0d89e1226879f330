"""Settlement: every outcome against every spot of every variant, the rounding, the cap, and known wrong payouts."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.game.cards import parse_cards
from client_sdk.game.odds import count_rounds
from client_sdk.game.settlement import AMOUNT_MAX, BadStake, BetResult, ForbiddenBet, Result, settle, settle_bet
from client_sdk.game.tableau import Outcome, deal_hands, is_natural
from client_sdk.game.variants import VARIANTS, Spot, variant_named

NATURAL_TIE = "9 9 T T"

# What a bet of 100 brings back when it wins.
WINS = {
    "royal": {"player": 200, "banker": 195, "tie": 900},
    "four-deck": {"player": 200, "banker": 195, "tie": 900},
    "punto-banco": {"player": 200, "banker": 195, "tie": 900},
    "stand-off": {"player": 200, "banker": 195},
    "red-lounge": {"player": 200, "banker": 196, "tie": 1000},
}


def profit(results: dict[Spot, BetResult]) -> int:
    return sum(result.payout - result.stake for result in results.values())


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("spot", Spot)
@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_against_every_spot(name: str, spot: Spot, outcome: Outcome) -> None:
    variant = variant_named(name)
    if spot.value not in WINS[name]:
        with pytest.raises(ForbiddenBet) as refused:
            settle_bet(variant, spot, 100, outcome)
        assert refused.value.spots == (spot,)
        return
    bet = settle_bet(variant, spot, 100, outcome)
    assert (bet.stake, bet.capped) == (100, 0)
    if spot.value == outcome.value:
        commission = variant.commission_bp // 100 if spot is Spot.BANKER else 0
        assert (bet.result, bet.payout, bet.commission) == (Result.WIN, WINS[name][spot], commission)
    elif outcome is Outcome.TIE:
        assert (bet.result, bet.payout, bet.commission) == (Result.PUSH, 100, 0)
    else:
        assert (bet.result, bet.payout, bet.commission) == (Result.LOSE, 0, 0)


def test_bl_010_a_tie_returns_the_stakes_and_pays_the_tie() -> None:
    """BL-010: player 100 and banker 40 come back whole, without commission; only the tie's profit moves the balance."""
    for name in ("royal", "punto-banco", "red-lounge"):
        variant = variant_named(name)
        results = settle(variant, {Spot.PLAYER: 100, Spot.BANKER: 40, Spot.TIE: 10}, Outcome.TIE)
        assert [results[spot].payout for spot in (Spot.PLAYER, Spot.BANKER)] == [100, 40]
        assert [result.commission for result in results.values()] == [0, 0, 0]
        assert variant.tie_pays is not None
        assert profit(results) == 10 * variant.tie_pays


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("spot", [Spot.PLAYER, Spot.BANKER])
def test_bl_011_a_push_is_no_win(name: str, spot: Spot) -> None:
    """BL-011: a natural tie with one bet of 100 leaves the balance as it was, says push, and takes no commission."""
    hands = deal_hands(parse_cards(NATURAL_TIE))
    assert is_natural(hands.player)
    assert is_natural(hands.banker)
    results = settle(variant_named(name), {spot: 100}, hands.outcome)
    assert results == {spot: BetResult(stake=100, payout=100, commission=0, result=Result.PUSH, capped=0)}


@pytest.mark.parametrize("stake", [1, 3, 7, 33, 99, 101, AMOUNT_MAX])
def test_bl_013_a_refund_is_exact_and_called_a_refund(stake: int) -> None:
    """BL-013: odd stakes come back to the last unit, and the result is a push of its own, neither won nor lost."""
    for variant in VARIANTS.values():
        for spot in (Spot.PLAYER, Spot.BANKER):
            bet = settle_bet(variant, spot, stake, Outcome.TIE)
            assert bet == BetResult(stake=stake, payout=stake, commission=0, result=Result.PUSH, capped=0)


def test_bl_014_the_cap_cuts_the_win_exactly() -> None:
    """BL-014, its settlement part: the win after commission is cut to the cap, the cut is told."""
    royal = variant_named("royal")
    tie = settle_bet(royal, Spot.TIE, 100, Outcome.TIE, win_max=500)
    assert (tie.payout, tie.capped) == (600, 300)
    banker = settle_bet(royal, Spot.BANKER, 1000, Outcome.BANKER, win_max=950)
    assert (banker.payout, banker.commission, banker.capped) == (1950, 50, 0)
    banker = settle_bet(royal, Spot.BANKER, 1000, Outcome.BANKER, win_max=949)
    assert (banker.payout, banker.commission, banker.capped) == (1949, 50, 1)
    assert settle_bet(royal, Spot.TIE, 100, Outcome.PLAYER, win_max=500).capped == 0
    assert settle_bet(royal, Spot.PLAYER, 1000, Outcome.TIE, win_max=1).payout == 1000
    both = settle(royal, {Spot.PLAYER: 1000, Spot.TIE: 100}, Outcome.TIE, win_max=500)
    assert [bet.payout for bet in both.values()] == [1000, 600]


def test_bl_017_nine_for_one_is_eight_to_one() -> None:
    """BL-017: a tie bet of 10 brings 90 back in all, 100 in the house that pays 9 to 1."""
    paid = {
        name: settle_bet(variant, Spot.TIE, 10, Outcome.TIE).payout
        for name, variant in VARIANTS.items()
        if variant.tie_pays is not None
    }
    assert paid == {"royal": 90, "four-deck": 90, "punto-banco": 90, "red-lounge": 100}


def test_bl_018_commission_is_the_houses_own() -> None:
    """BL-018: a banker bet of 100 wins 96 where the house takes 4 %, 95 where it takes 5 %."""
    won = {name: profit(settle(variant, {Spot.BANKER: 100}, Outcome.BANKER)) for name, variant in VARIANTS.items()}
    assert won == {"royal": 95, "four-deck": 95, "punto-banco": 95, "stand-off": 95, "red-lounge": 96}


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("spots", [(Spot.PLAYER, Spot.BANKER), (Spot.BANKER, Spot.PLAYER), tuple(Spot)])
def test_bl_019_a_forbidden_pair_is_never_settled(spots: tuple[Spot, ...], outcome: Outcome) -> None:
    """BL-019: where player and banker may not lie together they are refused in any order; elsewhere both stand."""
    bets = dict.fromkeys(spots, 10)
    with pytest.raises(ForbiddenBet) as refused:
        settle(variant_named("four-deck"), bets, outcome)
    assert refused.value.spots == (Spot.PLAYER, Spot.BANKER)
    assert list(settle(variant_named("royal"), bets, outcome)) == [spot for spot in Spot if spot in spots]
    for side in (Spot.PLAYER, Spot.BANKER):
        assert len(settle(variant_named("four-deck"), {side: 10, Spot.TIE: 10}, outcome)) == 2


@pytest.mark.parametrize("stake", [0, -1, AMOUNT_MAX + 1])
def test_a_stake_is_a_possible_amount(stake: int) -> None:
    with pytest.raises(BadStake) as refused:
        settle_bet(variant_named("royal"), Spot.PLAYER, stake, Outcome.TIE)
    assert refused.value.stake == stake
    with pytest.raises(BadStake):
        settle(variant_named("royal"), {Spot.TIE: stake}, Outcome.PLAYER)


def test_no_bets_settle_to_nothing() -> None:
    assert settle(variant_named("four-deck"), {}, Outcome.TIE) == {}


@settings(deadline=None)
@given(
    name=st.sampled_from(sorted(VARIANTS)),
    stake=st.integers(1, AMOUNT_MAX) | st.integers(1, 10_000),
    spot=st.sampled_from(Spot),
    outcome=st.sampled_from(Outcome),
    win_max=st.none() | st.integers(0, 10**9),
)
def test_amounts_add_up(name: str, stake: int, spot: Spot, outcome: Outcome, win_max: int | None) -> None:
    variant = variant_named(name)
    if spot not in variant.spots:
        return
    bet = settle_bet(variant, spot, stake, outcome, win_max)
    assert bet.stake == stake
    assert bet.commission >= 0
    assert bet.capped >= 0
    if bet.result is not Result.WIN:
        assert (bet.payout, bet.commission, bet.capped) == (stake if bet.result is Result.PUSH else 0, 0, 0)
        return
    due = {Spot.PLAYER: stake, Spot.BANKER: stake, Spot.TIE: stake * (variant.tie_pays or 0)}[spot]
    assert bet.payout + bet.commission + bet.capped == stake + due
    rate = Fraction(variant.commission_bp, 10_000) if spot is Spot.BANKER else Fraction(0)
    assert bet.commission == ceil(stake * rate)
    assert bet.payout - stake <= (due if win_max is None else win_max)
    assert (bet.capped > 0) == (win_max is not None and due - bet.commission > win_max)


def test_no_stake_is_small_enough_to_beat_the_house() -> None:
    """With any other rounding a banker stake below ten units would return more than it costs."""
    for variant in VARIANTS.values():
        counts = count_rounds(variant.decks)
        for spot in variant.spots:
            for stake in range(1, 101):
                returned = sum(
                    ways * settle_bet(variant, spot, stake, outcome).payout
                    for outcome, ways in counts.by_outcome().items()
                )
                assert returned < stake * counts.total, (variant.name, spot, stake)
