"""The small form of `make stats`: the product's shuffle and rounds against the exact odds; and that it can fail."""

from random import Random

import pytest

from client_sdk.commands.simulate import Tally
from tests.stats import dealt, positions
from tests.stats.dealt import VARIANTS, Finding

ROUNDS = {1: 8_000, 4: 3_000, 8: 20_000}


def broken(found: list[Finding]) -> list[str]:
    return [finding.name for finding in found if not finding.holds]


@pytest.mark.parametrize("decks", VARIANTS)
def test_what_is_dealt_lies_within_four_sigma_of_the_exact_odds(decks: int) -> None:
    """BL-006 in short: banker, player, tie, naturals, pairs, cards of a round."""
    assert broken(list(dealt.findings(decks, dealt.deal(decks, ROUNDS[decks], "small")))) == []


def test_every_card_lands_in_every_place_alike() -> None:
    """BL-036 in short, all places at once."""
    counts = positions.count_places(8_000, "small")
    assert sum(counts) == 8_000 * 52
    assert positions.finding(counts).holds


def test_a_small_advantage_is_found() -> None:
    """One BANKER in ten that was told as PLAYER."""
    tally = dealt.together([dealt.deal(8, ROUNDS[8], f"small {part}") for part in range(2)])
    moved = tally.outcomes["banker"] // 10
    told = Tally(tally.rounds, tally.shoes, tally.outcomes.copy(), tally.cards, tally.naturals, tally.pairs)
    told.outcomes["banker"] -= moved
    told.outcomes["player"] += moved
    assert broken(list(dealt.findings(8, tally))) == []
    assert {"banker", "player", "banker/player/tie"} <= set(broken(list(dealt.findings(8, told))))


def test_a_shuffle_that_favours_a_place_is_found() -> None:
    """The usual mistake: every card is exchanged with any other, instead of one that is still to be placed."""
    chance = Random(1)

    def naive() -> list[int]:
        order = list(range(52))
        for place in range(52):
            other = chance.randrange(52)
            order[place], order[other] = order[other], order[place]
        return order

    assert not positions.finding(positions.count_orders(naive() for _ in range(4_000))).holds
    fair = positions.count_orders(chance.sample(range(52), 52) for _ in range(4_000))
    assert positions.finding(fair).holds
