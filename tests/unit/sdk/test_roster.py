"""The followed tables of a client: what becomes of one whose shoe does not hold."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk import forgotten, roster
from client_sdk.desk import Desk
from client_sdk.exceptions import ShoeDisputed
from client_sdk.follower import Follower
from client_sdk.game.proofs import Part, ProofFailed
from client_sdk.protocol.codec import MSGPACK
from client_sdk.protocol.messages import ShoeEnded, Snapshot
from client_sdk.settings import Settings
from client_sdk.tasks import Tasks
from tests.unit.bots.story import Story, rules_of, view_of
from tests.unit.sdk.test_follower import wire


@pytest.mark.parametrize("is_forgotten", [True, False])
async def test_cuts_that_were_forgotten_are_no_dispute(is_forgotten: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer about a shoe comes from a store that was set back, before the news that it was: that news decides."""
    asked = asyncio.Event()

    async def find_another(*_: Any) -> None:
        asked.set()
        raise ShoeDisputed("royal-1", ProofFailed(Part.CUTS, "cut 1", "our own", "another"))

    monkeypatch.setattr(roster, "judge", find_another)
    monkeypatch.setattr(forgotten, "FORGOTTEN_MS", 300)
    failed: list[BaseException] = []
    story = Story(rules_of("red-lounge")).play(2)
    tasks = Tasks(failed.append)
    tables = roster.Roster(Desk(Settings(), MSGPACK), tasks, lambda: None)
    follower = Follower(view_of(story.rules), events_max=1_000)
    tables.add(follower)
    for event in story.events:
        tables.deliver(wire(event))
        if isinstance(event, ShoeEnded):
            break
    await asyncio.wait_for(asked.wait(), 5)
    assert not follower.is_ended, "whoever is told of a dispute is told at once"
    if is_forgotten:
        later = replace(follower.mirror.view, incarnation="later")
        tables.deliver(wire(Snapshot(table=follower.table, reason="recovered", snapshot=later)))
    async with asyncio.timeout(5):
        while len(tasks):
            await asyncio.sleep(0.01)
    assert follower.is_ended is not is_forgotten
    assert isinstance(follower.error, ShoeDisputed) is not is_forgotten
    assert failed == []
