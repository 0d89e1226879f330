"""What a client holds a table's shoes to: right stories pass, and one flipped bit anywhere in them is found."""

from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.auditor import Auditor
from client_sdk.game.fairness import Cut
from client_sdk.game.proofs import ProofFailed, verify_shoe
from client_sdk.game.shoe_file import read_shoe, write_shoe
from client_sdk.game.tableau import Outcome
from client_sdk.protocol.messages import (
    AnyNumbered,
    BettingClosed,
    BettingOpened,
    CardDealt,
    CardsBurned,
    RoundDecided,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    ShoeView,
    TableView,
)
from client_sdk.shoe_audit import OwnCut, ShoeAudit
from client_sdk.view import view_after
from tests.unit.bots.story import Story, rules_of, view_of

CUTS: tuple[Cut, ...] = ((b"g1", bytes(range(8))), (b"g2", bytes(range(32))), (b"g3", b"another cut"))
HEX_FIELDS: dict[Any, tuple[str, ...]] = {
    ShoeStarted: ("commitment",),
    BettingClosed: ("cuts_digest",),
    ShoeShuffled: ("merkle_root",),
    CardsBurned: ("card", "count", "remaining", "proof"),
    CardDealt: ("card", "remaining"),
    RoundDecided: ("outcome", "player", "proofs"),
    ShoeEnded: ("secret",),
}


@cache
def told(variant: str) -> Story:
    """One whole shoe and the start of the next."""
    changes = {} if rules_of(variant).shuffles_every_round else {"cut_card": 380}
    story = Story(rules_of(variant, **changes), cuts=CUTS)
    while not any(isinstance(event, ShoeEnded) for event in story.events):
        story.play(1)
    return story.play(1)


def follow(view: TableView, events: list[AnyNumbered], cuts: tuple[Cut, ...] = CUTS) -> list[ShoeAudit]:
    """Take all events in and judge every shoe that ended. Raises ProofFailed."""
    auditor = Auditor(view)
    for event in events:
        auditor.takes(event)
    for audit in auditor.ended:
        audit.check(cuts)
    return auditor.ended


@pytest.mark.parametrize("variant", ["royal", "red-lounge", "four-deck"])
def test_a_right_shoe_holds_and_can_be_kept_in_a_file(variant: str) -> None:
    story = told(variant)
    shoe, *_ = follow(view_of(story.rules), story.events)
    assert shoe.is_whole
    kept = read_shoe(write_shoe(shoe.revealed(CUTS)))
    assert verify_shoe(kept) == 52 * story.rules.decks - shoe.remaining


def flipped(value: Any, draw: st.DataObject) -> Any:
    """The value with one digit, card, number or part of it changed."""
    match value:
        case str() if len(value) == 2:
            return draw.draw(st.sampled_from([card for card in ("As", "9h", "Td", "2c") if card != value]))
        case str():
            at = draw.draw(st.integers(0, len(value) - 1))
            return (
                value[:at]
                + format(int(value[at], 16) ^ draw.draw(st.sampled_from([1, 2, 4, 8])), "x")
                + value[at + 1 :]
            )
        case int():
            return value + draw.draw(st.sampled_from([-1, 1]))
        case list():
            at = draw.draw(st.integers(0, len(value) - 1))
            return [*value[:at], flipped(value[at], draw), *value[at + 1 :]]
        case msgspec.Struct():
            name = draw.draw(st.sampled_from(value.__struct_fields__))
            return replace(value, **{name: flipped(getattr(value, name), draw)})
    raise AssertionError(value)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), variant=st.sampled_from(["royal", "red-lounge"]))
def test_a_flipped_bit_in_any_event_is_found(data: st.DataObject, variant: str) -> None:
    """Cut digest, root, card, salt, path, place, outcome or secret: by the round's proof, or when the shoe ends."""
    story = told(variant)
    ended = next(at for at, event in enumerate(story.events) if isinstance(event, ShoeEnded))
    seen = {type(event) for event in story.events[:ended]}
    kinds = [kind for kind in HEX_FIELDS if kind in seen]
    kind = data.draw(st.sampled_from([*kinds, ShoeEnded]))
    places = [at for at, event in enumerate(story.events[: ended + 1]) if isinstance(event, kind)]
    if kind is BettingClosed:
        places = places[:1]  # only the first close of a shoe freezes its cuts
    at = data.draw(st.sampled_from(places))
    event: Any = story.events[at]
    name = data.draw(st.sampled_from([name for name in HEX_FIELDS[kind] if getattr(event, name)]))
    value = getattr(event, name)
    others = [outcome for outcome in Outcome if outcome != value]
    wrong = data.draw(st.sampled_from(others)) if name == "outcome" else flipped(value, data)
    events = [*story.events]
    events[at] = replace(event, **{name: wrong})
    with pytest.raises(ProofFailed):
        follow(view_of(story.rules), events)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_changed_list_of_cuts_is_found(data: st.DataObject) -> None:
    """One bit in a cut or an id, one left out, added, moved or doubled."""
    story = told("red-lounge")
    number = data.draw(st.integers(0, len(CUTS) - 1))
    patron, cut = CUTS[number]
    bit = data.draw(st.integers(0, 8 * len(cut) - 1))
    changed = (int.from_bytes(cut, "big") ^ 1 << bit).to_bytes(len(cut), "big")
    others = CUTS[:number] + CUTS[number + 1 :]
    lists = [
        (*CUTS[:number], (patron, changed), *CUTS[number + 1 :]),
        (*CUTS[:number], (patron + b"0", cut), *CUTS[number + 1 :]),
        others,
        (*CUTS, (b"g4", cut)),
        (*CUTS, CUTS[number]),
        CUTS[::-1],
        (),
    ]
    with pytest.raises(ProofFailed):
        follow(view_of(story.rules), story.events, data.draw(st.sampled_from(lists)))


@pytest.mark.parametrize("own", [OwnCut(1, CUTS[1]), OwnCut(4, CUTS[0]), OwnCut(2, (b"g2", bytes(32)))])
def test_an_own_cut_that_is_not_at_its_place_is_missed(own: OwnCut) -> None:
    """Also where the digest fits the list: then it was left out before the close was told."""
    story = told("red-lounge")
    for accepted, holds in ((OwnCut(2, CUTS[1]), True), (own, False)):
        auditor = Auditor(view_of(story.rules))
        auditor.takes(story.events[0])
        auditor.accepted(1, accepted)
        for event in story.events[1:]:
            auditor.takes(event)
        if holds:
            auditor.ended[0].check(CUTS)
        else:
            with pytest.raises(ProofFailed):
                auditor.ended[0].check(CUTS)


@pytest.mark.parametrize("leave_out", [ShoeShuffled, ShoeEnded])
def test_a_card_without_a_root_and_a_commitment_that_is_not_opened(leave_out: type[AnyNumbered]) -> None:
    story = told("royal")
    with pytest.raises(ProofFailed):
        follow(view_of(story.rules), [event for event in story.events if not isinstance(event, leave_out)])


def test_proofs_of_too_few_cards_or_of_other_places() -> None:
    story = told("royal")
    at = next(at for at, event in enumerate(story.events) if isinstance(event, RoundDecided))
    decided = story.events[at]
    assert isinstance(decided, RoundDecided)
    for proofs in ([], decided.proofs[:-1], decided.proofs[::-1], [decided.proofs[0], *decided.proofs[:-1]]):
        with pytest.raises(ProofFailed):
            follow(view_of(story.rules), [*story.events[:at], replace(decided, proofs=proofs)])


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_late_comer_checks_from_the_snapshot_on(data: st.DataObject) -> None:
    """Whatever the instant at which the state was taken; and finds a card that was changed after it."""
    story = told("royal")
    ended = next(at for at, event in enumerate(story.events) if isinstance(event, ShoeEnded))
    start = data.draw(st.integers(1, ended - 1))
    view = view_of(story.rules)
    for event in story.events[:start]:
        view = view_after(view, event)
    follow(view, story.events[start : ended + 1])
    cards = [at for at, event in enumerate(story.events[:ended]) if at >= start and isinstance(event, CardDealt)]
    if cards:
        at = data.draw(st.sampled_from(cards))
        dealt = story.events[at]
        assert isinstance(dealt, CardDealt)
        wrong = replace(dealt, card="As" if dealt.card != "As" else "2c")
        with pytest.raises(ProofFailed):
            follow(view, [*story.events[start:at], wrong, *story.events[at + 1 : ended + 1]])


def test_a_snapshot_that_tells_another_root_is_a_difference() -> None:
    story = told("royal")
    opened = [at for at, event in enumerate(story.events) if isinstance(event, BettingOpened)][1]
    view = view_of(story.rules)
    for event in story.events[:opened]:
        view = view_after(view, event)
    auditor = Auditor(view)
    auditor.looks(view)
    assert isinstance(view.shoe, ShoeView)
    for changes in ({"merkle_root": "00" * 32}, {"cuts_digest": "00" * 32}):
        with pytest.raises(ProofFailed):
            auditor.looks(replace(view, shoe=replace(view.shoe, **changes)))


def test_another_incarnation_begins_anew() -> None:
    """The store has forgotten what it had told, for everybody to see: nothing of before is held against the house, cuts
    of ours that were accepted included."""
    story = told("royal")
    opened = [at for at, event in enumerate(story.events) if isinstance(event, BettingOpened)][1]
    view = view_of(story.rules)
    auditor = Auditor(view)
    for event in story.events[:opened]:
        auditor.takes(event)
        view = view_after(view, event)
    assert isinstance(view.shoe, ShoeView)
    auditor.accepted(view.shoe.number, OwnCut(1, (b"me", b"\1" * 16)))
    auditor.looks(replace(view, incarnation="another", shoe=replace(view.shoe, cuts_digest="00" * 32)))
    ended = next(event for event in story.events if isinstance(event, ShoeEnded))
    auditor.takes(ended)
    (shoe,) = auditor.ended
    assert (shoe.own_cuts, shoe.cuts_digest) == ([], "00" * 32)
    auditor.looks(replace(view, incarnation="a third one"))
    assert auditor.ended == []


def test_a_shoe_without_a_secret_is_disputed() -> None:
    """The house could not open what it had committed to, whatever the reason that it tells."""
    story = told("red-lounge")
    events: list[Any] = [
        replace(event, secret="", reason="altered") if isinstance(event, ShoeEnded) else event for event in story.events
    ]
    with pytest.raises(ProofFailed, match="no secret"):
        follow(view_of(story.rules), events)
