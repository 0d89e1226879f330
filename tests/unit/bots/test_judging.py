"""A bot that has a shoe judged while its store is set back: a list that was forgotten is no lie."""

from random import Random

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from client_sdk import forgotten
from client_sdk.bots.bot import SETTINGS, Bot
from client_sdk.bots.findings import Kind
from client_sdk.bots.plan import Plan
from client_sdk.bots.report import Tally
from client_sdk.bots.strategies import STRATEGIES
from client_sdk.bots.witness import Witness
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import ShoeEnded, Snapshot
from tests.unit.bots.story import INCARNATION, TABLE, Story, rules_of, seat_of, view_of
from tests.unit.sdk.scripted import Peer, ScriptedHouse, client_of

RULES = rules_of("red-lounge")
CUTS = [(b"g1", bytes(8))]


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("is_set_back", [True, False])
async def test_a_list_of_cuts_that_was_forgotten_is_no_dispute(
    is_set_back: bool, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered, or refused, by a store that was set back, before the news that it was: that news decides."""
    monkeypatch.setattr(forgotten, "FORGOTTEN_MS", 300)
    view = view_of(RULES)
    later = Snapshot(table=TABLE, reason="recovered", snapshot=replace(view, incarnation="later", you=seat_of()))

    async def play(peer: Peer) -> None:
        await peer.welcome()
        await peer.seat(view, seat_of())
        asked = await peer.take("list_cuts")
        if is_known:
            other = {"patron": "g2", "cut": "00" * 8, "accepted_at_ms": 1}
            await peer.reply(asked, table=TABLE, shoe=1, cuts=[other], more=False)
        else:
            await peer.refuse(asked, ErrorCode.UNKNOWN_SHOE)
        if is_set_back:
            await peer.tell(to_builtins(later))

    witness, tally = Witness(TABLE), Tally()
    witness.looked("b", view)
    for event in Story(RULES, cuts=CUTS).play(2).events:
        witness.saw("b", INCARNATION, event, 0.0)
        if isinstance(event, ShoeEnded):
            break
    async with ScriptedHouse(play) as house, client_of(house, settings=SETTINGS) as client:
        plan = Plan("b", house.url, "msgpack", STRATEGIES["flat"], 1, None, presses_ready=False, acts_late=False)
        await Bot(plan, tally, Random(1))._judge_shoes(await client.join(TABLE), witness)
    assert list(tally.kinds.elements()) == ([] if is_set_back else [Kind.FAIRNESS])
    assert witness.next_ended_shoe() is None
