"""Pages: what reads much from the store is read a few at a time, and nobody waits for its turn for ever."""

import asyncio
import os
import signal
from pathlib import Path

from server.lobby import FRESH_MS, KNOWN_MAX
from server.pages import AT_ONCE, READERS, WAIT_MS_MAX
from tests.support.node_process import own_node
from tests.support.raw_client import TABLES

ASKERS = 5 * AT_ONCE
STORE_MS = 1_000


async def test_while_the_store_stands_still_nobody_waits_long(arrive, tmp_path: Path) -> None:
    """BL-102, BL-103: those at whose turn the store does not answer are told so, the others to come again; when the
    store goes on all have their pages."""
    async with own_node(tmp_path / "data", store_ms=STORE_MS) as node:
        askers = [await arrive(node.url, f"Asker {number}") for number in range(ASKERS)]
        asked = [(client, kind) for client in askers for kind in ("history", "statement", "list_tables")]
        (store,) = node.children()
        os.kill(store, signal.SIGSTOP)
        try:
            async with asyncio.timeout(3 * (WAIT_MS_MAX + 2 * STORE_MS) / 1000 + 10):
                answers = await asyncio.gather(*(client.ask(kind) for client, kind in asked))
        finally:
            os.kill(store, signal.SIGCONT)
        assert {(answer["name"], answer["retry"]) for answer in answers} == {("STORE_AWAY", True), ("BUSY", True)}
        async with asyncio.timeout(30):
            while (await askers[0].ask("history"))["type"] == "error":
                await asyncio.sleep(0.1)
            for client, kind in asked:
                while (answer := await client.ask(kind))["type"] == "error":
                    assert answer["name"] in ("STORE_AWAY", "BUSY")
                    await asyncio.sleep(0.1)


def test_every_page_has_one_reader() -> None:
    assert {kind.__name__ for kind in READERS} == {
        *("ListTables", "ListCuts", "RecallShoe", "Statement", "History", "Rounds")
    }


async def test_the_lobby_is_read_once_for_all_who_ask_in_a_moment(arrive, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data") as node:
        looker = await arrive(node.url, "Looker")
        pages = await asyncio.gather(*(looker.ask("list_tables") for _ in range(20)))
        assert [[row["table"] for row in page["tables"]] for page in pages] == [sorted(TABLES)] * 20
        await looker.join("royal-1", 1_000)
        await asyncio.sleep(FRESH_MS / 1000)
        (royal,) = [row for row in (await looker.call("list_tables"))["tables"] if row["table"] == "royal-1"]
        assert royal["seated"] == 1
        after = [f"royal-{number}" for number in range(KNOWN_MAX + 5)]
        tails = [(await looker.call("list_tables", after=name))["tables"] for name in after]
        assert {tuple(row["table"] for row in tail) for tail in tails} == {("royal-1", "stand-off-1"), ("stand-off-1",)}
