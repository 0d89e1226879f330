"""Statement and history in the SDK: read entry by entry or page by page, each page asked for only when it is wanted."""

from typing import Any

import msgspec
import pytest

from client_sdk.client import Client
from client_sdk.exceptions import ProtocolMismatch
from client_sdk.game.settlement import Result
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BetLine, LedgerMark, PlayedRound, StatementLine
from client_sdk.settings import Settings
from tests.unit.sdk.scripted import Peer, ScriptedHouse, client_of

MARKS = {"royal-1": LedgerMark(number=12, at_ms=5)}


def line(number: int) -> StatementLine:
    return StatementLine(id=str(number), kind="credited", at_ms=number, amount=1, balance=number)


def played(number: int) -> PlayedRound:
    results = {Spot.TIE: BetLine(stake=5, payout=5, commission=0, result=Result.PUSH)}
    return PlayedRound(
        id=str(number),
        at_ms=1,
        table="royal-1",
        number=number,
        round=number,
        outcome=Outcome.TIE,
        bets={Spot.TIE: 5},
        results=results,
    )


async def statement_page(peer: Peer, *numbers: int, more: bool) -> dict[str, Any]:
    request = await peer.take("statement")
    lines = msgspec.to_builtins([line(number) for number in numbers])
    await peer.reply(request, lines=lines, more=more, complete_to=msgspec.to_builtins(MARKS))
    return request


async def test_a_statement_is_read_line_by_line_and_page_by_page() -> None:
    async def tell(peer: Peer) -> None:
        await peer.welcome()
        for _ in range(2):
            await statement_page(peer, 5, 4, more=True)
            await statement_page(peer, 3, more=False)

    async with ScriptedHouse(tell) as house, client_of(house) as client:
        statement = client.statement(page_lines=2)
        assert [each async for each in statement] == [line(5), line(4), line(3)]
        pages = [page async for page in statement.pages()]
        assert [[each.id for each in page.lines] for page in pages] == [["5", "4"], ["3"]]
        assert all(page.complete_to == MARKS for page in pages)
        asked = [(request["before"], request["limit"]) for request in house.peers[0].requests[1:]]
        assert asked == [(None, 2), ("4", 2)] * 2


async def test_no_page_is_asked_for_before_it_is_wanted() -> None:
    async def tell(peer: Peer) -> None:
        await peer.welcome()
        await statement_page(peer, 5, 4, more=True)

    async with ScriptedHouse(tell) as house, client_of(house) as client:
        newest = await anext(aiter(client.statement()))
        assert newest == line(5)
        assert len(house.peers[0].requests) == 2


async def test_history_is_typed() -> None:
    async def tell(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.take("history")
        assert request["limit"] == 20
        await peer.reply(request, rounds=msgspec.to_builtins([played(2), played(1)]), more=False)

    async with ScriptedHouse(tell) as house, client_of(house) as client:
        assert [each async for each in client.history()] == [played(2), played(1)]


@pytest.mark.parametrize("is_empty", [True, False])
async def test_pages_without_an_end_are_a_mismatch(is_empty: bool) -> None:
    async def tell(peer: Peer) -> None:
        await peer.welcome()
        while True:
            await statement_page(peer, *([] if is_empty else [7]), more=True)

    async def read(client: Client) -> int:
        return len([each async for each in client.statement()])

    async with ScriptedHouse(tell) as house, client_of(house, settings=Settings(pages_max=3)) as client:
        with pytest.raises(ProtocolMismatch, match="page"):
            await read(client)
        assert len(house.peers[0].requests) == (2 if is_empty else 4)
