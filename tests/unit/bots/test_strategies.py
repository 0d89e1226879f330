"""Ways to bet: what they return is legal by the model, or the model says why not."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.bots.acts import Act, Holding, House, Place, foresee, house_of
from client_sdk.bots.strategies import BUSY_ACTS_MAX, STRATEGIES, busy, cheapest_bet, flat, mixed, modest
from client_sdk.game.bets import EMPTY, Refusal
from client_sdk.game.variants import VARIANTS, Spot
from tests.unit.bots.story import rules_of

houses = st.sampled_from(sorted(VARIANTS)).map(lambda name: house_of(rules_of(name)))
lasts = st.dictionaries(st.sampled_from(list(Spot)), st.integers(1, 100).map(lambda n: n * 100), max_size=3)
holdings = st.builds(Holding, stack=st.integers(0, 50_000), layout=st.just(EMPTY), last=lasts, is_ready=st.just(False))
seeds = st.integers(0, 2**32)


def played(acts: list[Act], holding: Holding, house: House) -> tuple[Holding, list[Refusal]]:
    refusals = []
    for act in acts:
        after = foresee(act, holding, house)
        if isinstance(after, Refusal):
            refusals.append(after)
        else:
            assert after.total == holding.total
            holding = after
    return holding, refusals


@pytest.mark.parametrize("strategy", [flat, mixed, modest])
@settings(max_examples=150, deadline=None)
@given(house=houses, holding=holdings, seed=seeds)
def test_only_legal_acts_and_a_bet_where_one_can_be(strategy, house: House, holding: Holding, seed: int) -> None:
    acts = list(strategy(house, holding, 1, Random(seed)))
    after, refusals = played(acts, holding, house)
    assert refusals == []
    assert bool(after.layout.acts) or holding.stack < cheapest_bet(house) or strategy is modest


@settings(max_examples=200, deadline=None)
@given(house=houses, holding=holdings, seed=seeds)
def test_busy_ends_with_a_bet_where_one_can_be(house: House, holding: Holding, seed: int) -> None:
    acts = busy(house, holding, 1, Random(seed))
    assert len(acts) <= BUSY_ACTS_MAX + 1
    after, _ = played(acts, holding, house)
    assert bool(after.layout.acts) or holding.stack < cheapest_bet(house)


def test_busy_meets_every_refusal_of_the_rules() -> None:
    """What is never tried would never be compared with the table."""
    met: set[Refusal] = set()
    for variant in VARIANTS:
        house = house_of(rules_of(variant))
        holding = Holding(stack=30_000, last={Spot.PLAYER: 200})
        for seed in range(400):
            _, refusals = played(busy(house, holding, 1, Random(seed)), holding, house)
            met.update(refusals)
            _, refusals = played(busy(house, Holding(stack=900), 1, Random(seed)), Holding(stack=900), house)
            met.update(refusals)
    assert met == set(Refusal) - {Refusal.TABLE_MAXIMUM}  # that one depends on what all others lay meanwhile


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_gives_the_same_acts(name: str) -> None:
    house, holding = house_of(rules_of("royal")), Holding(stack=9_000, last={Spot.TIE: 200})
    acts = [STRATEGIES[name](house, holding, 1, Random("seed")) for _ in range(2)]
    assert acts[0] == acts[1]


def test_flat_lays_the_same_sum_each_time() -> None:
    house = house_of(rules_of("royal"))
    acts = [act for seed in range(50) for act in flat(house, Holding(stack=9_000), 1, Random(seed))]
    assert {act.chip for act in acts if isinstance(act, Place)} == {200}
    assert {act.spot for act in acts if isinstance(act, Place)} == set(Spot)


def test_the_cheapest_bet_is_the_smallest_chip_that_may_lie_alone() -> None:
    assert cheapest_bet(house_of(rules_of("royal"))) == 200
    assert cheapest_bet(house_of(rules_of("royal", minimum=201))) == 500
