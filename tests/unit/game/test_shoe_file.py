"""A shoe in a file: the same after reading as before writing; whatever is no such file is refused by its field."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_sdk.game.proofs import PlayedRound, verify_shoe
from client_sdk.game.shoe_file import BadShoeFile, read_shoe, write_shoe
from tests.support.revealed_shoes import revealed_shoe

HONEST = revealed_shoe()
DOCUMENT = json.loads(json.dumps(write_shoe(HONEST)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def changed(*path: str | int, to: Any) -> Any:
    document = copy.deepcopy(DOCUMENT)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


def refused(document: object) -> BadShoeFile:
    with pytest.raises(BadShoeFile) as refusal:
        read_shoe(document)
    return refusal.value


@pytest.mark.parametrize(
    "shoe",
    [
        HONEST,
        revealed_shoe(cut_card=None, cuts=()),
        replace(HONEST, reason="lost", rounds=(*HONEST.rounds[:1], PlayedRound(102, (), (), None))),
        replace(HONEST, reason="store_rolled_back", rounds=(), burn=None, root=None),
    ],
)
def test_what_was_written_is_read(shoe: Any) -> None:
    read = read_shoe(json.loads(json.dumps(write_shoe(shoe))))
    assert read == shoe
    verify_shoe(read)


def test_the_form_of_the_file() -> None:
    first = HONEST.rounds[0]
    assert list(DOCUMENT) == [
        "format",
        "table",
        "shoe",
        "decks",
        "cut_card",
        "commitment",
        "cuts",
        "cuts_digest",
        "merkle_root",
        "secret",
        "burned",
        "rounds",
        "reason",
    ]
    assert (DOCUMENT["format"], DOCUMENT["table"], DOCUMENT["shoe"]) == ("punto-shoe-1", "main", 7)
    assert DOCUMENT["cuts"][0] == {"patron": "g01", "cut": b"eight or more".hex()}
    assert DOCUMENT["rounds"][0] == {
        "round": 101,
        "player": list(first.player),
        "banker": list(first.banker),
        "outcome": first.outcome,
    }


@pytest.mark.parametrize(
    ("field", "document"),
    [
        ("the file", None),
        ("the file", []),
        ("the file", {}),
        ("the file", {**DOCUMENT, "more": 1}),
        ("the file", {name: value for name, value in DOCUMENT.items() if name != "secret"}),
        ("format", changed("format", to="punto-shoe-2")),
        ("table", changed("table", to="")),
        ("table", changed("table", to="x" * 101)),
        ("table", changed("table", to="\x1b[2J")),
        ("table", changed("table", to="\ud800")),
        ("shoe", changed("shoe", to=-1)),
        ("shoe", changed("shoe", to=2**64)),
        ("shoe", changed("shoe", to=7.0)),
        ("shoe", changed("shoe", to=True)),
        ("shoe", changed("shoe", to="7")),
        ("decks", changed("decks", to=256)),
        ("cut_card", changed("cut_card", to="14")),
        ("commitment", changed("commitment", to=DOCUMENT["commitment"].upper())),
        ("commitment", changed("commitment", to=DOCUMENT["commitment"][:-2])),
        ("commitment", changed("commitment", to=None)),
        ("cuts", changed("cuts", to={})),
        ("cuts[1]", changed("cuts", 1, to=["g02", "00"])),
        ("cuts[1].patron", changed("cuts", 1, "patron", to=2)),
        ("cuts[2].cut", changed("cuts", 2, "cut", to="0")),
        ("cuts[2].cut", changed("cuts", 2, "cut", to=" 00")),
        ("cuts[2].cut", changed("cuts", 2, "cut", to="00" * 65536)),
        ("cuts[2].cut", changed("cuts", 2, "cut", to="٠٠")),
        ("cuts_digest", changed("cuts_digest", to=None)),
        ("merkle_root", changed("merkle_root", to="")),
        ("secret", changed("secret", to="zz" * 32)),
        ("burned", changed("burned", to=[])),
        ("burned.card", changed("burned", "card", to="9S")),
        ("burned.count", changed("burned", "count", to=None)),
        ("rounds", changed("rounds", to=None)),
        ("rounds", changed("rounds", to=[None] * (52 * 255 + 1))),
        ("rounds[0]", changed("rounds", 0, to={"round": 1})),
        ("rounds[1].round", changed("rounds", 1, "round", to=2**63)),
        ("rounds[1].player", changed("rounds", 1, "player", to=["9h"] * 4)),
        ("rounds[1].player", changed("rounds", 1, "player", to="9h")),
        ("rounds[1].banker[1]", changed("rounds", 1, "banker", to=["9h", "10h"])),
        ("rounds[1].banker[0]", changed("rounds", 1, "banker", to=["T"])),
        ("rounds[1].banker[0]", changed("rounds", 1, "banker", to=[["9h"]])),
        ("rounds[2].outcome", changed("rounds", 2, "outcome", to="PLAYER")),
        ("rounds[2].outcome", changed("rounds", 2, "outcome", to=0)),
        ("reason", changed("reason", to=None)),
        ("reason", changed("reason", to="line\nfeed")),
    ],
)
def test_what_is_no_such_file_is_refused_by_its_field(field: str, document: object) -> None:
    refusal = refused(document)
    assert refusal.field == field
    assert str(refusal).startswith(f"no shoe's file: {field} must be ")
    assert HONEST.secret.hex() not in str(refusal)


@given(JSON, st.sampled_from(sorted(DOCUMENT)))
def test_anything_else_is_refused_or_read(value: object, name: str) -> None:
    for document in (value, changed(name, to=value)):
        try:
            read_shoe(document)
        except BadShoeFile:
            continue
        assert document is not value
