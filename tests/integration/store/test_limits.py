"""Limits that patrons ask for: over all tables, whatever races, repeats and losses of messages there are."""

import asyncio
import random
from collections.abc import Awaitable
from typing import Any, cast

import msgpack
import pytest

from client_sdk.game.variants import Spot
from server.batcher import Batcher
from server.cashier import Cashier, Sitter
from server.patron_limits import PatronLimits
from server.store import keys
from server.store.driver import Driver
from server.store.errors import Refused, StoreAway
from server.store.ledgers import Ledgers
from server.store.limits import Granted, LimitBook, Limits, Used, Wanted
from server.store.tables import Need, Tables
from server.store.wallets import Wallets
from server.table import machine
from tests.integration.store.checks import NODE, Ledger, Owner, fresh_id, refusal_of
from tests.support.asking import submit
from tests.support.table_rules import rules_of

DAY_MS = 86_400_000
CHIP = 10
RULES = rules_of(maximums={Spot.PLAYER: 10_000, Spot.BANKER: 10_000, Spot.TIE: 10_000})


class Player:
    """One patron with limits, at some tables, over this node's way to the store."""

    def __init__(self, driver: Driver, ledger: Ledger, book: LimitBook | None = None, **times: int) -> None:
        self.patron = fresh_id("limited")
        self.tables, self.wallets = Tables(driver), Wallets(driver)
        self.cashier = Cashier(self.tables, self.wallets)
        given = {"loosen_ms": DAY_MS, "break_ms": 60_000, **times}
        self.limits = PatronLimits(book or LimitBook(driver), Ledgers(driver), **given)
        self.owners: list[Owner] = []
        self.batchers: list[Batcher] = []
        self._ledger = ledger

    async def begin(self, count: int = 2, stack: int = 1_000) -> None:
        """Open a wallet, and sit down at so many tables on which bets are taken."""
        await self.wallets.create(self.patron, "P", False, "", count * stack)
        for _ in range(count):
            owner = await Owner.of_new_table(self.tables, self._ledger, RULES)
            sitter = Sitter(self.patron, "P", False, NODE, f"c-{self.patron}")
            await self.cashier.sit_down(owner.table, sitter, fresh_id("r"), stack)
            await self.limits.impose(self.patron, owner.table)
            await owner.open_betting()
            self.owners.append(owner)
            self.batchers.append(Batcher(owner.table, self.tables, self.limits.obtain))

    async def act(self, at: int, verb: str = "place", spot: str = "player", chip: int | str = CHIP) -> str:
        """Act at one of the tables; 'ok' or why not."""
        if verb != "place":
            spot, chip = "", ""
        line = self.owners[at].line(self.patron, verb, spot, chip)
        try:
            return (await submit(self.batchers[at], line)).code
        except Refused as refused:
            return refused.code

    async def bet(self, at: int, times: int = 1) -> list[str]:
        """Lay so many chips one after another."""
        return [await self.act(at) for _ in range(times)]

    async def used(self) -> tuple[int, int]:
        """What the tables themselves have counted: staked and lost."""
        staked = lost = 0
        for owner in self.owners:
            packed = (await self._ledger.hash_of(f"{owner.key}:limited")).get(self.patron)
            allowance = msgpack.unpackb(packed) if packed else {"stake_used": 0, "loss_used": 0}
            staked, lost = staked + allowance["stake_used"], lost + allowance["loss_used"]
        return staked, lost

    async def set(self, side: Any = "own", **wanted: int) -> Limits:
        return await self.limits.set(self.patron, side, Wanted(**wanted))


@pytest.fixture
def player(driver: Driver, ledger: Ledger) -> Player:
    return Player(driver, ledger)


async def test_who_asks_for_nothing_is_not_looked_after(player: Player) -> None:
    await player.begin()
    assert await player.bet(0, 5) == ["ok"] * 5
    limits = await player.limits.read(player.patron)
    assert (limits.version, limits.staked, limits.lost) == (0, 0, 0)
    assert await player.used() == (0, 0)


async def test_a_limit_on_stakes_holds_over_two_tables_and_lets_through_what_it_should(player: Player) -> None:
    await player.begin()
    await player.set(stake=100)
    assert await player.bet(0, 6) == ["ok"] * 6
    assert await player.bet(1, 5) == [*["ok"] * 4, "STAKE_LIMIT"]
    assert await player.bet(0) == ["STAKE_LIMIT"]
    assert await player.act(0, "undo") == "ok", "what is taken back always may be"
    assert await player.bet(1, 2) == ["ok", "STAKE_LIMIT"], "and is free for the other table"
    assert await player.act(1, "double") == "STAKE_LIMIT"
    limits = await player.limits.read(player.patron)
    assert (limits.own.stake, limits.staked, limits.lost) == (100, 100, 100)


async def test_a_limit_that_is_set_during_play_holds_when_the_answer_is_there(player: Player) -> None:
    """What lies then counts; at a table where more lies than the limit, no more is laid."""
    await player.begin()
    assert await player.bet(0, 8) == ["ok"] * 8
    limits = await player.set(stake=50)
    assert limits.staked == 80
    assert await player.bet(0) + await player.bet(1) == ["STAKE_LIMIT"] * 2
    assert await player.act(0, "clear") == "ok"
    assert await player.bet(1, 6) == [*["ok"] * 5, "STAKE_LIMIT"]


async def test_racing_bets_at_many_tables_never_pass_a_limit(player: Player) -> None:
    await player.begin(3)
    await player.set(stake=200, loss=500)
    codes = await asyncio.gather(*(player.act(n % 3) for n in range(45)))
    assert set(codes) <= {"ok", "STAKE_LIMIT", "BUSY"}  # the last is told where grants keep crossing: again, please
    assert 0 < codes.count("ok") * CHIP == (await player.used())[0] <= 200
    for at in range(3):
        while await player.bet(at) == ["ok"]:
            pass
    assert await player.used() == (200, 200), "and nothing of it is out of reach"


async def test_acts_of_one_patron_stay_in_their_order(player: Player) -> None:
    """The first has to wait for a grant; what was sent behind it, also in other calls, is decided behind it."""
    await player.begin(1)
    await player.set(stake=1_000)
    first = [player.act(0), player.act(0), player.act(0, "clear")]
    tasks = [asyncio.create_task(each) for each in first]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(player.act(0)), asyncio.create_task(player.act(0, "undo"))]
    assert await asyncio.gather(*tasks) == ["ok"] * 5
    assert await player.used() == (0, 0)
    assert await player.act(0, "undo") == "NOTHING_TO_UNDO"


async def test_a_limit_on_losses_follows_what_is_won_and_lost(player: Player) -> None:
    await player.begin(2)
    await player.set(loss=100)
    assert await player.bet(0, 5) == ["ok"] * 5
    owner = player.owners[0]
    before = await stack_of(player, owner)
    await owner.end_round()
    lost = before + 50 - await stack_of(player, owner)
    limits = await player.limits.read(player.patron)
    assert limits.lost == lost in (50, 0, -50)
    assert limits.staked == 50
    room = (100 - lost) // CHIP
    assert await player.bet(1, room + 1) == [*["ok"] * room, "LOSS_LIMIT"], "what was won may be lost elsewhere"
    await owner.open_betting()
    assert await player.bet(0) == ["LOSS_LIMIT"]


async def stack_of(player: Player, owner: Owner) -> int:
    (seat,) = await player.tables.seats_now(owner.table, [player.patron])
    return seat.stack


async def test_a_voided_round_is_no_stake_and_no_loss(player: Player) -> None:
    await player.begin(1)
    await player.set(stake=100, loss=100)
    assert await player.bet(0, 10) == ["ok"] * 10
    owner = player.owners[0]
    change = machine.void_round(owner.state, owner.table, await owner.now_ms(), "operator")
    await owner.tables.void_round(owner.table, owner.lease, change)
    owner.state = change.state
    await owner.settle()
    assert await player.used() == (0, 0)
    await owner.finish_round()
    await owner.open_betting()
    assert await player.bet(0, 11) == [*["ok"] * 10, "STAKE_LIMIT"]


async def test_what_is_looser_waits_and_what_is_stricter_does_not(driver: Driver, ledger: Ledger) -> None:
    player = Player(driver, ledger, loosen_ms=60_000)
    await player.begin(1)
    await player.set(stake=50)
    limits = await player.set(stake=90)
    assert limits.own.stake == 50
    assert limits.next is not None
    assert limits.next.stake == 90
    assert limits.next_at_ms == pytest.approx(limits.now_ms + 60_000, abs=5_000)
    again = await player.set(stake=90)
    assert again.next_at_ms == limits.next_at_ms, "asking again begins no new wait"
    assert await player.bet(0, 6) == [*["ok"] * 5, "STAKE_LIMIT"]
    stricter = await player.set(stake=30)
    assert (stricter.own.stake, stricter.next) == (30, None)
    await player.set(stake=0)
    player.limits = PatronLimits(LimitBook(driver), Ledgers(driver), loosen_ms=0, break_ms=0)
    assert (await player.set(stake=0)).own.stake == 30, "a wait that has begun is not cut short by asking again"
    assert (await player.set(stake=60)).own.stake in (30, 60)
    assert (await player.limits.read(player.patron)).own.stake == 60
    assert await player.bet(0, 2) == ["ok", "STAKE_LIMIT"]


async def test_the_stricter_of_the_patron_and_the_house_counts(player: Player) -> None:
    await player.begin(1)
    await player.set(stake=100)
    await player.set("house", stake=40, loss=500)
    assert await player.bet(0, 5) == [*["ok"] * 4, "STAKE_LIMIT"]
    await player.set("house", stake=0)
    assert await player.bet(0, 7) == [*["ok"] * 6, "STAKE_LIMIT"], "the house's is gone at once, the patron's stays"


async def test_an_exclusion_holds_everywhere_and_is_never_shortened(player: Player) -> None:
    await player.begin(2)
    assert await player.bet(0, 2) == ["ok", "ok"]
    now_ms = await player.owners[0].now_ms()
    limits = await player.set(excluded_until_ms=now_ms + DAY_MS)
    assert limits.excluded_until_ms == now_ms + DAY_MS
    assert (await player.set(excluded_until_ms=now_ms + 1)).excluded_until_ms == now_ms + DAY_MS
    assert (await player.set("house", excluded_until_ms=0)).excluded_until_ms == now_ms + DAY_MS
    assert await player.bet(0) + await player.bet(1) == ["EXCLUDED"] * 2
    assert await player.act(0, "double") == "EXCLUDED"
    assert await player.act(0, "undo") == "ok", "bets may be taken back"
    assert await refusal_of(player.wallets.give_buy_in(player.patron, player.owners[0].table, "more", 1)) == "EXCLUDED"
    wallet = await player.wallets.read(player.patron)
    assert wallet is not None
    assert wallet.limits_version == limits.version + 2


async def test_a_session_ends_and_a_break_follows(driver: Driver, ledger: Ledger) -> None:
    player = Player(driver, ledger, break_ms=400)
    await player.begin(2)
    await player.set(session_ms=300)
    assert await player.bet(0) == ["ok"]
    first = await player.limits.read(player.patron)
    assert first.session_until_ms - first.session_at_ms == 300
    async with asyncio.timeout(10):
        while (code := await player.act(1)) == "ok":
            await asyncio.sleep(0.02)
    assert code == "SESSION_OVER"
    assert await player.act(0, "undo") == "ok"
    async with asyncio.timeout(10):
        while await player.act(0) == "SESSION_OVER":
            await asyncio.sleep(0.02)
    second = await player.limits.read(player.patron)
    assert second.session_at_ms >= first.session_until_ms + 400


async def test_at_midnight_both_count_anew_but_what_lies_counts_for_both_days(player: Player, ledger: Ledger) -> None:
    await player.begin(2)
    await player.set(stake=100)
    assert await player.bet(0, 6) == ["ok"] * 6
    assert await player.bet(1, 5) == [*["ok"] * 4, "STAKE_LIMIT"]
    await player.owners[1].end_round()
    await player.owners[1].open_betting()
    for owner in player.owners:  # yesterday
        await change_packed(ledger, f"{owner.key}:limited", player.patron, lambda a: a.update(day=a["day"] - 1))
    limits_key = next(key for key in keys.wallet_keys(player.patron) if key.endswith(":limits"))
    await change_packed(ledger, limits_key, "kept", lambda kept: kept.update(day=kept["day"] - 1))
    assert await player.bet(0, 5) == [*["ok"] * 4, "STAKE_LIMIT"], "60 lie from yesterday"
    assert (await player.limits.read(player.patron)).staked == 100


async def change_packed(ledger: Ledger, key: str, name: str, change: Any) -> None:
    value = msgpack.unpackb((await ledger.hash_of(key))[name])
    change(value)
    await cast("Any", ledger.raw.hset(key, name, msgpack.packb(value)))


async def test_late_and_repeated_messages_change_nothing(driver: Driver, ledger: Ledger) -> None:
    """A grant that comes when it was taken back, a taking back that comes behind a newer grant, of an earlier day, of
    earlier limits."""
    player = Player(driver, ledger)
    await player.begin(1)
    await player.set(stake=100)
    table, book, patron = player.owners[0].table, LimitBook(driver), player.patron
    version = (await book.read(patron)).version
    used = await book.limit(table, patron, version, 0)
    need = Need(version, used.day, used.turn, 50, 50)
    granted = await book.grant(patron, table, need, 0)
    assert granted.stake == 75
    assert await book.grant(patron, table, need, 0) == granted
    later = await book.limit(table, patron, version, 0)
    assert await refusal_of(book.raise_to(table, patron, need, granted)) == "STALE"
    await book.settle(patron, table, later)
    assert (await book.read(patron)).staked == 0
    assert await refusal_of(book.grant(patron, table, need, 0)) == "STALE"
    fresh = need._replace(turn=later.turn)
    await book.grant(patron, table, fresh, 0)
    await book.settle(patron, table, later)
    assert (await book.read(patron)).staked == 75, "the grant is newer than what was told to be used"
    assert await refusal_of(book.grant(patron, table, fresh._replace(day=used.day - 1), 0)) == "STALE"
    assert await refusal_of(book.grant(patron, table, fresh._replace(version=version - 1), 0)) == "STALE"
    assert await refusal_of(book.limit(table, patron, version - 1, 0)) == "STALE"
    assert await refusal_of(book.raise_to(table, patron, fresh._replace(version=version + 1), granted)) == "STALE"


class LossyBook(LimitBook):
    """Loses calls before they reach the store, and answers behind it."""

    def __init__(self, driver: Driver, chance: random.Random) -> None:
        super().__init__(driver)
        self._chance = chance

    async def _lossy(self, call: Awaitable[Any]) -> Any:
        fate = self._chance.random()
        await asyncio.sleep(self._chance.random() / 200)
        if fate < 0.15:
            cast("Any", call).close()
            raise StoreAway("lost on the way")
        answer = await call
        if fate < 0.3:
            raise StoreAway("answer lost")
        return answer

    async def grant(self, patron: str, table: str, need: Need, break_ms: int) -> Granted:
        return cast(Granted, await self._lossy(super().grant(patron, table, need, break_ms)))

    async def settle(self, patron: str, table: str, used: Used) -> None:
        await self._lossy(super().settle(patron, table, used))

    async def limit(self, table: str, patron: str, version: int, excluded_until_ms: int) -> Used:
        return cast(Used, await self._lossy(super().limit(table, patron, version, excluded_until_ms)))

    async def raise_to(self, table: str, patron: str, need: Need, granted: Granted) -> None:
        await self._lossy(super().raise_to(table, patron, need, granted))


async def test_no_lost_message_passes_a_limit(driver: Driver, ledger: Ledger) -> None:
    """Bets, clears and looks from many tasks at three tables, while calls and answers are lost."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    player = Player(driver, ledger, LossyBook(driver, chance))
    whole = player.limits
    player.limits = PatronLimits(LimitBook(driver), Ledgers(driver), loosen_ms=DAY_MS, break_ms=0)
    await player.begin(3, stack=5_000)
    await player.set(stake=400, loss=300)
    player.limits = whole
    player.batchers = [Batcher(owner.table, player.tables, whole.obtain) for owner in player.owners]

    async def play() -> None:
        for _ in range(12):
            try:
                match chance.randrange(10):
                    case 0:
                        await player.limits.read(player.patron)
                    case 1:
                        assert await player.act(chance.randrange(3), "clear") == "ok"
                    case _:
                        assert await player.act(chance.randrange(3)) in ("ok", "STAKE_LIMIT", "LOSS_LIMIT", "BUSY")
            except StoreAway:
                pass
            staked, lost = await player.used()
            assert staked <= 400
            assert lost <= 300

    await asyncio.gather(*(play() for _ in range(4)))
    player.limits = PatronLimits(LimitBook(driver), Ledgers(driver), loosen_ms=DAY_MS, break_ms=0)
    player.batchers = [Batcher(owner.table, player.tables, player.limits.obtain) for owner in player.owners]
    for at in range(3):
        while await player.bet(at) == ["ok"]:
            pass
    assert (await player.used())[1] == 300, "what messages were lost is found again"
