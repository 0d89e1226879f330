"""`punto-server wallet` beside a house in play and on a data directory at rest: once for each operation id."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

from client_sdk.protocol.messages import AMOUNT_MAX
from server.cli import main
from tests.support.node_process import NodeProcess, own_node
from tests.support.operator import Ended, punto_server

PLAY_MONEY = 1_000_000
TABLE = "royal-1"


async def wallet(node: NodeProcess, verb: str, patron: str, *words: str | int) -> Ended:
    return await punto_server("wallet", verb, "--data", node.data, "--patron", patron, "--json", *words)


async def test_credits_and_debits_beside_a_house_in_play(arrive, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data") as node:
        ann = await arrive(node.url, "Ann")
        await ann.join(TABLE, 400_000)
        credited = await wallet(node, "credit", ann.patron, "--amount", 5_000, "--operation", "gift-1")
        assert credited.code == 0
        told = {name: value for name, value in credited.told.items() if name != "at_ms"}
        assert told == {
            "patron": ann.patron,
            "operation": "gift-1",
            "amount": 5_000,
            "balance": 605_000,
            "is_new": True,
        }
        again, other = await asyncio.gather(
            wallet(node, "credit", ann.patron, "--amount", 5_000, "--operation", "gift-1"),
            wallet(node, "credit", ann.patron, "--amount", 5_001, "--operation", "gift-1"),
        )
        assert again.told == credited.told | {"is_new": False}
        assert (other.code, other.told["refused"]) == (1, "OPERATION_REUSED")
        more, too_much, ghost = await asyncio.gather(
            wallet(node, "debit", ann.patron, "--amount", 605_000, "--operation", "out-1"),
            wallet(node, "debit", ann.patron, "--amount", 605_001, "--operation", "out-2"),
            wallet(node, "credit", "nobody", "--amount", 1, "--operation", "gift-1"),
        )
        assert (more.code, more.told["balance"]) == (0, 0)
        assert (too_much.code, too_much.told["refused"]) == (1, "INSUFFICIENT_WALLET")
        assert (ghost.code, ghost.told["refused"]) == (1, "UNKNOWN_PATRON")
        assert "no such patron" in ghost.err
        shown = await wallet(node, "show", ann.patron)
        assert shown.told == {
            "patron": ann.patron,
            "name": "Ann",
            "bot": False,
            "balance": 0,
            "put_in": PLAY_MONEY + 5_000,
            "taken_out": 605_000,
            "at_tables": {TABLE: 400_000},
            "under_way": {},
        }
        assert (await ann.call("leave", table=TABLE))["wallet"] == 400_000
        ann.joined.clear()
        back = await arrive(node.url, token=ann.token)
        assert back.wallet == 400_000
        audit = await punto_server("audit", "--data", node.data, "--json")
        assert (audit.code, audit.told["put_in"], audit.told["taken_out"]) == (0, PLAY_MONEY + 5_000, 605_000)
        plain = await punto_server("wallet", "show", "--data", node.data, "--patron", ann.patron)
        assert "taken out" in plain.out
    at_rest = await punto_server(
        *("wallet", "credit", "--data", tmp_path / "data", "--patron", ann.patron),
        *("--amount", 7, "--operation", "gift-2"),
    )
    assert (at_rest.code, at_rest.out) == (0, f"credited 7: {ann.patron} has 400,007\n")
    audit = await punto_server("audit", "--data", tmp_path / "data", "--json")
    assert (audit.code, audit.told["wallets"]) == (0, 400_007)


async def test_a_command_that_is_killed_and_run_again_pays_once(arrive, tmp_path: Path) -> None:
    """kill -9 at any moment of its life: before it was sent, between the write and the answer, after it."""
    chance = random.Random(147)
    async with own_node(tmp_path / "data") as node:
        ann = await arrive(node.url, "Ann")

        async def credit(number: int) -> None:
            whose = ("wallet", "credit", "--data", node.data, "--patron", ann.patron)
            words = (*whose, "--amount", 1_000, "--operation", f"gift-{number}")
            killed = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server.cli", *map(str, words)), stdout=asyncio.subprocess.DEVNULL
            )
            await asyncio.sleep(chance.uniform(0.15, 0.5))  # the moment is the very thing that is tried
            if killed.returncode is None:
                killed.kill()
            await killed.wait()
            again = await punto_server(*words)
            assert again.code == 0
            assert (await punto_server(*words)).out.endswith("(done before under this operation id)\n")

        for pair in range(3):
            await asyncio.gather(credit(2 * pair), credit(2 * pair + 1))
        assert (await wallet(node, "show", ann.patron)).told["balance"] == PLAY_MONEY + 6_000
        assert (await punto_server("audit", "--data", node.data)).code == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("wallet", "verb"),
        ("wallet give --patron p", "give"),
        ("wallet credit --patron p --amount 5", "--operation"),
        ("wallet credit --patron p --operation o", "--amount"),
        ("wallet credit --amount 5 --operation o", "--patron"),
        ("wallet credit --patron p --amount 0 --operation o", "--amount"),
        ("wallet credit --patron p --amount -5 --operation o", "--amount"),
        ("wallet credit --patron p --amount 1.5 --operation o", "--amount"),
        ("wallet credit --patron p --amount 1e3 --operation o", "--amount"),
        ("wallet credit --patron p --amount ٣ --operation o", "--amount"),
        (f"wallet debit --patron p --amount {AMOUNT_MAX + 1} --operation o", "--amount"),
        (f"wallet credit --patron p --amount 5 --operation {'x' * 65}", "--operation"),
        ("wallet credit --patron p --amount 5 --operation ö", "--operation"),
        (f"wallet show --patron {'x' * 129}", "--patron"),
        ("wallet show --patron p --amount 5", "--amount"),
        ("wallet show --patron p --data /nowhere", "--data"),
        ("wallet show --patron p --store nonsense", "--store"),
        ("wallet show --patron p --data a --store b", "--store"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(capfd: pytest.CaptureFixture[str], words: str, named: str) -> None:
    assert main(words.split()) == 2
    err = capfd.readouterr().err
    assert named in err
    assert err.count("\n") == 1
