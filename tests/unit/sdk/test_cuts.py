"""Our own cuts: which ones are held against the house, when its store forgets what it had taken."""

import pytest
from msgspec.structs import replace

from client_sdk.protocol.messages import ShoeView, Snapshot
from client_sdk.settings import Settings
from tests.unit.sdk.builders import TABLE, seat, view
from tests.unit.sdk.scripted import Peer, ScriptedHouse, client_of, read

SHOE = ShoeView(number=35, cards=416, remaining=416, first_round=7, is_last_round=False, commitment="11" * 32)
OPEN = view(phase="betting", round=7, seq=40, shoe=SHOE)
CUT = b"\1" * 16


@pytest.mark.parametrize("is_set_back", [False, True])
async def test_a_cut_that_is_answered_after_the_news_of_a_loss_is_held_against_nobody(is_set_back: bool) -> None:
    """It was taken before the store was set back, and a shoe of its number comes again, without it."""
    later = Snapshot(table=TABLE, reason="recovered", snapshot=replace(OPEN, incarnation="later", you=seat()))

    async def play(peer: Peer) -> None:
        await peer.welcome()
        await peer.seat(OPEN, seat())
        cut = await peer.take("cut")
        if is_set_back:
            await peer.tell(later)
        await peer.reply(cut, table=TABLE, shoe=35, number=1, accepted_at_ms=5_000)

    settings = Settings(cuts=False, close_ms=200)
    async with ScriptedHouse(play) as house, client_of(house, settings=settings) as client:
        table = await client.join(TABLE)
        assert (await table.cut(CUT)).number == 1
        follower = table._follower
        assert follower.auditor is not None
        audit = follower.auditor._shoe
        assert audit is not None
        assert table.mirror.you is not None
        if is_set_back:
            await read(table, 1)
            assert (audit.own_cuts, table.mirror.you.cut) == ([], None)
        else:
            assert ([own.cut[1] for own in audit.own_cuts], table.mirror.you.cut) == ([CUT], CUT.hex())
