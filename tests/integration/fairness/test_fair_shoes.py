"""Shoes over the wire with cuts in them, judged by hashlib and PROTOCOL.md alone; also where nodes die in between."""

import asyncio
import json
from pathlib import Path

from client_sdk import cli
from tests.support.node_process import NodeProcess, own_node
from tests.support.operator import punto_server
from tests.support.plain_fairness import Witness, judge
from tests.support.raw_client import JSON, Message, RawClient

PACE = {"betting_ms": 1_200, "card_ms": 30, "result_ms": 50}


async def put_cut(client: RawClient, table: str, shoe: int, cut: str) -> Message:
    return await client.ask("cut", table=table, shoe=shoe, cut=cut)


async def cuts_of(client: RawClient, table: str, shoe: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    more = True
    while more:
        page = await client.call("list_cuts", table=table, shoe=shoe, after=len(found), limit=2)
        found += [(told["patron"], told["cut"]) for told in page["cuts"]]
        more = page["more"]
    return found


async def open_shoe(client: RawClient, table: str) -> int:
    """The number of the open shoe, in its first betting."""
    view = (await client.call("watch", table=table))["snapshot"]
    if view["phase"] == "betting" and view["shoe"]["first_round"] == view["round"]:
        return int(view["shoe"]["number"])
    client.skip()
    return int((await client.next("shoe_started", table=table))["shoe"])


async def test_a_shoe_for_every_round_with_cuts_in_both_subprotocols(arrive, tmp_path: Path, capsys) -> None:
    """The list is frozen, told in pages and holds each cut at its place; `punto verify` agrees, by wire and by file."""
    table = "red-lounge-1"
    async with own_node(tmp_path / "data", **PACE) as node:
        clients = [
            await arrive(node.url, f"P{n}", subprotocol=JSON) if n % 2 else await arrive(node.url) for n in range(3)
        ]
        for client in clients:
            await client.join(table, 1_000)
        judged = 0
        while judged < 2:
            shoe = await open_shoe(clients[0], table)
            answers = await asyncio.gather(
                *(put_cut(client, table, shoe, bytes([n + 1] * (8 + n)).hex()) for n, client in enumerate(clients))
            )
            await clients[0].next("shoe_ended", table=table, shoe=shoe)
            witness = Witness()
            for event in clients[0].numbered(table):
                witness.take(event)
            told = next(ended for ended in witness.ended if ended["shoe"] == shoe)
            cuts = await cuts_of(clients[1], table, shoe)
            judge(told, cuts)
            for n, (client, answer) in enumerate(zip(clients, answers, strict=True)):
                if answer["type"] == "ok":  # else a slow machine was late, which must be told as such
                    assert cuts[answer["number"] - 1] == (client.patron, bytes([n + 1] * (8 + n)).hex())
                else:
                    assert answer["name"] in ("CUTS_CLOSED", "SHOE_OVER")
            judged += len(cuts) == 3
        file = tmp_path / "shoe.json"
        asked = ["verify", "--url", node.url, "--table", table, "--shoe", str(shoe), "--save", str(file)]
        assert await asyncio.to_thread(cli.main, asked) == 0
        assert f"shoe {shoe} of table {table} holds: 1 rounds" in capsys.readouterr().out
        assert cli.main(["verify", str(file)]) == 0
        kept = json.loads(file.read_text())
        assert (kept["commitment"], kept["merkle_root"]) == (told["commitment"], told["root"])
        kept["secret"] = kept["secret"][:-1] + ("0" if kept["secret"][-1] != "0" else "1")
        file.write_text(json.dumps(kept))
        assert cli.main(["verify", str(file)]) == 1


async def test_proofs_go_on_over_a_kill_and_the_shoe_holds_in_the_end(arrive, tmp_path: Path) -> None:
    """kill -9 in the middle of a round and a new start: the same root, the same cards, and one chain of proofs."""
    table, flags = "punto-banco-1", {"betting-ms": 3_000, "card-ms": 150, "result-ms": 50}
    node = NodeProcess(tmp_path / "data", flags={**flags, "log-level": "warning"})
    await asyncio.to_thread(node.start)
    try:
        first: RawClient = await arrive(node.url, "Ann")
        await first.call("watch", table=table)
        await first.join(table, 1_000)
        await first.next("shoe_started", table=table)
        assert (await put_cut(first, table, 1, "ab" * 16))["type"] == "ok"
        await first.next("card_dealt", table=table)
        await asyncio.to_thread(node.kill)
        await first.closed()
        first.joined.clear()
        seen = first.numbered(table)
        await asyncio.to_thread(node.start)
        second: RawClient = await arrive(node.url, token=first.token)
        joined = await second.join(table, 0, incarnation=first.incarnation[table], seq=seen[-1]["seq"])
        assert joined["resumed"] is True
        decided = await second.next("round_decided", table=table, timeout=20)
        number = await second.betting(table, timeout=20)
        ended = await punto_server("tables", "void", "--data", node.data, "--table", table, "--round", number)
        assert ended.code in (0, 1), ended  # 1: a slow machine, and the round was decided before
        if ended.code == 0:
            await second.next("shoe_ended", table=table, shoe=1, timeout=20)
        witness = Witness()
        for event in [*seen, *second.numbered(table)]:
            witness.take(event)
        assert witness.proofs_checked >= 1 + len(decided["proofs"]) >= 5
        for shoe in witness.ended:
            judge(shoe, await cuts_of(second, table, 1))
            assert shoe["reason"] == "operator"
    finally:
        assert await asyncio.to_thread(node.stop) == 0
    assert not [line for line in node.output if "Traceback" in line or "shoe_broken" in line]


async def test_a_node_with_another_key_does_not_start(tmp_path: Path) -> None:
    """One line, exit 2, no key in it; with the right file beside the wrong one it starts again."""
    data = tmp_path / "data"
    async with own_node(data, **PACE):
        pass
    key = data / "seal.key"
    right = key.read_text()
    flags = ("serve", "--open", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warning")
    for content in ("00" * 32 + "\n", None):
        if content is None:
            key.unlink()
        else:
            key.write_text(content)
        refused = await punto_server(*flags)
        assert (refused.code, refused.out) == (2, ""), refused
        assert refused.err.startswith("punto-server: --seal-key: ")
        assert refused.err.count("\n") == 1
        assert right.strip() not in refused.err
        assert "0000000000" not in refused.err
    key.write_text(f"{'00' * 32}\n{right}")
    async with own_node(data, **PACE):
        pass
