"""Exports over every way in which a run can die: in the file nothing is missing and nothing doubled, ever."""

import asyncio
from pathlib import Path

import pytest

from server.cashier import Cashier, Sitter
from server.export_file import open_output
from server.exporting import Exported, cut_what_was_not_noted, export_table
from server.ledger.check import TableCheck, check_rows
from server.ledger.rows import Format, read_rows
from server.projector import Projector
from server.settings import BadSetting
from server.store.errors import StoreAway
from server.store.ledgers import Ledgers
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.integration.store.checks import NODE, Ledger, Owner
from tests.integration.store.faults import Fault, FaultyDriver
from tests.support.table_rules import rules_of

FORMATS: tuple[Format, ...] = ("jsonl", "csv")


@pytest.fixture
async def owner(tables: Tables, wallets: Wallets, cashier: Cashier, ledger: Ledger) -> Owner:
    owner = await Owner.of_new_table(tables, ledger, rules_of("punto-banco"))
    for patron in ("ann", "bob"):
        await wallets.create(patron, patron.title(), False, "abc", 20_000)
        sitter = Sitter(patron, patron.title(), False, NODE, f"c-{patron}")
        await cashier.sit_down(owner.table, sitter, "r1", 10_000)
    return owner


async def play(owner: Owner, rounds: int = 1) -> None:
    for _ in range(rounds):
        await owner.open_betting()
        for patron, spot in (("ann", "player"), ("bob", "tie")):
            await owner.act(patron, "place", spot, 10)
        await owner.end_round()


async def export(
    ledgers: Ledgers, owner: Owner, path: Path, form: Format = "jsonl", consumer: str = "books"
) -> Exported:
    with open_output(path, form) as output:
        await cut_what_was_not_noted(ledgers, output)
        return await export_table(ledgers, owner.table, consumer, output)


def checked(path: Path) -> TableCheck:
    with path.open(newline="\n") as file:
        (found,), _ = check_rows(read_rows(file))
    return found


def assert_whole(path: Path, owner: Owner, first: int = 1) -> None:
    found = checked(path)
    assert found.faults == []
    assert (found.first, found.last, found.seal) == (first, owner.state.seal.sealed_to, owner.state.seal)


@pytest.mark.parametrize("form", FORMATS)
async def test_runs_go_on_where_the_last_one_ended(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, form: Format
) -> None:
    one_file, ends = tmp_path / "all", []
    for number in range(3):
        await play(owner, 2)
        exported = await export(ledgers, owner, one_file, form)
        ends.append(exported.seal.sealed_to)
        assert (exported.first, exported.missing) == (ends[-2] + 1 if number else 1, 0)
        assert_whole(one_file, owner)
    size = one_file.stat().st_size
    assert (await export(ledgers, owner, one_file, form)).first is None
    assert one_file.stat().st_size == size
    assert await ledgers.consumers(owner.table) == {"books": ends[-1]}


async def test_each_consumer_has_its_own_position(ledgers: Ledgers, owner: Owner, tmp_path: Path) -> None:
    await play(owner)
    await export(ledgers, owner, tmp_path / "a", consumer="a")
    after = owner.state.seal.sealed_to
    await play(owner)
    await export(ledgers, owner, tmp_path / "b", consumer="b")
    assert_whole(tmp_path / "b", owner)
    second = await export(ledgers, owner, tmp_path / "a2", consumer="a")
    assert second.first == after + 1
    assert_whole(tmp_path / "a2", owner, after + 1)


@pytest.mark.parametrize("form", FORMATS)
async def test_a_run_that_died_with_any_part_written_is_repeated(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, form: Format, faulty: FaultyDriver
) -> None:
    """The section is in the file up to some byte, and not noted: the next run on the file mends it."""
    path = tmp_path / "books"
    await play(owner)
    await export(ledgers, owner, path, form)
    noted = path.stat().st_size
    await play(owner)
    faulty.arm(Fault(1, "before"))  # the second call moves the position
    with pytest.raises(StoreAway):
        await export(Ledgers(faulty), owner, path, form)
    unnoted, position = path.read_bytes(), await ledgers.consumers(owner.table)
    assert len(unnoted) > noted
    step = (len(unnoted) - noted) // 37
    for size in [*range(noted, len(unnoted), step), len(unnoted) - 1, len(unnoted)]:
        path.write_bytes(unnoted[:size])
        faulty.arm(Fault(1, "before"))
        with pytest.raises(StoreAway):
            await export(Ledgers(faulty), owner, path, form)
        assert path.read_bytes() == unnoted
        assert await ledgers.consumers(owner.table) == position
    assert (await export(ledgers, owner, path, form)).first is not None
    assert path.read_bytes() == unnoted
    assert_whole(path, owner)


async def test_a_run_whose_position_moved_unseen_is_not_repeated(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, faulty: FaultyDriver
) -> None:
    await play(owner)
    faulty.arm(Fault(1, "after"))
    with pytest.raises(StoreAway):
        await export(Ledgers(faulty), owner, tmp_path / "books")
    await play(owner)
    assert (await export(ledgers, owner, tmp_path / "books")).first is not None
    assert_whole(tmp_path / "books", owner)


async def test_nothing_is_noted_that_could_not_be_synced(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(owner)
    calls: list[int] = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 1:  # the first is the directory's
            raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr("server.export_file.os.fsync", full)
        with pytest.raises(OSError, match="no space"):
            await export(ledgers, owner, tmp_path / "books")
    assert await ledgers.consumers(owner.table) == {"books": 0}
    await export(ledgers, owner, tmp_path / "books")
    assert_whole(tmp_path / "books", owner)


async def test_what_is_missing_is_told(ledgers: Ledgers, owner: Owner, tmp_path: Path, ledger: Ledger) -> None:
    await play(owner, 2)
    await ledger.raw.execute_command("XDEL", f"{owner.key}:ledger", "3-0", "4-0", f"{owner.state.seal.sealed_to}-0")
    exported = await export(ledgers, owner, tmp_path / "books")
    assert (exported.first, exported.trimmed, exported.missing) == (1, 0, 3)
    assert "entries 3 to 4 are missing" in checked(tmp_path / "books").faults[0]


async def test_what_was_trimmed_before_a_consumer_came_is_told(ledgers: Ledgers, owner: Owner, tmp_path: Path) -> None:
    await ledgers.open_consumer(owner.table, "early")
    await play(owner, 60)
    await export(ledgers, owner, tmp_path / "early", consumer="early")
    keeper = Projector(owner.table, owner.lease, ledgers, asyncio.Event())
    await keeper.project()
    await keeper._trim()
    exported = await export(ledgers, owner, tmp_path / "late", consumer="late")
    assert exported.first is not None
    assert (exported.trimmed, exported.missing) == (exported.first - 1, 0)
    assert exported.trimmed > 100
    assert_whole(tmp_path / "late", owner, exported.first)
    assert_whole(tmp_path / "early", owner)
    assert await ledgers.consumers(owner.table) == {"early": exported.seal.sealed_to, "late": exported.seal.sealed_to}


# --- files that are not ours ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("content", [b'{"a": 1}', b"hello\n", b"a,b\n1,2\n", b"\n", b"\0"])
def test_a_file_that_is_no_export_is_left_alone(tmp_path: Path, content: bytes, form: Format) -> None:
    (tmp_path / "notes").write_bytes(content)
    with pytest.raises(BadSetting, match="no export"), open_output(tmp_path / "notes", form):
        pass
    assert (tmp_path / "notes").read_bytes() == content


@pytest.mark.parametrize(("form", "other"), [FORMATS, FORMATS[::-1]])
async def test_the_other_format_and_a_second_writer_are_refused(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, form: Format, other: Format
) -> None:
    await play(owner)
    await export(ledgers, owner, tmp_path / "books", form)
    with pytest.raises(BadSetting, match="other format"), open_output(tmp_path / "books", other):
        pass
    with (
        open_output(tmp_path / "books", form),
        pytest.raises(BadSetting, match="another export"),
        open_output(tmp_path / "books", form),
    ):
        pass


async def test_another_stores_export_is_never_cut(
    ledgers: Ledgers, owner: Owner, tmp_path: Path, ledger: Ledger
) -> None:
    """The same table and consumer in a store that was begun anew: its position is 0 again."""
    await play(owner)
    await export(ledgers, owner, tmp_path / "books")
    kept = (tmp_path / "books").read_bytes()
    await ledger.raw.flushall()
    await owner.tables.create(owner.table, owner.rules, "inc", "run")
    other = await Owner.of(owner.tables, ledger, owner.table)
    await other.seat("ann", 500)
    await play(other)
    await export(ledgers, other, tmp_path / "books")
    assert (tmp_path / "books").read_bytes().startswith(kept)
    (tmp_path / "torn").write_bytes(kept[: len(kept) // 2])
    await ledger.raw.hset(f"{other.key}:consumers", "books", "0")
    with pytest.raises(BadSetting, match="another store"):
        await export(ledgers, other, tmp_path / "torn")
