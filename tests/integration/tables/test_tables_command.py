"""`punto-server tables` beside a house in play: paused, resumed, drained, closed, opened, with other limits; each act
in the log, and the money where it belongs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.node_process import NodeProcess, own_node
from tests.support.operator import Ended, punto_server_here
from tests.support.raw_client import RawClient

BUY_IN = 10_000
TABLE = "royal-1"


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeProcess]:
    async with own_node(tmp_path / "data", betting_ms=800, card_ms=10, result_ms=50) as running:
        yield running
        audit = await punto_server_here("audit", "--data", running.data)
        assert (audit.code, "balanced" in audit.out) == (0, True), audit


async def tables(node: NodeProcess, verb: str, *words: str | int) -> Ended:
    return await punto_server_here("tables", verb, "--data", node.data, *words)


async def done(node: NodeProcess, verb: str, *words: str | int) -> str:
    ended = await tables(node, verb, *words, "--by", "Olga")
    assert (ended.code, ended.err) == (0, "")
    return ended.out.rstrip("\n")


async def refused(client: RawClient, verb: str, table: str = TABLE, **fields: object) -> str:
    return str((await client.ask(verb, table=table, **fields))["name"])


async def test_a_table_is_paused_resumed_and_its_round_made_void(arrive, node: NodeProcess) -> None:
    ann = await arrive(node.url, "Ann")
    await ann.join(TABLE, BUY_IN)
    await ann.betting(TABLE)
    assert await done(node, "pause", "--table", TABLE, "--reason", "the lamp fell down") == f"paused: {TABLE}"
    paused = await ann.next("table_paused", table=TABLE)
    assert (paused["reason"], paused["round"]) == ("the lamp fell down", ann.round[TABLE])
    assert ann.seen("round_settled", round=paused["round"])  # the round was played to its end
    assert ann.seen("round_voided") == []
    assert (await ann.call("watch", table=TABLE))["snapshot"]["phase"] == "paused"
    assert await done(node, "pause", "--table", TABLE, "--now") == f"paused: {TABLE}"  # there is nothing to make void
    bob = await arrive(node.url, "Bob")
    await bob.join(TABLE, BUY_IN)  # who sits down waits with the others
    assert (await ann.call("leave", table=TABLE))["wallet"] == 1_000_000  # and who leaves is let go at once
    assert await done(node, "resume", "--table", TABLE) == f"resumed: {TABLE}"
    assert (await bob.next("betting_opened", table=TABLE))["round"] == paused["round"] + 1
    bob.skip()
    number = await bob.betting(TABLE)
    await bob.place(TABLE, "player", 500)

    killed = await done(node, "pause", "--all", "--now", "--reason", "stop")  # the kill switch
    lines = killed.splitlines()
    assert len(lines) == 5
    assert {line.split(":")[0] for line in lines} == {"paused"}
    if f"{TABLE}; round {number} is void" in killed:  # else it was decided when the switch was thrown
        assert (await bob.next("round_voided", round=number))["reason"] == "operator: stop"
        assert (await bob.next("results", round=number))["stack"] == BUY_IN
    await bob.next("table_paused", table=TABLE)
    assert len((await done(node, "resume", "--all")).splitlines()) == 5
    await bob.next("betting_opened", table=TABLE)
    log = (await punto_server_here("log", "--data", node.data, "--table", TABLE)).out.splitlines()
    told = [line.split(": ", 1)[1] for line in log]
    assert told == [
        "pause by Olga: the lamp fell down",
        "pause (now) by Olga",
        "resume by Olga",
        "pause (now) by Olga: stop",
        "resume by Olga",
    ]
    assert sorted(log) == log


async def test_limits_change_at_the_next_round_and_stay_over_a_takeover(arrive, node: NodeProcess) -> None:
    ann = await arrive(node.url, "Ann")
    await ann.join(TABLE, BUY_IN)
    number = await ann.betting(TABLE)
    told = await done(node, "limits", "--table", TABLE, "--maximum", 700, "--chips", "100,700", "--betting-ms", 300)
    assert told == f"changed: {TABLE}, from its next round on: maximum=700 chips=100,700 betting_ms=300"
    changed = await ann.next("rules_changed", table=TABLE)
    assert changed["rules"]["maximums"] == {"player": 700, "banker": 700, "tie": 10_000}
    assert (changed["rules"]["chips"], changed["rules"]["betting_ms"]) == ([100, 700], 300)
    assert ann.seen("betting_closed", round=number)
    for words in (("--maximum", 99), ("--chips", "7"), ()):
        bad = await tables(node, "limits", "--table", TABLE, *words)
        assert bad.code == 2
    await asyncio.to_thread(node.stop)
    await asyncio.to_thread(node.start)
    again = await arrive(node.url, token=ann.token)
    view = (await again.call("watch", table=TABLE))["snapshot"]
    assert view["rules"]["chips"] == [100, 700]
    await again.join(TABLE)
    await again.next("betting_opened", table=TABLE)
    assert again.seen("rules_changed") == []  # the house's own settings do not come through
    await done(node, "limits", "--table", TABLE, "--house")
    assert (await again.next("rules_changed", table=TABLE))["rules"]["maximums"]["player"] == 50_000


async def test_a_table_is_drained_closed_and_opened_again(arrive, node: NodeProcess) -> None:
    ann, bob = await arrive(node.url, "Ann"), await arrive(node.url, "Bob")
    await ann.join(TABLE, BUY_IN)
    await ann.betting(TABLE)
    assert await done(node, "drain", "--table", TABLE) == f"draining: {TABLE}"
    assert await refused(bob, "join", buy_in=BUY_IN) == "TABLE_CLOSED"
    assert (await bob.call("watch", table=TABLE))["you"] is None
    await ann.call("join", table=TABLE, buy_in=100)  # who sits there may buy more chips, and plays on
    await ann.next("betting_opened", table=TABLE)
    ann.skip()
    await ann.leave_everywhere()
    for event in ("table_idled", "shoe_ended", "table_closed"):
        await bob.next(event, table=TABLE)
    assert bob.seen("shoe_ended")[-1]["reason"] == "closed"
    assert await refused(bob, "join", buy_in=BUY_IN) == "TABLE_CLOSED"
    for verb in ("pause", "close", "drain"):
        closed = await tables(node, verb, "--table", TABLE)
        assert (closed.code, closed.err) == (1, f"punto-server: refused: {TABLE} is closed\n")

    assert await done(node, "open", "--table", TABLE) == f"opened: {TABLE}"
    await bob.next("table_resumed", table=TABLE)
    await bob.join(TABLE, BUY_IN)
    number = await bob.betting(TABLE)
    await bob.place(TABLE, "player", 500)
    assert await done(node, "close", "--table", TABLE) == f"closed: {TABLE}"
    freed = await bob.next("seat_freed", table=TABLE)
    results = bob.seen("results", round=number)[0]  # the bet played out first
    assert (freed["reason"], freed["wallet"]) == ("closed", 1_000_000 - BUY_IN + bob.seen("results")[-1]["stack"])
    assert results["bets"].keys() == {"player"}
    listed = (await tables(node, "list")).out.splitlines()
    (closed_line,) = [line for line in listed if line.startswith(f"{TABLE}: royal, closed, round ")]
    assert closed_line.endswith("wanted: closed")
    again = await tables(node, "open", "--table", "stand-off-1")
    assert (again.code, again.err) == (1, "punto-server: refused: stand-off-1 is open already\n")


async def test_a_new_table_is_opened(arrive, node: NodeProcess) -> None:
    words = ("--variant", "royal", "--minimum", 1_000, "--chips", "1000", "--betting-ms", 300, "--card-ms", 10)
    missing = await tables(node, "open", "--table", "high-1", "--minimum", 1_000)
    assert (missing.code, "--variant: " in missing.err) == (2, True)
    impossible = await tables(node, "open", "--table", "high-1", "--variant", "royal", "--minimum", 60_000)
    assert (impossible.code, "--minimum: " in impossible.err) == (2, True)
    assert await done(node, "open", "--table", "high-1", *words) == "opened: high-1"
    ann = await arrive(node.url, "Ann")
    assert "high-1" in {table["table"] for table in (await ann.call("list_tables"))["tables"]}
    await ann.join("high-1", BUY_IN)
    number = await ann.betting("high-1")
    await ann.place("high-1", "player", 1_000)
    await ann.next("results", table="high-1", round=number)
    nowhere = await tables(node, "pause", "--table", "nowhere")
    assert (nowhere.code, nowhere.err) == (2, "punto-server: --table: no such table: nowhere\n")
