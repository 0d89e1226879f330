"""kill -9 of nodes and of the store at random moments, with money on the tables: whatever was acknowledged is there
afterwards, and all of it adds up, each time."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgpack

from server.store import keys
from tests.chaos.evidence import ACTS
from tests.chaos.stage import TABLES, Stage
from tests.chaos.tape import Tape, now_ms
from tests.support.operator import punto_server
from tests.support.valkey_server import run

MOVES_NOTHING: Final = frozenset({"ready", "clear"})
"""Acts whose receipt may stand for no entry: `clear` of an empty layout moves nothing either."""
DOWN_S: Final = (0.05, 1.0)


async def acts_outlive_kills(stage: Stage) -> None:
    """kill -9 of a node, of the store or of both, again and again: every acknowledged act is in its table's ledger."""
    server, receipts, entered = stage.world.single.server, _Receipts(stage.tape), _Entered()
    for _ in range(stage.repeats):
        await stage.some_moment()
        victim, tables = stage.some_owner()
        what = stage.chance.choice(("the store", victim.name, f"the store and {victim.name}"))
        at_ms = now_ms()
        if victim.name in what:
            victim.kill()
        if "the store" in what:
            server.kill()
            await asyncio.sleep(stage.chance.uniform(*DOWN_S))
            await server.start()
            tables = list(TABLES)
        stage.struck(f"kill -9 of {what}", tables, at_ms=at_ms, over_ms=now_ms() if "the store" in what else None)
        acknowledged = receipts.new()
        await entered.read_on(stage)
        lost = [receipt for receipt in acknowledged if receipt not in entered.acts]
        stage.expect(not lost, f"acknowledged, and gone after kill -9 of {what}: {lost[:3]}")
        await stage.until(partial(_audit, stage, what), "the store can be audited")
        stage.notes["acknowledged"] = stage.notes.get("acknowledged", 0) + len(acknowledged)
        if not victim.is_running:
            await victim.begin()
        await stage.calm(at_ms)
    stage.expect(stage.notes["acknowledged"] >= 10 * stage.repeats, "there was hardly any play")
    stage.expect(not stage.heard("round_voided"), "a round was voided though nothing can have been lost")


async def _audit(stage: Stage, what: str) -> bool:
    """Audit in a process of its own: it plays all ledgers again, and patrons of this process go on meanwhile."""
    ended = await punto_server("audit", "--store", stage.world.store.url, "--json")
    if ended.code not in (0, 1):  # a busy machine
        return False
    stage.problems += [f"after kill -9 of {what}: {found}" for found in ended.told["differences"]]
    stage.notes["audits"] = stage.notes.get("audits", 0) + 1
    return True


Accepted = tuple[str, str, str, int, int]
"""Table, patron, request_id, accepted_at_ms, stack after it."""


@dataclass(slots=True)
class _Receipts:
    """Reads receipts off the tape as they come."""

    tape: Tape
    _read: dict[int, int] = field(default_factory=dict)

    def new(self) -> list[Accepted]:
        """Those that came since this was asked last."""
        found: list[Accepted] = []
        for line in self.tape.lines:
            start = self._read.get(line.number, 0)
            words = line.got[start:]
            self._read[line.number] = start + len(words)
            receipts = [word.message for word in words if {"accepted_at_ms", "stack"} <= word.message.keys()]
            if receipts:
                asked = {word.message["request_id"]: word.message for word in line.sent}
                found += [_accepted(_patron_of(line.got), receipt) for receipt in receipts if _moves(asked, receipt)]
        return found


def _patron_of(got: list[Any]) -> str:
    return next(str(word.message["patron"]) for word in got if word.message.get("patron"))


def _moves(asked: dict[str, dict[str, Any]], receipt: dict[str, Any]) -> bool:
    verb = asked[receipt["request_id"]]["type"]
    assert verb in ACTS, "only acts have receipts"
    return verb not in MOVES_NOTHING


def _accepted(patron: str, receipt: dict[str, Any]) -> Accepted:
    return receipt["table"], patron, receipt["request_id"], receipt["accepted_at_ms"], receipt["stack"]


@dataclass(slots=True)
class _Entered:
    """Every act that the tables' ledgers hold, read with a client of its own."""

    acts: set[Accepted] = field(default_factory=set)
    _read_to: dict[str, bytes] = field(default_factory=dict)

    async def read_on(self, stage: Stage) -> None:
        """Read what came since the last time; entries that were read before must still be there."""
        for table in TABLES:
            await stage.until(partial(self._read_table, stage, table), f"the ledger of {table} can be read")

    async def _read_table(self, stage: Stage, table: str) -> bool:
        key = keys.ledger_key(table)
        server = await stage.world.store.primary_of(key)
        async with server.admin() as admin:
            last = self._read_to.get(table)
            stage.expect(
                last is None or await run(admin, "XRANGE", key, last, last), f"{table}: entry {last!r} is gone"
            )
            for entry_id, fields in await run(admin, "XRANGE", key, b"(" + last if last else b"-", b"+"):
                self._read_to[table] = entry_id
                self._enter(table, msgpack.unpackb(fields[b"entry"], raw=True))
        return True

    def _enter(self, table: str, entry: list[Any]) -> None:
        if entry[0] == b"act":
            _, at_ms, patron, request_id, *_, stack = entry
            self.acts.add((table, patron.decode(), request_id.decode(), at_ms, stack))
