"""Where shoes come from: the system's chance, the same cards again, and files of stacked rounds with their mistakes."""

import random
from collections import Counter

import pytest

from client_sdk.game.fairness import commitment
from client_sdk.game.shoe import shuffled_shoe
from client_sdk.game.variants import VARIANTS
from client_sdk.protocol.messages import TableRules
from server.shoes import SECRET_BYTES, BadStackedShoe, FreshShoe, ShoeLost, Shoes, ShuffledShoes, StackedShoes
from server.table.state import TableState
from tests.support.table_rules import rules_of


def opened(fresh: FreshShoe) -> TableState:
    """A table with this shoe open."""
    return TableState(shoe=fresh.shoe.number, shoe_secret=fresh.secret.hex(), shoe_commitment=fresh.commitment)


# --- Shuffled ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_fresh_shoe_holds_every_card_and_opens_by_its_secret(variant: str) -> None:
    rules = rules_of(variant)
    fresh = ShuffledShoes().fresh(7, rules)
    assert (fresh.shoe.number, fresh.shoe.cut_card) == (7, rules.cut_card)
    assert set(Counter(fresh.shoe.cards).values()) == {rules.decks}
    assert len(set(fresh.shoe.cards)) == 52
    assert len(fresh.secret) == SECRET_BYTES
    assert fresh.commitment == commitment(fresh.secret)
    assert fresh.shoe == shuffled_shoe(fresh.secret, rules.decks, 7, rules.cut_card)


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_open_shoe_is_made_again_card_for_card(variant: str) -> None:
    """By another node, and by one that was given a file of stacked rounds meanwhile."""
    rules = rules_of(variant)
    fresh = ShuffledShoes().fresh(3, rules)
    for source in (ShuffledShoes(), StackedShoes(["9 8 K K"])):
        assert source.reopen(opened(fresh), rules) == fresh.shoe


def test_bl_038_no_two_shoes_share_an_order_or_a_beginning() -> None:
    """BL-037, BL-038: many tables at the same moment, the same shoe number, a seeded generator in the process."""
    rules = rules_of("royal")
    beginnings, secrets = set(), set()
    for _ in range(100):
        random.seed(0)
        fresh = ShuffledShoes().fresh(1, rules)
        beginnings.add(fresh.shoe.cards[:50])
        secrets.add(fresh.secret)
    assert len(beginnings) == len(secrets) == 100


# --- Stacked ----------------------------------------------------------------------------------------------------------

STACKED = rules_of("royal", cut_card=None, stacked=True)


def test_rounds_are_dealt_line_by_line_and_around_again() -> None:
    lines = ["# first a natural", "9 8 K K", "", "   # then a tie of sixes", "6h,6d,10c,Td", "  \t ", "2 6 2 t 6 3\n"]
    shoes = StackedShoes(lines)
    expected = [("9s", "8s", "Ks", "Ks"), ("6h", "6d", "Tc", "Td"), ("2s", "6s", "2s", "Ts", "6s", "3s")]
    for number in range(1, 10):
        fresh = shoes.fresh(number, STACKED)
        assert fresh.shoe.cards == expected[(number - 1) % 3]
        assert (fresh.shoe.number, fresh.shoe.cut_card, fresh.shoe.burned) == (number, None, 0)
        assert (fresh.secret, fresh.commitment) == (b"", "")
        state = opened(fresh)
        assert state.has_shoe
        assert shoes.reopen(state, STACKED) == fresh.shoe


def test_a_stacked_shoe_is_lost_without_its_file() -> None:
    state = opened(StackedShoes(["9 8 K K"]).fresh(1, STACKED))
    with pytest.raises(ShoeLost):
        ShuffledShoes().reopen(state, STACKED)


@pytest.mark.parametrize(
    ("lines", "line", "why"),
    [
        ([], 1, "holds no round"),
        (["", "# nothing", "   "], 1, "holds no round"),
        (["9 8 K"], 1, "too few cards"),
        (["2 2 2 2"], 1, "too few cards"),
        (["2 6 2 T 6"], 1, "too few cards"),
        (["9 8 K K 5"], 1, "the round is over after 4 cards, 5 are given"),
        (["9 8 K K", "#", "9 8 K K 9 8 K K"], 3, "the round is over after 4 cards, 8 are given"),
        (["9 8 K K", "9 8 K X"], 2, "unknown card 'X'"),
        (["9 8 K 1"], 1, "unknown card '1'"),
        (["9x 8 K K"], 1, "unknown card '9x'"),
        (["9 8 K K # a natural"], 1, "unknown card '#'"),
        (["９ 8 K K"], 1, "unknown card"),
        (["\x00"], 1, "unknown card"),
    ],
)
def test_a_file_that_can_not_be_dealt_names_the_line(lines: list[str], line: int, why: str) -> None:
    with pytest.raises(BadStackedShoe) as bad:
        StackedShoes(lines)
    assert bad.value.line == line
    assert why in bad.value.why
    assert str(bad.value) == f"line {line}: {bad.value.why}"


def test_both_are_sources_of_shoes() -> None:
    sources: list[Shoes] = [ShuffledShoes(), StackedShoes(["9 8 K K"])]
    rules: TableRules = rules_of("red-lounge")
    for source in sources:
        assert source.fresh(1, rules).shoe.number == 1
