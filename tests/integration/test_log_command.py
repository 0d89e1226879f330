"""`punto-server log`: every act of an operator is a line, with when, on what, by whom and why; nothing else is one."""

import json
from pathlib import Path
from typing import Any

from tests.support.node_process import own_node
from tests.support.operator import Ended, punto_server_here

TABLE = "royal-1"


async def test_every_operator_act_is_in_one_log(arrive, tmp_path: Path) -> None:
    async with own_node(tmp_path / "data") as node:
        ann = await arrive(node.url, "Ann")
        await ann.close()

        async def command(*words: str, code: int = 0) -> Ended:
            ended = await punto_server_here(*words, "--data", node.data)
            assert ended.code == code, ended
            return ended

        async def log(*words: str) -> list[dict[str, Any]]:
            acts = [json.loads(line) for line in (await command("log", *words, "--json")).out.splitlines()]
            assert all(act.pop("at_ms") > 10**12 for act in acts)
            return acts

        who = ("--by", "Olga", "--reason", "asked for")
        wallet = ("wallet", "credit", "--patron", ann.patron, "--amount", "500", "--operation", "o1")
        await command(*wallet, *who)
        await command(*wallet, *who)  # done before: no second act
        await command(
            "wallet", "debit", "--patron", ann.patron, "--amount", "9999999", "--operation", "o2", *who, code=1
        )
        await command("limits", "set", "--patron", ann.patron, "--stake-per-day", "700", *who)
        await command("limits", "set", "--patron", "nobody", "--stake-per-day", "700", *who, code=1)
        await command("token", "revoke", "--patron", ann.patron, *who)
        await command("token", "revoke", "--token-id", "t1", "--by", "Olga")
        await command("ledger", "forget", "--consumer", "books", "--table", TABLE, *who)  # was not known: nothing done
        await command("ledger", "export", "--consumer", "books", "--table", TABLE, "--output", str(tmp_path / "books"))
        await command("ledger", "forget", "--consumer", "books", "--table", TABLE, *who)
        await command("tables", "pause", "--all", "--now", *who)

        on_ann = [
            ("credited", "500, operation o1", "asked for"),
            ("limits", "stake=700", "asked for"),
        ]
        on_tokens = [("revoke", f"all of patron {ann.patron}", "asked for"), ("revoke", "token t1", "")]
        on_table = [("forget", "consumer books", "asked for"), ("pause", "now", "asked for")]
        for flags, subject, wanted in (
            (("--patron", ann.patron), f"patron {ann.patron}", on_ann),
            (("--tokens",), "tokens", on_tokens),
            (("--table", TABLE), f"table {TABLE}", on_table),
        ):
            acts = await log(*flags)
            assert [(act["verb"], act["details"], act["reason"]) for act in acts] == wanted
            assert {(act["subject"], act["by"]) for act in acts} == {(subject, "Olga")}
        whole = await log()
        assert [act["verb"] for act in whole] == ["credited", "limits", "revoke", "revoke", "forget", *["pause"] * 5]
        assert "no such table: nowhere" in (await command("log", "--table", "nowhere", code=2)).err
        assert "no such patron: nobody" in (await command("log", "--patron", "nobody", code=2)).err
        lines = (await command("log")).out.splitlines()
        assert lines == sorted(lines)
        assert lines[0].split(" ", 1)[1] == f"patron {ann.patron}: credited (500, operation o1) by Olga: asked for"
