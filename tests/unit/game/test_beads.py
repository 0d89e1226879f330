"""Rounds in three letters: read as they were written, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_sdk.game.beads import BadBeads, read_beads, write_beads
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.tableau import Outcome

SHOES = st.lists(st.builds(RoadRound, st.sampled_from(Outcome), *[st.booleans()] * 4), max_size=110)


@given(SHOES)
def test_beads_are_read_as_they_were_written(rounds: list[RoadRound]) -> None:
    assert read_beads(write_beads(rounds)) == tuple(rounds)


@pytest.mark.parametrize("text", ["P", "P..B", "X..", "P.X", "PX.", "p..", "P.."[::-1]])
def test_what_writes_no_round_is_refused(text: str) -> None:
    with pytest.raises(BadBeads):
        read_beads(text)


def test_pairs_and_naturals_have_a_letter_for_each_side() -> None:
    rounds = [
        RoadRound(Outcome.PLAYER),
        RoadRound(Outcome.BANKER, player_pair=True, banker_natural=True),
        RoadRound(Outcome.TIE, player_pair=True, banker_pair=True, player_natural=True, banker_natural=True),
        RoadRound(Outcome.PLAYER, banker_pair=True, player_natural=True),
    ]
    assert write_beads(rounds) == "P..BPBT22PBP"
