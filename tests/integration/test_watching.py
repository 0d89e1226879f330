"""What a house in play tells whoever watches it: metrics of what happened, health that is true, logs to parse."""

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import RawClient
from tests.support.valkey_server import free_port, until

TABLE = "royal-1"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def get(port: int, path: str) -> tuple[int, str]:
    """Status and text of a page of the admin address."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def page(port: int, path: str) -> tuple[int, str]:
    return await asyncio.to_thread(get, port, path)


async def scrape(port: int) -> Samples:
    """Every sample, as Prometheus would read it."""
    status, text = await page(port, "/metrics")
    assert status == 200
    families = text_string_to_metric_families(text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples with these labels among theirs."""
    return sum(v for (n, ls), v in samples.items() if n == name and set(labels.items()) <= ls)


async def play_a_round(client: RawClient) -> None:
    await client.join(TABLE, 10_000)
    number = await client.betting(TABLE)
    await client.place(TABLE, "player", 500)
    await client.ask("place", table=TABLE, round=number, spot="player", chip=7)
    await client.next("round_settled", table=TABLE, round=number)


async def test_a_node_counts_what_happens_and_tells_how_it_is(
    arrive: Callable[..., Awaitable[RawClient]], tmp_path: Path
) -> None:
    admin = free_port()
    async with own_node(
        tmp_path / "data", admin=f"127.0.0.1:{admin}", log_format="json", log_level="info", store_ms=1_000
    ) as node:
        ann = await arrive(node.url, "Ann")
        await play_a_round(ann)
        await until(lambda: _connections(admin, 1), "the gauges were read")
        samples = await scrape(admin)
        assert value(samples, "punto_acts_total", kind="place", code="ok") == 1
        assert value(samples, "punto_acts_total", kind="place", code="CHIP_UNKNOWN") == 1
        assert value(samples, "punto_requests_total", kind="join", code="ok") == 1
        assert value(samples, "punto_rounds_total", ended="decided") >= 1
        assert value(samples, "punto_event_lag_seconds_count") >= 8
        assert value(samples, "punto_event_lag_seconds_sum") < 10
        assert value(samples, "punto_store_seconds_count", verb="settle") >= 1
        assert value(samples, "punto_store_up") == value(samples, "punto_live_nodes") == 1
        assert value(samples, "punto_leases") == 5
        assert value(samples, "punto_claims_total", how="given") == 5
        assert abs(value(samples, "punto_clock_offset_seconds")) < 1  # one machine, one clock
        assert value(samples, "process_cpu_seconds_total") > 0
        assert (await page(admin, "/healthz"), await page(admin, "/readyz")) == ((200, "ok\n"), (200, "ready\n"))
        assert (await page(admin, "/nowhere"))[0] == 404

        (store,) = [pid for pid in _descendants(node.pid) if "valkey" in Path(f"/proc/{pid}/cmdline").read_text()]
        os.kill(store, signal.SIGSTOP)
        try:
            away = (503, "not ready: the store takes no sign of life\n")
            await until(lambda: _says(admin, "/readyz", away), "it is told that the store is away")
            assert await page(admin, "/healthz") == (200, "ok\n")  # starting it again would help nothing
            assert (await page(node.port, "/readyz"))[0] == 503  # where a proxy asks
        finally:
            os.kill(store, signal.SIGCONT)
        await until(lambda: _says(admin, "/readyz", (200, "ready\n")), "it is ready again")
    records = [json.loads(line) for line in node.output if line.startswith("{")]
    assert {"serving", "table_claimed", "draining"} <= {record["event"] for record in records}
    for record in records:
        assert record.keys() >= {"at", "level", "logger", "event"}
        assert " " not in record["event"]
    assert "token" not in "".join(node.output)


async def _connections(admin: int, count: int) -> bool:
    return value(await scrape(admin), "punto_connections") == count


async def _says(admin: int, path: str, answer: tuple[int, str]) -> bool:
    return await page(admin, path) == answer


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *_descendants(child)]
    return found


async def test_workers_are_added_up(arrive: Callable[..., Awaitable[RawClient]], tmp_path: Path) -> None:
    """Also over the death of one: what it counted stays, what it was is forgotten."""
    admin = free_port()
    node = NodeProcess(
        tmp_path / "data",
        port=free_port(),
        flags={"workers": 2, "admin": f"127.0.0.1:{admin}", "betting-ms": 600, "card-ms": 10, "result-ms": 50},
    )
    await asyncio.to_thread(node.start)
    try:
        clients = [await arrive(node.url, f"P{number}") for number in range(4)]
        await until(lambda: _connections(admin, 4), "all connections are told")
        await until(lambda: _leases(admin, 5, taken_over=0), "both deal, all tables")
        samples = await scrape(admin)
        assert value(samples, "punto_requests_total", kind="hello", code="ok") == 4
        assert value(samples, "punto_live_nodes") == 2
        assert await page(admin, "/readyz") == (200, "ready\n")
        await _kill_one_with_tables(node.pid, admin)
        assert value(await scrape(admin), "punto_requests_total", kind="hello", code="ok") >= 4
        assert value(await scrape(admin), "punto_connections") <= len(clients)
    finally:
        await asyncio.to_thread(node.stop)


async def _kill_one_with_tables(pid: int, admin: int) -> None:
    """Kill a worker, and wait until the other one and the one started again deal all tables. Once in 32 times chance
    has given it no table: then the other one has them all."""
    workers = [
        each for each in _descendants(pid) if b"punto-server: worker" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
        with suppress(AssertionError):
            await until(lambda: _leases(admin, 5, taken_over=1), "its tables are dealt by others", timeout_s=10)
            return
    raise AssertionError("no death of a worker was noticed")


async def _leases(admin: int, count: int, taken_over: int) -> bool:
    samples = await scrape(admin)
    counted = value(samples, "punto_claims_total", how="taken_over") if taken_over else 0
    return value(samples, "punto_leases") == count and counted >= taken_over


async def test_the_audit_is_watched_from_a_process_of_its_own(
    arrive: Callable[..., Awaitable[RawClient]], tmp_path: Path
) -> None:
    admin = free_port()
    async with own_node(tmp_path / "data") as node:
        ann = await arrive(node.url, "Ann")
        await play_a_round(ann)
        auditor = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server.cli", "audit", "--data", str(node.data)),
            *("--every", "1", "--admin", f"127.0.0.1:{admin}"),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            await until(lambda: _says(admin, "/readyz", (200, "ready\n")), "an audit was finished")
            samples = await scrape(admin)
            assert value(samples, "punto_audit_differences") == value(samples, "punto_audit_difference") == 0
            assert value(samples, "punto_audit_at_seconds") > 1_700_000_000
        finally:
            auditor.terminate()
            _, err = await asyncio.wait_for(auditor.communicate(), 30)
        assert auditor.returncode == 0
        assert b"audited" in err
