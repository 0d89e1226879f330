"""`punto-server ledger export|check|forget` beside a house in play, killed at random: nothing lost, nothing doubled."""

import asyncio
import random
import re
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from server.cli import main
from server.ledger.rows import read_rows
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import RawClient

TABLES = ("royal-1", "red-lounge-1")
BRISK = {"betting_ms": 200, "card_ms": 5, "result_ms": 20}
KILLS = 6
COMMAND_TIMEOUT_S = 20


class Ended(NamedTuple):
    code: int | None
    out: str
    err: str


async def start(*words: str | Path) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", "ledger", *map(str, words)), stdout=pipe, stderr=pipe
    )


async def ledger(*words: str | Path) -> Ended:
    process = await start(*words)
    out, err = await asyncio.wait_for(process.communicate(), COMMAND_TIMEOUT_S)
    assert b"Traceback" not in err, err.decode()
    return Ended(process.returncode, out.decode(), err.decode())


async def export(node: NodeProcess, path: Path, *words: str, consumer: str = "books") -> Ended:
    return await ledger("export", "--data", node.data, "--consumer", consumer, "--output", path, *words)


class Player:
    """Bets in every round of its tables until it is told to leave."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._is_over = False
        self._tasks = [asyncio.create_task(self._play(table)) for table in TABLES]

    async def _play(self, table: str) -> None:
        await self.client.join(table, 50_000)
        while not self._is_over:
            number = await self.client.betting(table)
            for spot, chip in (("player", 100), ("tie", 500), ("player", 2_500)):
                await self.client.ask("place", table=table, round=number, spot=spot, chip=chip)
            await self.client.ask("undo", table=table, round=number)

    async def leave(self) -> None:
        """Stop, get up, and wait until the tables are idle."""
        self._is_over = True
        await asyncio.gather(*self._tasks)
        for table in TABLES:
            await self.client.ask("leave", table=table)
            await self.client.until(partial(self.client.seen, "table_idled", table=table))


def entries_in(path: Path, table: str) -> list[tuple[int, str]]:
    with path.open(newline="\n") as file:
        return [
            (int(row["number"]), str(row["entry"]))
            for _, row in read_rows(file)
            if row["table"] == table and "entry" in row
        ]


async def test_exports_that_are_killed_at_random_lose_and_double_nothing(arrive, tmp_path: Path) -> None:
    chance, path = random.Random(4), tmp_path / "books"
    async with own_node(tmp_path / "data", **BRISK) as node, Driver(f"unix://{node.data / 'valkey.sock'}") as driver:
        player = Player(await arrive(node.url, "Player"))
        began = asyncio.get_running_loop().time()
        assert (await export(node, path, "--all")).code == 0
        took = asyncio.get_running_loop().time() - began
        ended = 0
        for _ in range(KILLS):
            process = await start(*("export", "--data", node.data, "--consumer", "books", "--output", path, "--all"))
            await asyncio.sleep(took * chance.uniform(0.5, 1.1))
            with suppress(ProcessLookupError):
                process.kill()
            ended += await process.wait() == 0
        await player.leave()
        assert (await export(node, path, "--all")).code == 0
        checked = await ledger("check", path)
        assert (checked.code, checked.out.splitlines()[-1]) == (0, "whole"), checked.out
        for table in TABLES:
            marks = await Ledgers(driver).marks(table)
            numbers = [number for number, _ in entries_in(path, table)]
            assert numbers == list(range(1, marks.seal.sealed_to + 1))
            assert await Ledgers(driver).consumers(table) == {"books": marks.seal.sealed_to}
        assert ended < KILLS, "some run was killed"


async def test_an_export_carries_the_seals_that_seats_hold(arrive, tmp_path: Path) -> None:
    path = tmp_path / "books.jsonl"
    async with own_node(tmp_path / "data", **BRISK) as node:
        player = Player(await arrive(node.url, "Player"))
        await player.client.until(lambda: player.client.seen("round_settled", table="royal-1", round=3), 20)
        await player.leave()
        ended = await export(node, path, "--table", "royal-1")
        assert ended.code == 0
        told = re.fullmatch(r"royal-1: entries 1 to (\d+), seal (\w{64})\n", ended.err)
        assert told is not None, ended.err
        settled = player.client.seen("round_settled", table="royal-1")
        idled = player.client.seen("table_idled", table="royal-1")[-1]
        assert (idled["sealed_to"], idled["seal"]) == (int(told[1]), told[2])
        seals = [word for event in [*settled, idled] for word in ("--seal", event["seal"])]
        checked = await ledger("check", path, *seals)
        assert (checked.code, checked.out.splitlines()[-1]) == (0, "whole"), checked.out
        missing = await ledger("check", path, "--seal", "ab" * 32)
        assert (missing.code, "no entries make the seal" in missing.out) == (1, True)
        edited = path.read_text().replace('"amount":-500', '"amount":-501', 1)
        path.write_text(edited)
        assert (await ledger("check", path)).code == 1
        again = await export(node, tmp_path / "more", "--table", "royal-1")
        assert (again.code, again.err) == (0, "royal-1: nothing new\n")


async def test_an_export_to_a_pipe_and_a_consumer_that_is_forgotten(arrive, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", **BRISK) as node:
        player = Player(await arrive(node.url, "Player"))
        await player.client.until(lambda: player.client.seen("round_settled", table="royal-1", round=2), 20)
        words = ("--data", node.data, "--consumer", "pipe")
        piped = await ledger("export", *words, "--table", "royal-1", "--format", "csv")
        (tmp_path / "piped").write_text(piped.out)
        checked = await ledger("check", tmp_path / "piped")
        assert (checked.code, checked.out.startswith("royal-1: entries 1 to ")) == (0, True), checked.out
        gone = await ledger("forget", *words, "--all")
        assert "royal-1: forgotten" in gone.err
        assert "stand-off-1: was not known" in gone.err
        await player.leave()


async def test_the_owner_trims_behind_every_consumer(arrive, tmp_path: Path) -> None:
    path = tmp_path / "books.jsonl"
    async with own_node(tmp_path / "data", **BRISK) as node, Driver(f"unix://{node.data / 'valkey.sock'}") as driver:
        ledgers = Ledgers(driver)
        player = Player(await arrive(node.url, "Player"))
        async with asyncio.timeout(30):
            while (await ledgers.marks("royal-1")).seal.sealed_to < 150:
                await asyncio.sleep(0.05)
            assert (await export(node, path, "--all")).code == 0
            while (first := await first_kept(ledgers, "royal-1")) == 1:
                await asyncio.sleep(0.05)
        assert first <= (await ledgers.consumers("royal-1"))["books"] + 1
        await player.leave()
        assert (await export(node, path, "--all")).code == 0
        assert (await ledger("check", path)).code == 0
    audited = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", "audit", "--data", str(tmp_path / "data")),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(audited.communicate(), COMMAND_TIMEOUT_S)
    assert audited.returncode == 0, out.decode()


async def first_kept(ledgers: Ledgers, table: str) -> int:
    async for number, _ in ledgers.entries_after(table, 0):
        return number
    raise AssertionError("no entries")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "--consumer", "c"], "one of the arguments --table --all is required"),
        (["export", "--table", "t"], "--consumer"),
        (["export", "--table", "t", "--consumer", "two words"], "1 to 64 visible ASCII characters"),
        (["export", "--table", "t", "--consumer", "c", "--format", "xml"], "--format"),
        (["export", "--table", "t", "--consumer", "c", "--data", "nowhere"], "no such directory"),
        (["check"], "FILE"),
        (["check", "nowhere"], "nowhere"),
        ([], "verb"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("punto-server: ")
    assert err.count("\n") == 1
    assert said in err


async def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    async with own_node(tmp_path / "data", **BRISK) as node:
        ended = await export(node, tmp_path / "books", "--table", "nowhere")
        assert (ended.code, "UNKNOWN_TABLE" in ended.err) == (2, True)
        assert not (tmp_path / "books").read_bytes()
