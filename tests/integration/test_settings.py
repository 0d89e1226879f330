"""Settings in an operator's hands, on real processes: each kind of mistake is one line and exit 2, and the nodes of one
store agree."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.support.node_process import NodeProcess, own_node
from tests.support.stores import SingleStore, running_store
from tests.support.valkey_server import KEPT

PASSWORD = "geheimes-wort"


async def punto_server(*words: str, variables: Mapping[str, str] = {}) -> tuple[int | None, str, str]:
    """Run a command to its end: exit code, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", *words),
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 40)
    return process.returncode, out.decode(), err.decode()


async def refused(*words: str, variables: Mapping[str, str] = {}) -> str:
    """What `serve` says where it does not start."""
    code, out, err = await punto_server("serve", *words, variables=variables)
    assert (code, out) == (2, ""), err
    assert err.startswith("punto-server: ")
    assert err.count("\n") == 1, err
    assert PASSWORD not in err
    return err.removeprefix("punto-server: ").rstrip("\n")


async def test_a_node_runs_by_its_file(tmp_path: Path) -> None:
    config = tmp_path / "punto.toml"
    config.write_text(f'open = true\nlisten = "127.0.0.1:0"\ndata = "{tmp_path}/data"\ncard_ms = 7\n')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.cli", "serve", "--config", str(config)), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert b"Punto is open at ws://127.0.0.1:" in await asyncio.wait_for(process.stdout.readline(), 30)
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_a_bad_file_and_a_misspelt_key_are_told(tmp_path: Path) -> None:
    bad, misspelt = tmp_path / "bad.toml", tmp_path / "misspelt.toml"
    bad.write_text("open = true\ncard_ms = [")
    misspelt.write_text("open = true\nbeting_ms = 1000")
    told = await asyncio.gather(
        refused("--config", str(bad)),
        refused("--config", str(misspelt)),
        refused("--open", variables={"PUNTO_BETING_MS": "1000"}),
        refused("--open", "--beting-ms", "1000"),
    )
    assert told[0].startswith(f"{bad}: not TOML: ")
    assert list(told[1:]) == [
        f"{misspelt}: beting_ms: no such setting; did you mean betting_ms?",
        "PUNTO_BETING_MS: no such variable; did you mean PUNTO_BETTING_MS?",
        "unrecognized arguments: --beting-ms 1000; did you mean --betting-ms?",
    ]


# --- nodes of one store -----------------------------------------------------------------------------------------------


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[tuple[NodeProcess, str]]:
    """A node, and the URL of the store that it shares."""
    async with (
        running_store(SingleStore(tmp_path / "store")) as store,
        own_node(tmp_path / "node", store=store.url, currency="EUR") as node,
    ):
        yield node, store.url


async def test_nodes_of_one_store_agree(house: tuple[NodeProcess, str], tmp_path: Path) -> None:
    first, store = house
    flags = ("--open", "--listen", "127.0.0.1:0", "--store", store, f"--seal-key={first.data / 'seal.key'}")
    same = [f"--{name}={value}" for name, value in first.flags.items() if name != "store"]
    currency, pace = await asyncio.gather(
        refused(*flags, *(flag for flag in same if "currency" not in flag)), refused(*flags, *same, "--card-ms", "21")
    )
    assert currency == 'currency is "PTO", but this store was opened with "EUR"'
    assert pace.startswith("card_ms is 21, but node n")
    assert pace.endswith(" runs by 20 (--accept-other-settings runs beside it)")
    other = NodeProcess(tmp_path / "other", flags={**first.flags, "card-ms": 21})
    first.kill()  # what a dead node went by is waited out
    await asyncio.to_thread(other.start)
    assert await asyncio.to_thread(other.stop) == 0


# --- a store that could lose money, or that is not there --------------------------------------------------------------


async def test_an_unsafe_or_unreachable_store_is_told_without_its_password(tmp_path: Path) -> None:
    unsafe = SingleStore(tmp_path / "unsafe", {**KEPT, "appendonly": "no", "maxmemory-policy": "allkeys-lru"})
    async with running_store(unsafe) as store:
        open_ = ("--open", "--listen", "127.0.0.1:0")
        away = {"PUNTO_STORE": f"redis://:{PASSWORD}@127.0.0.1:1"}
        told = await asyncio.gather(
            refused(*open_, "--store", store.url),
            refused(*open_, variables=away),
            refused(*open_, variables={"PUNTO_STORE": f"redis://user:{PASSWORD}"}),
            refused(*open_, variables={"PUNTO_STORE": f"redis+cluster://{PASSWORD}:x"}),
        )
    assert "maxmemory-policy is allkeys-lru" in told[0]
    assert "appendonly is not yes" in told[0]
    assert "127.0.0.1:1" in told[1]
    assert told[2].startswith("--store: ")
    assert told[3].startswith("--store: ")
    code, out, _ = await punto_server("settings", "--open", variables=away)
    assert code == 0
    assert PASSWORD not in out
