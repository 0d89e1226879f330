"""The short form of `make soak`: rounds, sheets and views come and go, and nothing of them stays behind."""

import pytest

from tests.browser.soak import judged, play
from tests.support.node_process import own_node

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_rounds_leave_nothing_behind(visit, tmp_path) -> None:
    """No listener is doubled and the heap stays flat over rounds, sheets, and going to the lobby and back."""
    async with own_node(tmp_path / "data", betting_ms=900, card_ms=10, result_ms=50, grace_ms=60_000) as own:
        visitor = await visit("Ada", at=own)
        await visitor.sit("royal-1", "500")
        warm, end = await play(visitor, 20)
        assert judged(warm, end, 20) == []
