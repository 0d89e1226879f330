"""Where shoes come from: the system's chance, the same cards again, and files of stacked rounds with their mistakes."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from client_sdk.game.fairness import Cut, commitment
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.shoe import shuffled_shoe
from client_sdk.game.variants import VARIANTS
from client_sdk.protocol.messages import TableRules
from server.keyring import Keyring, SealKeyMissing
from server.shoes import ALTERED, CHANGED, LOST, BadStackedShoe, ShoeBroken, Shoes, StackedRounds
from server.store.records import pack, unpack_state
from server.table import machine
from server.table.state import TableState
from tests.support.shoes import KEYRING, shuffled_shoes, stacked_shoes
from tests.support.table_rules import rules_of

TABLE = "t1"
CUTS: tuple[Cut, ...] = ((b"g1", bytes(range(8))), (b"g2", bytes(range(32))))


def started(shoes: Shoes, number: int, rules: TableRules) -> TableState:
    """A table with a fresh shoe of this number, before its first bet."""
    before = TableState(shoe=number - 1)
    return machine.start_shoe(before, TABLE, rules, shoes.fresh(TABLE, number, rules)).state


def closed(state: TableState, cuts: Sequence[Cut]) -> TableState:
    """The same once its cuts are frozen."""
    return replace(state, shoe_cuts=len(cuts), shoe_cuts_digest=cuts_digest(cuts))


def reason_of(shoes: Shoes, state: TableState, rules: TableRules, cuts: Sequence[Cut] = ()) -> tuple[str, bytes]:
    """Why the open shoe can't be dealt on, and what could be opened of it."""
    with pytest.raises(ShoeBroken) as broken:
        shoes.open(TABLE, state, rules, cuts)
    return broken.value.reason, broken.value.secret


# --- Shuffled ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_fresh_shoe_has_a_commitment_and_no_order_before_its_cuts_are_frozen(variant: str) -> None:
    rules = rules_of(variant)
    state = started(shuffled_shoes(), 7, rules)
    shoe = shuffled_shoes().open(TABLE, state, rules, ())
    assert shoe.shoe is None
    assert commitment(shoe.secret) == state.shoe_commitment
    assert state.shoe_cards == 52 * rules.decks
    assert shoe.secret.hex() not in repr(state) + repr(shoe)
    dealt = shuffled_shoes().open(TABLE, closed(state, CUTS), rules, CUTS)
    assert dealt.dealt_from == shuffled_shoe(shoe.secret, rules.decks, 7, rules.cut_card, CUTS)
    assert set(Counter(dealt.dealt_from.cards).values()) == {rules.decks}
    assert len(set(dealt.dealt_from.cards)) == 52
    assert dealt.dealt_from.cards != shuffled_shoes().open(TABLE, closed(state, ()), rules, ()).dealt_from.cards


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_open_shoe_is_made_again_card_for_card(variant: str) -> None:
    """By another node, and by one that was given a file of stacked rounds meanwhile."""
    rules = rules_of(variant)
    state = closed(started(shuffled_shoes(), 3, rules), CUTS)
    first = shuffled_shoes().open(TABLE, state, rules, CUTS)
    told = replace(state, shoe_root=first.root)
    for source in (shuffled_shoes(), stacked_shoes(["9 8 K K"])):
        assert source.open(TABLE, told, rules, CUTS) == first


def test_bl_038_no_two_shoes_share_an_order_or_a_beginning() -> None:
    """BL-037, BL-038: many tables at the same moment, the same shoe number, a seeded generator in the process."""
    rules = rules_of("royal")
    beginnings, secrets = set(), set()
    for _ in range(100):
        random.seed(0)
        state = closed(started(shuffled_shoes(), 1, rules), ())
        shoe = shuffled_shoes().open(TABLE, state, rules, ())
        beginnings.add(shoe.dealt_from.cards[:50])
        secrets.add(shoe.secret)
    assert len(beginnings) == len(secrets) == 100


def test_what_is_not_what_was_told_ends_the_shoe() -> None:
    """A new owner compares the commitment, the cuts and the root; what it can open is revealed."""
    rules, shoes = rules_of("royal"), shuffled_shoes()
    state = closed(started(shoes, 1, rules), CUTS)
    shoe = shoes.open(TABLE, state, rules, CUTS)
    told = replace(state, shoe_root=shoe.root)
    other = started(shoes, 1, rules)
    assert reason_of(shoes, replace(told, shoe_sealed=other.shoe_sealed), rules, CUTS)[0] == ALTERED
    for cuts in ((), CUTS[:1], CUTS[::-1], (*CUTS, (b"g3", bytes(8))), ((b"g1", bytes(8)), CUTS[1])):
        assert reason_of(shoes, told, rules, cuts) == (ALTERED, shoe.secret)
    assert reason_of(shoes, replace(told, shoe_root="00" * 32), rules, CUTS) == (ALTERED, shoe.secret)
    assert reason_of(shoes, told, replace(rules, decks=6), CUTS) == (ALTERED, shoe.secret)


def test_a_secret_that_was_moved_or_changed_is_not_opened() -> None:
    """The sealing binds table and shoe number."""
    rules, shoes = rules_of("royal"), shuffled_shoes()
    state = started(shoes, 1, rules)
    sealed = state.shoe_sealed or ""
    assert reason_of(shoes, replace(state, shoe=2), rules) == (ALTERED, b"")
    for broken in (f"{sealed[:-1]}{'0' if sealed[-1] != '0' else '1'}", sealed[:-2], "rubbish", "1..", sealed[1:]):
        assert reason_of(shoes, replace(state, shoe_sealed=broken), rules) == (ALTERED, b"")
    with pytest.raises(ShoeBroken):
        shoes.open("t2", state, rules, ())


def test_a_missing_key_is_no_guess() -> None:
    rules = rules_of("royal")
    state = started(shuffled_shoes(), 1, rules)
    with pytest.raises(SealKeyMissing) as missing:
        Shoes(Keyring([bytes(32)])).open(TABLE, state, rules, ())
    assert missing.value.key_id == KEYRING.newest_id


def test_a_secret_that_an_older_house_kept_readable_is_revealed() -> None:
    rules, secret = rules_of("royal"), bytes(range(32))
    old = {"phase": "dealing", "shoe": 4, "shoe_secret": secret.hex(), "shoe_commitment": commitment(secret)}
    state = unpack_state(pack(old), 0)
    assert state.has_shoe
    assert reason_of(shuffled_shoes(), state, rules) == (CHANGED, secret)


# --- Stacked ----------------------------------------------------------------------------------------------------------

STACKED = rules_of("royal", cut_card=None, stacked=True)


def test_rounds_are_dealt_line_by_line_and_around_again() -> None:
    lines = ["# first a natural", "9 8 K K", "", "   # then a tie of sixes", "6h,6d,10c,Td", "  \t ", "2 6 2 t 6 3\n"]
    shoes = stacked_shoes(lines)
    expected = [("9s", "8s", "Ks", "Ks"), ("6h", "6d", "Tc", "Td"), ("2s", "6s", "2s", "Ts", "6s", "3s")]
    for number in range(1, 10):
        state = started(shoes, number, STACKED)
        assert (state.has_shoe, state.takes_cuts, state.shoe_commitment) == (True, False, "")
        shoe = shoes.open(TABLE, state, STACKED, ())
        cards = expected[(number - 1) % 3]
        assert (shoe.dealt_from.cards, state.shoe_cards) == (cards, len(cards))
        assert (shoe.dealt_from.number, shoe.dealt_from.cut_card, shoe.dealt_from.burned) == (number, None, 0)
        assert (shoe.secret, shoe.tree) == (b"", None)


def test_a_stacked_shoe_is_lost_without_its_file() -> None:
    state = started(stacked_shoes(["9 8 K K"]), 1, STACKED)
    assert reason_of(shuffled_shoes(), state, STACKED) == (LOST, b"")


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
        StackedRounds(lines)
    assert bad.value.line == line
    assert why in bad.value.why
    assert str(bad.value) == f"line {line}: {bad.value.why}"
