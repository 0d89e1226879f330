"""The SDK against a real node: rounds in both codecs, refusals, and every way in which a line can break."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from client_sdk import exceptions
from client_sdk.checks import check_round
from client_sdk.client import Client, connect
from client_sdk.clock import RESOLUTION_MS
from client_sdk.desk import now_ms
from client_sdk.exceptions import Refused
from client_sdk.game.variants import VARIANTS, Spot
from client_sdk.protocol.messages import (
    AnyEvent,
    BettingClosed,
    BettingOpened,
    CardDealt,
    DealtCard,
    Results,
    RoundDecided,
    RoundSettled,
    SeatFreed,
    SeatTakenOver,
    Snapshot,
    TableView,
)
from client_sdk.settings import Settings
from client_sdk.table import Table
from tests.support.node_process import NodeProcess, running_node
from tests.support.proxy import Proxy

TABLES = [f"{variant}-1" for variant in VARIANTS]
BUY_IN = 200_000
PATIENCE_S = 40


@pytest.fixture
async def proxy(node_url: str) -> AsyncIterator[Proxy]:
    """A breakable way to the node."""
    async with Proxy(node_url) as opened:
        yield opened


@pytest.fixture
async def come(proxy: Proxy) -> AsyncIterator[Callable[..., Any]]:
    """`await come(url, ...)`: a client; afterwards each gets up from its tables and closes, the proxy still there."""
    clients: list[Client] = []

    async def connected(url: str, **how: Any) -> Client:
        client = await connect(url, **({"name": "Ann"} | how))
        clients.append(client)
        return client

    yield connected
    for client in clients:
        for table in client.tables.values():
            with suppress(exceptions.PuntoError):
                await table.leave()
        await client.close()


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what no event tells."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


async def next_of(table: Table, kind: type[Any], **fields: Any) -> Any:
    """Read on to the next event of a kind."""
    async with asyncio.timeout(PATIENCE_S):
        async for event in table:
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items()):
                return event
    raise AssertionError(f"the table ended before {kind.__name__}")


def clock_wrong_ms(table: Table) -> float:
    """How far a client may be wrong about its table's clock: half a round trip, which is long where tests share the
    cores."""
    return table.clock.uncertainty_ms(now_ms()) + RESOLUTION_MS


async def fresh_betting(table: Table) -> int:
    """Wait until the next round begins; returns its number."""
    before = table.mirror.round
    await until(lambda: table.mirror.phase == "betting" and table.mirror.round > before)
    return table.mirror.round


class Log:
    """All events of a table, read in the background, and judged at the end."""

    def __init__(self, table: Table) -> None:
        self.events: list[AnyEvent] = []
        self._reading = asyncio.create_task(self._read(table))

    async def _read(self, table: Table) -> None:
        async for event in table:
            self.events.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def results_of(self, round: int) -> Results:
        """Wait for the own results of a round."""
        await until(lambda: [told for told in self.of(Results) if told.round == round])
        (results,) = (told for told in self.of(Results) if told.round == round)
        assert isinstance(results, Results)
        return results

    def mismatches(self, table: Table, results: Results, bets: dict[Spot, int]) -> list[str]:
        """Check a round by its cards."""
        (decided,) = (told for told in self.of(RoundDecided) if told.round == results.round)
        dealt = [
            DealtCard(side=told.side, card=told.card, show_at_ms=told.show_at_ms)
            for told in self.of(CardDealt)
            if told.round == results.round
        ]
        return check_round(table.mirror.rules, dealt, decided, results, bets)

    async def end(self) -> None:
        """Read no more."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    def assert_gapless(self) -> None:
        """Each numbered event came once and in order, and no snapshot had to take the place of some."""
        assert self.of(Snapshot) == []
        self.assert_followed()

    def assert_followed(self) -> None:
        """Each numbered event came once and in order, or a snapshot in the place of some."""
        known: int | None = None
        for event in self.events:
            if isinstance(event, Snapshot):
                known = event.snapshot.seq
            elif hasattr(event, "seq"):
                assert known is None or event.seq == known + 1
                known = event.seq

    def numbered(self) -> dict[int, AnyEvent]:
        """The numbered events by their number."""
        return {event.seq: event for event in self.events if hasattr(event, "seq")}


# --- rounds ---


@pytest.mark.parametrize("codec", ["msgpack", "json"])
async def test_rounds_are_played_and_checked_at_every_table(come: Any, node_url: str, codec: str) -> None:
    async def play(name: str) -> None:
        client: Client = await come(node_url, codec=codec, buy_in=BUY_IN)
        table = await client.join(name)
        assert (table.mirror.stack, client.wallet) == (BUY_IN, 1_000_000 - BUY_IN)
        stack, log = BUY_IN, Log(table)
        for _ in range(2):
            await fresh_betting(table)
            assert 0 < table.remaining_ms() <= table.mirror.rules.betting_ms + clock_wrong_ms(table)
            await table.place(Spot.BANKER, 500)
            await table.double()
            await table.place(Spot.BANKER, 100)
            await table.undo(Spot.BANKER)
            receipt = await table.ready()
            assert (receipt.bets, receipt.ready) == ({Spot.BANKER: 1_000}, True)
            assert (table.mirror.bets, table.mirror.stack) == (receipt.bets, stack - 1_000)
            results = await log.results_of(receipt.round)
            assert log.mismatches(table, results, receipt.bets) == []
            stack += sum(line.payout - line.stake for line in results.bets.values())
            assert results.stack == table.mirror.stack == stack
            assert table.mirror.last_bets == {Spot.BANKER: 1_000}
        left = await table.leave()
        assert left.wallet == client.wallet == 1_000_000 - BUY_IN + stack
        assert not table.is_seated
        await log.end()
        log.assert_gapless()
        assert len({told.round for told in log.of(Results)}) == len(log.of(Results)) == 2

    await asyncio.gather(*(play(name) for name in TABLES))


async def test_a_mirror_is_what_a_newcomer_is_told(come: Any, node_url: str) -> None:
    """The state folded from events equals a fresh snapshot at the same number, in every phase."""
    client: Client = await come(node_url, buy_in=10_000)
    table = await client.join("punto-banco-1")
    newcomer: Client = await come(node_url, name="Newcomer")
    compared: set[str] = set()
    folded: dict[int, TableView] = {}
    async with asyncio.timeout(PATIENCE_S):
        while missing := {"betting", "dealing", "settling"} - compared:
            while table.mirror.view.phase not in missing:
                await asyncio.sleep(0.001)
            folded[table.mirror.seq] = table.mirror.view
            fresh = await newcomer.watch(table.id)
            snapshot = fresh.mirror.view
            await fresh.unwatch()
            for _ in range(20):
                folded[table.mirror.seq] = table.mirror.view
                await asyncio.sleep(0.001)
            if snapshot.seq in folded:
                mine = folded[snapshot.seq]
                assert replace(mine, at_ms=0, crowd=snapshot.crowd, you=None) == replace(snapshot, at_ms=0)
                compared.add(snapshot.phase)


async def test_the_lobby_lists_every_table(come: Any, node_url: str) -> None:
    client: Client = await come(node_url)
    assert [line.table for line in await client.list_tables()] == sorted(TABLES)


# --- refusals ---


async def test_refusals_are_typed_and_change_nothing(come: Any, node_url: str) -> None:
    client: Client = await come(node_url)
    stand_off = await client.join("stand-off-1", buy_in=1_000)
    four_deck = await client.join("four-deck-1", buy_in=60_000)
    await fresh_betting(stand_off)
    with pytest.raises(exceptions.SpotForbidden):
        await stand_off.place(Spot.TIE, 100)
    with pytest.raises(exceptions.ChipUnknown):
        await stand_off.place(Spot.PLAYER, 101)
    with pytest.raises(exceptions.InsufficientStack):
        await stand_off.place(Spot.PLAYER, 2_500)
    with pytest.raises(exceptions.NothingToUndo):
        await stand_off.undo()
    with pytest.raises(exceptions.NothingToDouble):
        await stand_off.double()
    with pytest.raises(exceptions.NothingToRebet):
        await stand_off.rebet()
    with pytest.raises(exceptions.RoundOver):
        await stand_off.clear(round=stand_off.mirror.round + 5)
    with pytest.raises(exceptions.BadAmount) as bad:
        await stand_off.place(Spot.PLAYER, -1)
    assert bad.value.field == "chip"
    assert (stand_off.mirror.stack, stand_off.mirror.bets) == (1_000, {})

    round = await fresh_betting(four_deck)
    await four_deck.place(Spot.PLAYER, 100)
    with pytest.raises(exceptions.SpotsConflict):
        await four_deck.place(Spot.BANKER, 100)
    with pytest.raises(exceptions.AboveMaximum):
        await four_deck.place(Spot.PLAYER, 50_000)
    with pytest.raises(exceptions.LayoutNotEmpty):
        await four_deck.rebet()
    await four_deck.clear()

    closed: BettingClosed = await next_of(four_deck, BettingClosed, round=round)
    with pytest.raises(exceptions.BettingClosed) as late:
        await four_deck.place(Spot.PLAYER, 100, round=round)
    assert late.value.closed_at_ms == closed.closed_at_ms
    assert late.value.late_ms is not None
    assert late.value.late_ms >= 0


async def test_tables_and_wallets_refuse_too(come: Any, node_url: str) -> None:
    client: Client = await come(node_url)
    with pytest.raises(exceptions.UnknownTable):
        await client.join("no-such-1")
    with pytest.raises(exceptions.InsufficientWallet):
        await client.join("royal-1", buy_in=10**9)
    spectator = await client.watch("royal-1")
    with pytest.raises(exceptions.NotSeated):
        await spectator.clear()
    with pytest.raises(exceptions.NotSeated):
        await spectator.leave()
    assert (client.wallet, spectator.is_seated) == (1_000_000, False)
    with pytest.raises(exceptions.TokenRefused):
        await connect(node_url, token="guest.nobody.nothing")
    with pytest.raises(exceptions.NameRefused):
        await connect(node_url, name="\u202e ")


# --- lines that break ---


async def test_cuts_lose_and_repeat_no_event(come: Any, node_url: str, proxy: Proxy) -> None:
    """Seven cuts in all phases; a witness whose line holds sees the same events under the same numbers."""
    client: Client = await come(proxy.url, buy_in=BUY_IN, settings=Settings(stable_ms=0))
    witness: Client = await come(node_url, name="Witness")
    table = await client.join("royal-1")
    log, seen = Log(table), Log(await witness.watch("royal-1"))
    for number in range(7):
        await asyncio.sleep(0.11 + 0.03 * number)  # no event tells the moment; the phases are to differ
        accepted = proxy.accepted
        proxy.cut()
        await came_back(proxy, accepted, table)
        assert table.is_seated

    def both() -> set[int]:
        return log.numbered().keys() & seen.numbered().keys()

    last = table.mirror.seq + 5
    await until(lambda: max(both(), default=0) >= last and len(both()) > 20)
    await log.end()
    await seen.end()
    log.assert_gapless()
    seen.assert_gapless()
    assert all(log.numbered()[seq] == seen.numbered()[seq] for seq in both())
    assert table.mirror.stack == BUY_IN


async def came_back(proxy: Proxy, accepted: int, table: Table) -> None:
    """Wait for a new connection that follows the table."""
    await until(lambda: proxy.accepted > accepted and table.is_followed)


async def test_a_bet_whose_answer_was_lost_is_laid_once(come: Any, node_url: str, proxy: Proxy) -> None:
    """BL-078: it waits and does not show until the table has answered, on a new line if need be."""
    client: Client = await come(proxy.url, buy_in=BUY_IN)
    spectator: Client = await come(node_url, name="Spectator")
    table, watched = await client.join("red-lounge-1"), await spectator.watch("red-lounge-1")
    log = Log(table)
    for _ in range(3):
        stack, round = table.mirror.stack, await fresh_betting(table)
        proxy.swallow()
        betting = asyncio.create_task(table.place(Spot.TIE, 100))
        await until(lambda: watched.mirror.crowd.totals.get(Spot.TIE) == 100)
        assert table.waiting >= 1  # its cut may wait too
        assert table.mirror.bets == {}  # what is only hoped for does not show
        proxy.cut()
        receipt = await betting
        assert (receipt.bets, receipt.stack, receipt.round) == ({Spot.TIE: 100}, stack - 100, round)
        assert (await log.results_of(round)).bets[Spot.TIE].stake == 100
    await log.end()
    log.assert_gapless()
    assert [told.round for told in log.of(Results)] == sorted({told.round for told in log.of(Results)})


async def test_a_buy_in_whose_answer_was_lost_is_paid_once(come: Any, proxy: Proxy) -> None:
    client: Client = await come(proxy.url)
    proxy.swallow()
    joining = asyncio.create_task(client.join("royal-1", buy_in=BUY_IN))
    await until(lambda: proxy.swallowed_bytes > 100)
    proxy.cut()
    table = await joining
    assert (table.mirror.stack, client.wallet) == (BUY_IN, 1_000_000 - BUY_IN)
    proxy.swallow()
    swallowed = proxy.swallowed_bytes
    adding = asyncio.create_task(client.join("royal-1", buy_in=500))
    await until(lambda: proxy.swallowed_bytes > swallowed)
    proxy.cut()
    assert await adding is table
    assert (table.mirror.stack, client.wallet) == (BUY_IN + 500, 1_000_000 - BUY_IN - 500)


async def test_results_missed_in_a_cut_come_once_and_right(come: Any, node_url: str, proxy: Proxy) -> None:
    client: Client = await come(proxy.url, buy_in=BUY_IN)
    witness: Client = await come(node_url, name="Witness")
    table, seen = await client.join("punto-banco-1"), await witness.watch("punto-banco-1")
    log = Log(table)
    round = await fresh_betting(table)
    await table.place(Spot.BANKER, 500)
    await until(lambda: seen.mirror.phase == "dealing" and seen.mirror.round == round)
    proxy.shut()
    proxy.cut()
    assert (await next_of(seen, RoundSettled, round=round)).settled == 1
    proxy.open()
    results = await log.results_of(round)
    await until(lambda: log.of(RoundSettled) and log.of(RoundSettled)[-1].round >= round)
    await log.end()
    log.assert_gapless()
    assert log.of(Results) == [results]
    place = log.events.index(results)
    assert isinstance(log.events[place - 1], RoundDecided)
    assert results.stack == table.mirror.stack
    assert log.mismatches(table, results, {Spot.BANKER: 500}) == []


async def test_a_stalled_line_is_noticed_by_its_pings(come: Any, proxy: Proxy) -> None:
    quick = Settings(ping_interval_ms=200, ping_timeout_ms=300, close_ms=100)
    client: Client = await come(proxy.url, settings=quick, buy_in=BUY_IN)
    table = await client.join("royal-1")
    log = Log(table)
    await until(lambda: log.of(BettingOpened))
    proxy.stall()
    await until(lambda: not client.is_connected)
    assert not table.is_followed
    proxy.cut()
    await until(lambda: table.is_followed)
    seq = table.mirror.seq
    await until(lambda: table.mirror.seq > seq)
    await log.end()
    log.assert_gapless()


async def test_bets_made_offline_are_refused_and_never_laid_later(come: Any, proxy: Proxy) -> None:
    """BL-079."""
    back_soon = Settings(reconnect_ms_max=300)  # its pauses alone may be as long as the seat is kept
    client: Client = await come(proxy.url, buy_in=BUY_IN, settings=back_soon)
    table = await client.join("royal-1")
    round = await fresh_betting(table)
    proxy.shut()
    proxy.cut()
    await until(lambda: not client.is_connected)
    bets = [asyncio.create_task(table.place(Spot.BANKER, 100)) for _ in range(3)]
    await asyncio.sleep(1.2)  # the round must be over; nothing tells an offline client
    proxy.open()
    for answer in await asyncio.gather(*bets, return_exceptions=True):
        assert isinstance(answer, exceptions.RoundOver | exceptions.BettingClosed)
    await until(lambda: table.mirror.round > round)
    assert (table.mirror.bets, table.mirror.stack) == ({}, BUY_IN)


async def test_a_client_that_was_frozen_sees_the_table_as_it_is(come: Any, node_url: str) -> None:
    """BL-044: nothing runs in this process for some rounds. The bet that it lays first is for the round that it saw,
    and late; what it sees next is the present round, with no time gained."""
    client: Client = await come(node_url, buy_in=BUY_IN)
    spectator: Client = await come(node_url, name="Spectator")
    table = await client.join("royal-1")
    watched = await spectator.watch("royal-1")
    round = await fresh_betting(table)
    time.sleep(2.5)  # noqa: ASYNC251 - as a process that was stopped
    with pytest.raises((exceptions.RoundOver, exceptions.BettingClosed)):
        await table.place(Spot.BANKER, 100)
    await until(lambda: table.mirror.round > round and table.mirror.seq == watched.mirror.seq)
    assert table.mirror.phase == watched.mirror.phase
    assert (table.mirror.bets, table.mirror.stack) == ({}, BUY_IN)
    await fresh_betting(table)
    assert table.remaining_ms() <= table.mirror.rules.betting_ms + clock_wrong_ms(table)


async def test_a_seat_that_was_freed_while_offline_is_not_taken_anew(come: Any, node_url: str, proxy: Proxy) -> None:
    client: Client = await come(proxy.url)
    witness: Client = await come(node_url, name="Witness")
    table, seen = await client.join("stand-off-1", buy_in=BUY_IN), await witness.watch("stand-off-1")
    proxy.shut()
    proxy.cut()
    await until(lambda: seen.mirror.crowd.seated == 0)
    proxy.open()
    assert (await next_of(table, SeatFreed)).reason == "away"
    await until(lambda: table.is_followed)
    assert (client.wallet, table.is_seated, seen.mirror.crowd.seated) == (1_000_000, False, 0)


async def test_leaving_while_offline_brings_the_stack_home(come: Any, proxy: Proxy) -> None:
    client: Client = await come(proxy.url)
    table = await client.join("royal-1", buy_in=BUY_IN)
    proxy.shut()
    proxy.cut()
    await until(lambda: not client.is_connected)
    leaving = asyncio.create_task(table.leave())
    await asyncio.sleep(0)
    proxy.open()
    assert (await leaving).wallet == client.wallet == 1_000_000
    proxy.cut()
    await until(lambda: client.is_connected and table.is_followed)
    assert not table.is_seated


# --- two sockets of one patron ---


async def test_the_newest_socket_has_the_seat_and_the_older_one_is_told(come: Any, node_url: str, proxy: Proxy) -> None:
    first: Client = await come(proxy.url)
    table = await first.join("royal-1", buy_in=BUY_IN)
    second: Client = await come(node_url, token=first.token)
    assert second.patron == first.patron
    taken = await second.join("royal-1")
    assert taken.mirror.stack == BUY_IN
    await next_of(table, SeatTakenOver)
    assert table.mirror.you is None
    with pytest.raises(Refused) as refused:
        await table.clear()
    assert isinstance(refused.value, exceptions.SeatTakenOver)
    proxy.cut()  # coming back, the first one must not take the seat again
    await came_back(proxy, 1, table)
    round = await fresh_betting(taken)
    assert (await taken.place(Spot.BANKER, 100)).round == round
    back = await first.join("royal-1")
    assert back is table
    assert table.is_seated
    await next_of(taken, SeatTakenOver)


# --- a node that goes away ---


async def test_a_client_comes_back_to_a_node_that_was_started_again(
    come: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running_node(tmp_path_factory.mktemp("restarted"), grace_ms=20_000) as node:
        await _outlive(come, node)


async def _outlive(come: Any, node: NodeProcess) -> None:
    client: Client = await come(node.url, buy_in=BUY_IN)
    table = await client.join("royal-1")
    log = Log(table)
    await until(lambda: log.of(RoundSettled))
    await asyncio.to_thread(node.stop)
    await until(lambda: not client.is_connected)
    await asyncio.to_thread(node.start)
    await until(lambda: table.is_followed)
    settled = len(log.of(RoundSettled))
    await until(lambda: len(log.of(RoundSettled)) > settled)
    assert (table.mirror.stack, table.is_seated) == (BUY_IN, True)
    await log.end()
    log.assert_followed()  # a store that was started anew may have forgotten something, and then says so
    await client.close()
