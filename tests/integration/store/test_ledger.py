"""The ledgers in the store: every movement entered once, sealed, copied to its patrons once, and trimmed behind all."""

import asyncio
import logging
import random
from itertools import product
from typing import Any, cast, get_args

import pytest
from redis.asyncio import Redis

from client_sdk.game.seals import FIRST_SEAL, Seal, seal_after
from client_sdk.protocol.messages import StatementLine
from server import projector
from server.audit import audit
from server.cashier import Cashier, Sitter
from server.ledger.copies import copies_of, played_round, statement_line
from server.ledger.entries import Act, BuyIn, CashOut, Entry, SealMark, Settlement, unpack_entry
from server.ledger.playback import Playback
from server.projector import Projector
from server.replays import compare_table
from server.running import running
from server.sealing import Sealer
from server.statements import Statements
from server.store import keys
from server.store.books import Books
from server.store.driver import Driver
from server.store.errors import Fenced, StoreAway
from server.store.ledgers import Ledgers
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.integration.store.checks import NODE, Ledger, Owner, attempt, fresh_id, refusal_of
from tests.integration.store.faults import Fault, FaultyDriver, Mode
from tests.support.table_rules import rules_of

MODES: tuple[Mode, ...] = get_args(Mode)
PATRONS = ("ann", "bob", "cat")


@pytest.fixture
async def owner(tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger) -> Owner:
    """An owner of a table at which three patrons sit with 10,000 each, out of 20,000."""
    owner = await Owner.of_new_table(
        tables, ledger, rules_of("punto-banco", maximums={"player": 100, "banker": 100, "tie": 50})
    )
    for patron in PATRONS:
        await wallets.create(patron, patron.title(), False, "abc", 20_000)
        await sit(cashier, owner, patron, 10_000)
    return owner


async def sit(cashier: Cashier, owner: Owner, patron: str, buy_in: int, request_id: str = "r1") -> None:
    await cashier.sit_down(owner.table, Sitter(patron, patron.title(), False, NODE, f"c-{patron}"), request_id, buy_in)


async def packed_of(ledgers: Ledgers, owner: Owner) -> list[tuple[int, bytes]]:
    return [entry async for entry in ledgers.entries_after(owner.table, 0)]


async def entries_of(ledgers: Ledgers, owner: Owner) -> list[Entry]:
    return [unpack_entry(packed) for _, packed in await packed_of(ledgers, owner)]


async def assert_ledgers_tell_all(driver: Driver) -> None:
    found = await audit(Books(driver), Tables(driver), Ledgers(driver))
    assert found.differences == []
    assert found.replayed == found.tables


async def play_round(owner: Owner) -> None:
    """A round with a bet of each patron, one of them taken back."""
    await owner.open_betting()
    for patron, spot in zip(PATRONS, ("player", "banker", "tie"), strict=True):
        assert (await owner.act(patron, "place", spot, 10)).code == "ok"
        assert (await owner.act(patron, "place", spot, 25)).code == "ok"
    assert (await owner.act("bob", "undo")).code == "ok"
    await owner.end_round()


# --- Every movement has its entry -------------------------------------------------------------------------------------


async def test_what_is_entered_and_what_is_not(
    cashier: Cashier, ledgers: Ledgers, owner: Owner, ledger: Ledger
) -> None:
    await owner.open_betting()
    place = owner.line("ann", "place", "player", 25)
    assert [answer.code for answer in await owner.tables.acts(owner.table, [place, place])] == ["ok", "ok"]
    for verb in ("ready", "double", "clear", "clear"):
        assert (await owner.act("ann", verb)).code == "ok"
    assert (await owner.act("ann", "undo")).code == "NOTHING_TO_UNDO"
    assert (await owner.act("bob", "place", "tie", 10, round=9)).code == "ROUND_OVER"
    await owner.act("bob", "place", "tie", 10)
    await owner.tables.leave(owner.table, "bob", "c-bob")
    await owner.end_round()
    await cashier.get_up(owner.table, "bob", reason="left")
    found = await entries_of(ledgers, owner)
    bought, acts, (settled, mark, went) = found[:3], found[3:7], found[7:]
    assert [type(entry) for entry in bought] == [BuyIn] * 3
    assert [(entry.verb, entry.moved, entry.stack) for entry in acts if isinstance(entry, Act)] == [
        ("place", 25, 9_975),
        ("double", 25, 9_950),
        ("clear", -50, 10_000),
        ("place", 10, 9_990),
    ]
    assert isinstance(acts[0], Act)
    assert (acts[0].request_id, acts[0].round, acts[0].spot, acts[0].chip) == (place.request_id, 1, "player", 25)
    assert isinstance(settled, Settlement)
    assert [(line.patron, line.stake) for line in settled.lines] == [("bob", 10)]
    assert settled.lines[0].record.bets == {"tie": 10}
    assert isinstance(mark, SealMark)
    assert isinstance(went, CashOut)
    assert (went.patron, went.n, went.amount, went.stack) == ("bob", 1, settled.lines[0].stack, 0)
    assert [number for number, _ in await packed_of(ledgers, owner)] == list(range(1, 11))
    assert (await ledger.hash_of(owner.key))["ledger"] == b"10"


async def test_a_chunk_that_comes_again_is_entered_once(ledgers: Ledgers, owner: Owner) -> None:
    """BL-145: the settlement repeated, overlapping, and by another owner; one line for each bet."""
    await owner.open_betting()
    for patron in PATRONS:
        await owner.act(patron, "place", "player", 10)
    await owner.close_betting()
    await owner.deal()
    ann, bob, cat = sorted(await owner.settlements())
    for chunk in ([ann, ann], [ann, bob], [], [bob, cat], [ann, bob, cat]):
        await owner.settle(chunk)
    settled = [entry for entry in await entries_of(ledgers, owner) if isinstance(entry, Settlement)]
    assert [[line.patron for line in entry.lines] for entry in settled] == [["ann"], ["bob"], ["cat"]]


@pytest.mark.parametrize("seed", range(4))
async def test_the_ledger_makes_every_stack_wallet_and_the_house(
    driver: Driver, tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger, ledgers: Ledgers, seed: int
) -> None:
    """Anything that moves money, in any order; after each of it the ledger played from zero is what lies there."""
    chance = random.Random(seed)
    owner = await Owner.of_new_table(tables, ledger, rules_of("red-lounge", seats_max=3))
    patrons = ["ann", "bob", "cat", "dan"]
    for patron in patrons:
        await wallets.create(patron, patron.title(), False, "abc", 1_000)
    books, playback, played = Books(driver), Playback(), 0
    await owner.open_betting()
    for step in range(120):
        patron = chance.choice(patrons)
        match chance.choice(["sit", "act", "act", "act", "act", "leave", "operate", "round"]):
            case "sit":
                await attempt(sit(cashier, owner, patron, chance.choice([50, 300]), f"r{step}"))
            case "act":
                verb = chance.choice(["place", "place", "place", "undo", "clear", "double", "rebet"])
                spot = chance.choice(["player", "banker", "tie"]) if verb == "place" else ""
                await owner.act(patron, verb, spot, chance.choice([5, 10, 25]) if spot else "")
            case "leave":
                await attempt(cashier.get_up(owner.table, patron, f"c-{patron}"))
            case "operate":
                await attempt(wallets.operate(patron, f"o{step}", chance.choice(["credited", "debited"]), 70))
            case "round":
                await owner.end_round()
                for leaver, reason in await owner.tables.departures(owner.table, 60_000, 0, 10):
                    await cashier.get_up(owner.table, leaver, reason=reason)
                await owner.open_betting()
        async for entry in ledgers.entries_after(owner.table, played):
            assert list(playback.enter(*entry)) == []
        played = playback.last
        assert playback.replay is not None
        assert list(compare_table(owner.table, await books.table(owner.table), playback.replay)) == []
    assert played > 35
    await assert_ledgers_tell_all(driver)


async def test_a_wallet_notes_all_its_movements(
    wallets: Wallets, cashier: Cashier, ledgers: Ledgers, tables: Tables, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of(seats_max=1))
    await owner.seat("other")
    await wallets.create("p", "Pia", False, "abc", 1_000)
    assert await refusal_of(sit(cashier, owner, "p", 300)) == "TABLE_FULL"
    await tables.leave(owner.table, "other")
    await sit(cashier, owner, "p", 400, "r2")
    await cashier.get_up(owner.table, "p", "c-p")
    await wallets.operate("p", "o1", "credited", 50)
    await wallets.operate("p", "o1", "credited", 50)
    await wallets.operate("p", "o2", "debited", 1_050)
    lines, more, _ = await Statements(ledgers).page("p", None, 100)
    told = [(line.kind, line.amount, line.balance, line.transfer, line.request_id) for line in reversed(lines)]
    assert told == [
        ("put_in", 1_000, 1_000, None, None),
        ("buy_in_given", -300, 700, 1, "r1"),
        ("buy_in_refused", 300, 1_000, 1, "r1"),
        ("buy_in_given", -400, 600, 2, "r2"),
        ("buy_in_closed", 0, 600, 2, "r2"),
        ("cash_out_taken", 400, 1_000, 1, None),
        ("credited", 50, 1_050, None, "o1"),
        ("debited", -1_050, 0, None, "o2"),
    ]
    assert (more, {line.table for line in lines}) == (False, {owner.table, None})


# --- Seals ------------------------------------------------------------------------------------------------------------


async def test_a_round_is_sealed_with_all_that_was_entered(ledgers: Ledgers, owner: Owner, cashier: Cashier) -> None:
    await play_round(owner)
    first = owner.state.seal
    entries = await packed_of(ledgers, owner)
    assert first == seal_after(FIRST_SEAL, entries[:-1])
    assert unpack_entry(entries[-1][1]) == SealMark(unpack_entry(entries[-1][1]).at_ms, 1, first)
    marks = await ledgers.marks(owner.table)
    assert (marks.seal, marks.entered_to) == (first, first.sealed_to + 1)
    await cashier.get_up(owner.table, "cat", "c-cat")
    await owner.open_betting()
    await owner.end_round()
    second = owner.state.seal
    later = (await packed_of(ledgers, owner))[first.sealed_to :]
    assert second == seal_after(first, later[:-1])
    assert second.sealed_to == first.sealed_to + 2  # the mark and the cash-out
    assert (await owner.tables.view(owner.table)).view.seq == owner.state.seq


async def test_where_no_money_moves_the_seal_stays(ledgers: Ledgers, owner: Owner) -> None:
    await play_round(owner)
    seal, entries = owner.state.seal, await packed_of(ledgers, owner)
    for _ in range(3):
        await owner.open_betting()
        await owner.end_round()
    assert owner.state.seal == seal
    assert await packed_of(ledgers, owner) == entries


async def test_a_new_owner_seals_the_same(tables: Tables, ledger: Ledger, ledgers: Ledgers, owner: Owner) -> None:
    await play_round(owner)
    heir = await Owner.of(tables, ledger, owner.table)
    assert heir.state.seal == owner.state.seal
    await play_round(heir)
    entries = await packed_of(ledgers, heir)
    assert heir.state.seal == seal_after(owner.state.seal, entries[owner.state.seal.sealed_to : -1])


async def test_what_was_read_ahead_is_sealed_the_same(ledgers: Ledgers, owner: Owner, faulty: FaultyDriver) -> None:
    """Whatever was read before: also for a seal that another one was to follow, because its commit was refused."""
    sealer = Sealer(ledgers, owner.table, owner.state.seal)
    seals = [owner.state.seal]
    async with running(sealer.run()), asyncio.timeout(10):
        for _ in range(3):
            await owner.open_betting()
            for patron in ("bob", "cat"):
                assert (await owner.act(patron, "place", "player", 25)).code == "ok"
                entered_to = (await ledgers.marks(owner.table)).entered_to
                sealer.read_ahead()
                while f" to={entered_to}>" not in repr(sealer):
                    await asyncio.sleep(0.001)
            await owner.close_betting()
            await owner.deal()
            await owner.settle()
            found = await sealer.seal(seals[-1])
            assert await sealer.seal(seals[-1]) == found
            await owner.finish_round()
            assert owner.state.seal == found != seals[-1]
            seals.append(found)
    assert await sealer.seal(seals[0]) == seal_after(FIRST_SEAL, await packed_of(ledgers, owner))


async def test_what_another_server_forgot_is_not_sealed(ledgers: Ledgers, ledger: Ledger, owner: Owner) -> None:
    """It was read ahead; then a replica took over that had not got it."""
    await owner.open_betting()
    await owner.act("bob", "place", "player", 25)
    entries = await packed_of(ledgers, owner)
    sealer = Sealer(ledgers, owner.table, FIRST_SEAL)
    assert await sealer.seal(FIRST_SEAL) == seal_after(FIRST_SEAL, entries)
    sealer.forget()
    await rewrite(ledger, owner, entries[:-1])
    assert await sealer.seal(FIRST_SEAL) == seal_after(FIRST_SEAL, entries[:-1])


async def test_a_sealer_that_could_not_read_ahead_reads_when_it_must(
    ledgers: Ledgers, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    await owner.open_betting()
    await owner.act("bob", "place", "player", 25)
    sealer, failed = Sealer(ledgers, owner.table, FIRST_SEAL), asyncio.Event()

    def away(*_: Any) -> None:
        failed.set()
        raise StoreAway("away")

    async with running(sealer.run()), asyncio.timeout(10):
        with monkeypatch.context() as patched:
            patched.setattr(Ledgers, "entries_after", away)
            sealer.read_ahead()
            await failed.wait()
        assert await sealer.seal(FIRST_SEAL) == seal_after(FIRST_SEAL, await packed_of(ledgers, owner))


async def rewrite(ledger: Ledger, owner: Owner, entries: list[tuple[int, bytes]]) -> None:
    """Do what only somebody with the store in hand can do."""
    key = keys.ledger_key(owner.table)
    await ledger.raw.delete(key)
    for number, packed in entries:
        await ledger.raw.execute_command("XADD", key, f"{number}-0", "entry", packed)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda entries: [(n, e.replace(b"bob", b"cat")) for n, e in entries], "has"),
        (lambda entries: [(n, e.replace(b"undo", b"UNDO")) for n, e in entries], "the seal over entries 1 to 11"),
        (lambda entries: entries[:4] + entries[5:], "entries 5 to 5 are missing"),
        (lambda entries: entries[:-1], "entries 12 to 12 are missing"),
        (lambda entries: entries[2:], "entries 1 to 2 are missing"),
        (lambda entries: [], "entries 1 to 12 are missing"),
        (lambda entries: [*entries[:4], (5, b"\xc1"), *entries[5:]], "entry 5: no entry"),
    ],
    ids=["money", "words", "middle", "end", "begin", "all", "rubbish"],
)
async def test_an_edited_ledger_is_found(
    driver: Driver, ledger: Ledger, ledgers: Ledgers, owner: Owner, change: Any, fault: str
) -> None:
    await play_round(owner)
    await rewrite(ledger, owner, change(await packed_of(ledgers, owner)))
    found = await audit(Books(driver), Tables(driver), ledgers)
    assert any(fault in str(difference) for difference in found.differences), found.differences


async def test_an_edited_wallet_is_found(driver: Driver, ledger: Ledger, ledgers: Ledgers, owner: Owner) -> None:
    raw = cast("Any", ledger.raw)
    await raw.hincrby(keys.wallet_key("ann"), "balance", 5)
    await raw.hincrby(keys.wallet_key("ann"), "put_in", 5)
    found = await audit(Books(driver), Tables(driver), ledgers)
    assert [str(difference) for difference in found.differences] == [
        "wallet ann: balance against its ledger differs by -5",
        "wallet ann: what was put in and taken out against its ledger differs by -5",
    ]


async def test_dealing_goes_on_over_a_gap(
    ledger: Ledger, ledgers: Ledgers, owner: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    entries = await packed_of(ledgers, owner)
    await rewrite(ledger, owner, [entries[0], entries[2]])
    await play_round(owner)
    assert "ledger_gap" in caplog.messages
    assert owner.state.seal == seal_after(FIRST_SEAL, (await packed_of(ledgers, owner))[:-1])


# --- Copies for patrons -----------------------------------------------------------------------------------------------


def projector_of(owner: Owner, ledgers: Ledgers) -> Projector:
    return Projector(owner.table, owner.lease, ledgers, asyncio.Event())


async def lines_of(ledgers: Ledgers, patron: str, owner: Owner) -> list[StatementLine]:
    """The lines of a patron's ledger that come from the owner's table, the oldest first."""
    found = [statement_line(*line) async for line in ledgers.lines_after(patron, 0)]
    assert [line.id for line in found] == [str(number) for number in range(1, len(found) + 1)]
    return [line for line in found if line.number is not None and line.table == owner.table]


async def assert_copied_once(ledgers: Ledgers, owner: Owner, patrons: tuple[str, ...] = PATRONS) -> None:
    """Each patron has each sealed entry that is about it, once and in order; and so the rounds."""
    expected: dict[str, list[tuple[int, bytes]]] = {patron: [] for patron in patrons}
    rounds: dict[str, list[int]] = {patron: [] for patron in patrons}
    sealed_to = (await ledgers.marks(owner.table)).seal.sealed_to
    for number, packed in (await packed_of(ledgers, owner))[:sealed_to]:
        for patron, copy in copies_of(owner.table, number, unpack_entry(packed)):
            expected[patron].append((number, copy.line))
            rounds[patron] += [number] if copy.played else []
    for patron in patrons:
        lines = await lines_of(ledgers, patron, owner)
        assert lines == [
            statement_line(int(line.id), packed) for line, (_, packed) in zip(lines, expected[patron], strict=True)
        ]
        played = [played_round(*each) for each in await ledgers.played_before(patron, None, 100)]
        assert [each.number for each in reversed(played) if each.table == owner.table] == rounds[patron]
    marks = await ledgers.marks(owner.table)
    assert marks.projected_to == sealed_to


async def test_everything_sealed_is_copied_and_nothing_else(ledgers: Ledgers, owner: Owner) -> None:
    projector_ = projector_of(owner, ledgers)
    await projector_.project()
    assert (await ledgers.marks(owner.table)).projected_to == 0
    await play_round(owner)
    await projector_.project()
    await assert_copied_once(ledgers, owner)
    await owner.open_betting()
    await owner.act("ann", "place", "player", 10)
    await projector_.project()
    await assert_copied_once(ledgers, owner)
    await owner.end_round()
    await projector_.project()
    await assert_copied_once(ledgers, owner)
    stacks = {patron: (await lines_of(ledgers, patron, owner))[-1].balance for patron in PATRONS}
    assert stacks == {
        patron: (await owner.tables.view(owner.table, patron)).view.you.stack  # type: ignore[union-attr]
        for patron in PATRONS
    }


@pytest.mark.parametrize(("run", "mode"), list(product(range(5), MODES)))
async def test_a_projector_that_dies_at_any_step_doubles_and_loses_nothing(
    tables: Tables, ledger: Ledger, ledgers: Ledgers, owner: Owner, faulty: FaultyDriver, run: int, mode: Mode
) -> None:
    """Before a copy reached the store, after it was done, or held up until the next owner has done it all."""
    await play_round(owner)
    faulty.arm(Fault(run, mode))
    if run < 4:
        with pytest.raises(StoreAway):
            await projector_of(owner, Ledgers(faulty)).project()
    heir = await Owner.of(tables, ledger, owner.table)
    await play_round(heir)
    await projector_of(heir, ledgers).project()
    await assert_copied_once(ledgers, heir)
    await faulty.let_late_runs_through()
    await assert_copied_once(ledgers, heir)


async def test_an_owner_that_was_replaced_moves_no_mark(
    tables: Tables, ledger: Ledger, ledgers: Ledgers, owner: Owner
) -> None:
    await play_round(owner)
    heir = await Owner.of(tables, ledger, owner.table)
    with pytest.raises(Fenced):
        await projector_of(owner, ledgers).project()
    assert (await ledgers.marks(owner.table)).projected_to == 0
    await asyncio.gather(*(projector_of(heir, ledgers).project() for _ in range(3)))
    await assert_copied_once(ledgers, heir)


async def test_a_patron_without_a_wallet_holds_nobody_up(
    ledgers: Ledgers, owner: Owner, ledger: Ledger, cashier: Cashier
) -> None:
    await owner.seat("ghost", 500)
    await owner.open_betting()
    await owner.act("ghost", "place", "player", 10)
    await owner.end_round()
    await projector_of(owner, ledgers).project()
    assert (await ledgers.marks(owner.table)).projected_to == owner.state.seal.sealed_to
    assert await ledger.hash_of(keys.wallet_key("ghost")) == {}


async def test_after_a_rollback_numbers_come_again_and_are_copied_again(
    tables: Tables, ledger: Ledger, ledgers: Ledgers, owner: Owner, faulty: FaultyDriver
) -> None:
    """The table's store forgets a round that patrons have in their ledgers already; what it plays instead is theirs."""
    await play_round(owner)
    await projector_of(owner, ledgers).project()
    before, entries, raw = await ledger.hash_of(owner.key), await packed_of(ledgers, owner), cast("Any", ledger.raw)
    await play_round(owner)
    faulty.arm(Fault(0, "late"))
    with pytest.raises(StoreAway):
        await projector_of(owner, Ledgers(faulty)).project()
    await projector_of(owner, ledgers).project()
    forgotten = len(await lines_of(ledgers, "ann", owner))
    await rewrite(ledger, owner, entries)
    await raw.hset(owner.key, mapping=before)
    await raw.delete(keys.events_key(owner.table), keys.rounds_key(owner.table))
    stacks = {patron: str(you_stack) for patron, you_stack in await _stacks_told(entries)}
    await raw.hset(keys.stacks_key(owner.table), mapping=stacks)
    heir = await Owner.of(tables, ledger, owner.table)
    await tables.adopt_store(owner.table, heir.lease, "run-2", "inc-2", rollback=True)
    heir.lease = heir.lease._replace(incarnation="inc-2")
    await play_round(heir)
    await projector_of(heir, ledgers).project()
    await faulty.let_late_runs_through()
    lines = await lines_of(ledgers, "ann", owner)
    again = [line.number for line in lines[forgotten:]]
    assert again == [n for n, e in (await packed_of(ledgers, heir))[len(entries) :] if b"ann" in e]


async def _stacks_told(entries: list[tuple[int, bytes]]) -> list[tuple[str, int]]:
    playback = Playback()
    for entry in entries:
        assert list(playback.enter(*entry)) == []
    assert playback.replay is not None
    return list(playback.replay.stacks.items())


async def test_a_projector_works_by_itself_and_again_after_an_outage(
    ledgers: Ledgers, owner: Owner, faulty: FaultyDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projector, "RETRY_MS", (1, 5))
    sealed = asyncio.Event()
    faulty.arm(Fault(1, "before"))
    await play_round(owner)
    async with running(Projector(owner.table, owner.lease, Ledgers(faulty), sealed).run()), asyncio.timeout(5):
        for _ in range(2):
            while (await ledgers.marks(owner.table)).projected_to < owner.state.seal.sealed_to:
                await asyncio.sleep(0.005)
            await play_round(owner)
            sealed.set()
    await projector_of(owner, ledgers).project()
    await assert_copied_once(ledgers, owner)


# --- Statement and history --------------------------------------------------------------------------------------------


async def test_a_statement_is_complete_up_to_its_marks(ledgers: Ledgers, owner: Owner) -> None:
    statements = Statements(ledgers)
    for number in range(3):
        await play_round(owner)
        if number != 1:
            await projector_of(owner, ledgers).project()
        lines, _, complete_to = await statements.page("bob", None, 100)
        mark = complete_to[owner.table]
        told = {line.number for line in lines if line.table == owner.table and line.number is not None}
        about_bob = {
            n
            for n, packed in (await packed_of(ledgers, owner))[: mark.number]
            if any(patron == "bob" for patron, _ in copies_of(owner.table, n, unpack_entry(packed)))
        }
        assert told == about_bob
        assert (mark.number == owner.state.seal.sealed_to) is (number != 1)
    assert mark.at_ms == unpack_entry((await packed_of(ledgers, owner))[mark.number - 1][1]).at_ms


async def test_statement_and_history_come_in_pages(ledgers: Ledgers, owner: Owner) -> None:
    """BL-013, BL-146: each round once, with its bets and what came of them; a refunded bet counts as refunded."""
    for _ in range(4):
        await play_round(owner)
    await owner.open_betting()
    await owner.end_round()  # without a bet: no round of anybody's
    await projector_of(owner, ledgers).project()
    statements = Statements(ledgers)
    whole, more, _ = await statements.page("cat", None, 100)
    assert not more
    paged: list[StatementLine] = []
    while not paged or more:
        lines, more, _ = await statements.page("cat", paged[-1].id if paged else None, 3)
        assert len(lines) == 3 or not more
        paged += lines
    assert paged == whole
    assert [int(line.id) for line in whole] == list(range(len(whole), 0, -1))
    rounds, more = await statements.history("cat", None, 3)
    assert ([played.round for played in rounds], more) == ([4, 3, 2], True)
    rest, more = await statements.history("cat", rounds[-1].id, 3)
    assert ([played.round for played in rest], more) == ([1], False)
    for played in rounds + rest:
        assert played.bets == {"tie": 35}
        assert played.results["tie"].stake == 35  # type: ignore[index]
        paid = [line for line in whole if line.kind == "settled" and line.round == played.round]
        assert [line.amount for line in paid] == [sum(result.payout for result in played.results.values())]
    assert (await statements.history("nobody", None, 3), await statements.page("nobody", None, 3)) == (
        ([], False),
        ([], False, {}),
    )


async def test_a_patrons_ledger_is_bounded(ledgers: Ledgers, owner: Owner, ledger: Ledger) -> None:
    from server.ledger.copies import Copy  # the projector's own

    marks = await ledgers.marks(owner.table)
    for start in range(1, 12_001, 1_000):
        copies = [Copy(number, b"line %d" % number, b"played") for number in range(start, start + 1_000)]
        assert await ledgers.project(owner.table, marks, [("ann", copies)]) == 0
    lines = await ledger.raw.xlen(keys.patron_ledger_key("ann"))
    rounds = await ledger.raw.xlen(keys.patron_rounds_key("ann"))
    assert 10_000 <= lines < 10_200
    assert 1_000 <= rounds < 1_200
    assert (await ledgers.lines_before("ann", None, 1))[0][1] == b"line 12000"


# --- Consumers and trimming -------------------------------------------------------------------------------------------


async def test_a_consumer_moves_forward_over_what_is_sealed(ledgers: Ledgers, owner: Owner) -> None:
    assert await refusal_of(ledgers.open_consumer(fresh_id("nowhere"), "books")) == "UNKNOWN_TABLE"
    assert await ledgers.open_consumer(owner.table, "books") == 0
    assert await refusal_of(ledgers.move_consumer(owner.table, "books", 1)) == "NOT_SEALED"
    await play_round(owner)
    for number in (3, 7, 5):
        await ledgers.move_consumer(owner.table, "books", number)
    assert await ledgers.open_consumer(owner.table, "books") == 7
    assert await ledgers.consumers(owner.table) == {"books": 7}
    assert await ledgers.forget_consumer(owner.table, "books")
    assert not await ledgers.forget_consumer(owner.table, "books")
    await ledgers.move_consumer(owner.table, "books", 8)
    assert await ledgers.consumers(owner.table) == {}


async def first_kept(ledgers: Ledgers, owner: Owner) -> int:
    return (await packed_of(ledgers, owner))[0][0]


async def test_only_what_everybody_has_is_trimmed(driver: Driver, ledgers: Ledgers, owner: Owner) -> None:
    for _ in range(40):
        await play_round(owner)
    sealed_to = owner.state.seal.sealed_to
    entries = len(await packed_of(ledgers, owner))
    assert await ledgers.trim(owner.table, owner.lease) == entries, "nobody consumes it"
    await ledgers.open_consumer(owner.table, "early")
    await ledgers.open_consumer(owner.table, "late")
    await ledgers.move_consumer(owner.table, "early", sealed_to)
    assert await ledgers.trim(owner.table, owner.lease) == entries, "patrons and one consumer do not have it"
    await projector_of(owner, ledgers).project()
    assert await ledgers.trim(owner.table, owner.lease) == entries, "one consumer does not have it"
    await ledgers.move_consumer(owner.table, "late", 250)
    assert await ledgers.trim(owner.table, owner.lease) < entries
    assert 150 < await first_kept(ledgers, owner) <= 251
    with pytest.raises(Fenced):
        await ledgers.trim(owner.table, owner.lease._replace(epoch=99))
    found = await audit(Books(driver), Tables(driver), ledgers)
    assert (found.differences, found.replayed) == ([], 0)
    await ledgers.forget_consumer(owner.table, "late")
    await ledgers.trim(owner.table, owner.lease)
    assert await first_kept(ledgers, owner) > sealed_to - 100
    await play_round(owner)
    await projector_of(owner, ledgers).project()
    assert (await audit(Books(driver), Tables(driver), ledgers)).differences == []
    await ledgers.forget_consumer(owner.table, "early")
    found = await audit(Books(driver), Tables(driver), ledgers)
    assert "are missing" in str(found.differences[0]), "now nobody has taken what is gone"


async def test_a_large_ledger_is_told_once_for_each_doubling(
    ledgers: Ledgers, owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(projector, "LEDGER_LARGE", 10)
    keeper, told = projector_of(owner, ledgers), []
    for _ in range(9):
        await play_round(owner)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            await keeper._trim()
        told.append(caplog.messages)
    warned = ["ledger_large"]
    assert told == [warned, warned, [], [], warned, [], [], [], warned]  # 12, 21, 48 and 84 entries


async def test_a_seal_is_no_entry_of_the_next_table(tables: Tables, ledger: Ledger, ledgers: Ledgers) -> None:
    fresh = await Owner.of_new_table(tables, ledger)
    assert (await ledgers.marks(fresh.table)).seal == Seal("00" * 32, 0)
    assert await refusal_of(ledgers.marks(fresh_id("nowhere"))) == "UNKNOWN_TABLE"


async def test_raw_bytes_are_what_is_sealed(raw: Redis, ledgers: Ledgers, owner: Owner) -> None:
    """What another program reads from the stream makes the same seal."""
    await play_round(owner)
    found = await cast("Any", raw.xrange(keys.ledger_key(owner.table)))
    entries = [(int(entry_id.split(b"-")[0]), fields[b"entry"]) for entry_id, fields in found]
    assert seal_after(FIRST_SEAL, entries[: owner.state.seal.sealed_to]) == owner.state.seal
