"""The followed tables of a client: what becomes of one whose shoe does not hold."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk import forgotten, roster
from client_sdk.desk import Desk
from client_sdk.exceptions import ClientClosed, PuntoError, ShoeDisputed, TimedOut
from client_sdk.follower import Follower
from client_sdk.game.proofs import Part, ProofFailed
from client_sdk.protocol.codec import MSGPACK
from client_sdk.protocol.messages import ShoeEnded, Snapshot
from client_sdk.settings import Settings
from client_sdk.tasks import Tasks
from tests.unit.bots.story import Story, rules_of, view_of
from tests.unit.sdk.test_follower import wire


def follow_until_a_shoe_ends(tasks: Tasks) -> tuple[roster.Roster, Follower]:
    """Follow a table until a shoe of it is to be judged."""
    story = Story(rules_of("red-lounge")).play(2)
    tables = roster.Roster(Desk(Settings(), MSGPACK), tasks, lambda: None)
    follower = Follower(view_of(story.rules), events_max=1_000)
    tables.add(follower)
    for event in story.events:
        tables.deliver(wire(event))
        if isinstance(event, ShoeEnded):
            break
    return tables, follower


async def end(tasks: Tasks) -> None:
    """Wait until nothing is under way."""
    async with asyncio.timeout(5):
        while len(tasks):
            await asyncio.sleep(0.01)


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
    tasks = Tasks(failed.append)
    tables, follower = follow_until_a_shoe_ends(tasks)
    await asyncio.wait_for(asked.wait(), 5)
    assert not follower.is_ended, "whoever is told of a dispute is told at once"
    if is_forgotten:
        later = replace(follower.mirror.view, incarnation="later")
        tables.deliver(wire(Snapshot(table=follower.table, reason="recovered", snapshot=later)))
    await end(tasks)
    assert follower.is_ended is not is_forgotten
    assert isinstance(follower.error, ShoeDisputed) is not is_forgotten
    assert failed == []


@pytest.mark.parametrize(
    ("error", "warnings"), [(ClientClosed(), []), (TimedOut("list_cuts", 10_000), ["shoe_not_checked"])]
)
async def test_only_a_client_that_is_closed_says_nothing_of_a_shoe_that_it_did_not_check(
    error: PuntoError, warnings: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(roster, "judge", fail)
    failed: list[BaseException] = []
    tasks = Tasks(failed.append)
    _, follower = follow_until_a_shoe_ends(tasks)
    await end(tasks)
    assert [record.getMessage() for record in caplog.records] == warnings
    assert (follower.is_ended, failed) == (False, [])
