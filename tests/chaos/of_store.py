"""The one store under a house in play: killed, stopped, emptied, set back, its lines cut, rubbish on its channels."""

import asyncio
from typing import Final

import msgpack

from server.store import keys
from tests.chaos.stage import TABLES, Stage
from tests.chaos.tape import now_ms
from tests.support.valkey_server import EVERYSEC, KEPT, run

OUTAGE_MS_MIN: Final = 500
LEFT_MS_MIN: Final = 400
"""A table that had so much betting time left when the store stopped must get its time back: an owner that had less may
not have noticed before the deadline."""


async def store_killed(stage: Stage) -> None:
    """kill -9 of a store that writes before it answers: nothing is lost, no round is void."""
    server = stage.world.single.server
    incarnations = await _incarnations(stage)
    for _ in range(stage.repeats):
        await stage.some_moment()
        at_ms = now_ms()
        server.kill()
        await asyncio.sleep(stage.chance.uniform(0.1, 1.5))
        await server.start()
        stage.struck("kill -9 of the store, started again", at_ms=at_ms, over_ms=now_ms())
        await stage.calm()
    stage.expect(not stage.heard("round_voided"), "a round was voided though nothing can have been lost")
    stage.expect(await _incarnations(stage) == incarnations, "an incarnation changed though nothing can have been lost")


async def store_stopped(stage: Stage) -> None:
    """SIGSTOP of the store: tables pause, and get their betting time back; acts are answered late or told "not now"."""
    server = stage.world.single.server
    for number in range(stage.repeats):
        await stage.some_moment()
        await stage.while_betting(LEFT_MS_MIN)
        before = {table: words[-1].message for table, words in stage.tape.firsts.items()}
        at_ms = now_ms()
        server.pause()
        await asyncio.sleep((2.0, 4.5)[number % 2])
        over_ms = now_ms()
        server.go_on()
        stage.struck(f"store stopped for {over_ms - at_ms:.0f} ms", at_ms=at_ms, over_ms=over_ms)
        await stage.calm(over_ms)
        extended = {event["table"]: event for event in reversed(stage.heard("betting_extended", at_ms))}
        for table, event in before.items():
            closes_at_ms = event.get("closes_at_ms", 0)  # only where bets were taken
            if closes_at_ms > at_ms + LEFT_MS_MIN:
                given = extended[table]["closes_at_ms"] - closes_at_ms if table in extended else 0
                stage.expect(
                    given >= over_ms - at_ms - OUTAGE_MS_MIN,
                    f"{table}: {given} ms of betting time came back after {over_ms - at_ms:.0f} ms without a store",
                )
                stage.notes["extended"] = stage.notes.get("extended", 0) + (given > 0)
    stage.expect(not stage.heard("round_voided"), "a round was voided")


async def store_emptied(stage: Stage) -> None:
    """The store comes back without any data: it is said loudly, tables begin a new life, and nothing is made up."""
    server = stage.world.single.server
    incarnations = await _incarnations(stage)
    await stage.some_moment()
    at_ms = now_ms()
    server.kill()
    server.forget_data()
    await server.start()
    stage.struck("store restarted empty", at_ms=at_ms, over_ms=now_ms())

    async def all_anew() -> bool:
        found = await _incarnations(stage)
        return all(found[table] not in ("", before) for table, before in incarnations.items())

    await stage.until(all_anew, "every table was opened anew", 10)
    stage.expect(
        {_field(line, "table") for line in stage.house.said("table_lost_and_opened_anew")} == set(TABLES),
        "the loss of every table was not told in the log",
    )

    async def all_see_it() -> bool:
        seen = {
            (view.number, word.message["table"])
            for view in stage.tape.lines
            for word in view.got
            if word.at_ms > at_ms and word.message["type"] == "snapshot"
        }
        return len({table for _, table in seen}) == len(TABLES)

    await stage.until(all_see_it, "the seats got snapshots of the new life", 10)
    for line in stage.tape.lines:
        for word in line.got:
            if word.at_ms > at_ms and word.message["type"] == "snapshot":
                view = word.message["snapshot"]
                stage.expect(view["you"] is None, "a seat was made up")
                stage.expect((view["round"], view["dealt"]) in ((0, []), (1, [])), f"a round was made up: {view}")


async def store_rolled_back(stage: Stage) -> None:
    """The store comes back as it was some rounds before: a new incarnation, snapshots, the open round void, its shoe
    revealed."""
    server = stage.world.single.server
    first = stage.chance.randrange(2)
    for at in range(stage.repeats):
        # One that may lose a second says so; one that says it keeps everything may still be given an older copy.
        server.settings |= (EVERYSEC, KEPT)[(first + at) % 2]
        await stage.some_moment()
        incarnations = await _incarnations(stage)
        before = await _positions(stage)
        copy = server.copy_of_data()
        copied = {table: now for table, now in (await _positions(stage)).items() if now == before[table]}
        await asyncio.sleep(stage.chance.uniform(0.3, 2.0))
        at_ms = now_ms()
        server.kill()
        server.put_data_back(copy)
        await server.start()
        stage.struck(f"store set back, appendfsync {server.settings['appendfsync']}", at_ms=at_ms, over_ms=now_ms())
        await stage.calm()
        now = await _incarnations(stage)
        for table in TABLES:
            stage.expect(now[table] != incarnations[table], f"{table} kept its incarnation")
        for table, (phase, number, seq) in copied.items():
            news = [event for event in await stage.stream(table) if event["seq"] > int(seq)]
            if phase in ("betting", "dealing"):
                kinds = [(event["type"], event.get("round", event.get("shoe"))) for event in news[:3]]
                is_void = kinds[:2] == [("round_voided", int(number)), ("round_settled", int(number))]
                stage.expect(is_void and kinds[2][0] == "shoe_ended", f"{table} round {number} ({phase}): {kinds}")
                stage.expect(news[2].get("reason") == "store_rolled_back", f"{table}: {news[2]}")
                stage.notes["voided"] = stage.notes.get("voided", 0) + 1
    stage.expect(len(stage.house.said("store_rolled_back")) >= len(TABLES), "the loss was not told in the log")
    server.settings |= KEPT
    await server.ask("CONFIG", "SET", "appendfsync", KEPT["appendfsync"])


async def subscribers_killed(stage: Stage) -> None:
    """The nodes' subscriptions are cut again and again: nothing is missed, and no connection is left behind."""
    server = stage.world.single.server
    before = len(await server.ask("CLIENT LIST"))
    at_ms = now_ms()
    for _ in range(stage.repeats):
        await asyncio.sleep(stage.chance.uniform(0.15, 0.5))
        killed = await server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        stage.notes["killed"] = stage.notes.get("killed", 0) + killed
    stage.struck("CLIENT KILL TYPE pubsub, again and again", at_ms=at_ms, over_ms=now_ms())
    await stage.calm()
    after = len(await server.ask("CLIENT LIST"))
    stage.notes["connections"] = f"{before} -> {after}"
    stage.expect(after <= before + 6, f"{before} connections to the store have become {after}")
    channels = await server.ask("PUBSUB", "SHARDNUMSUB", *(keys.bus_channel(table) for table in TABLES))
    counts = [value for value in channels if isinstance(value, int)]
    stage.expect(min(counts) >= 1, f"not every table has a subscriber: {channels}")


RUBBISH: Final[tuple[bytes, ...]] = (
    b"",
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\x93\xa5event",
    b"\x81" * 2_000,
    b"\x91" * 5_000 + b"\xc0",
    msgpack.packb(7),
    msgpack.packb(["event", "", 1]),
    msgpack.packb([None, None, None, None]),
    msgpack.packb(["event", "no such life", 10**9, b"x"]),
    msgpack.packb(["event", "no such life", -1, b""]),
    msgpack.packb(["alive", "no such life", 3, b""]),
    msgpack.packb(["results", "", 0, b"\xc1"]),
    msgpack.packb(["results", "", 0, msgpack.packb([[1, 2, 3]])]),
    msgpack.packb(["results", "", 0, b"\xdd\xff\xff\xff\xff"]),
    msgpack.packb(["private", "", 0, msgpack.packb([1, 2])]),
    msgpack.packb(["private", "", 0, msgpack.packb([[[], {}]])]),
    msgpack.packb(["private", "", 0, b""]),
    msgpack.packb(["seat", "", 0, msgpack.packb([1])]),
    msgpack.packb(["seat", "", 0, msgpack.packb({"a": 1})]),
    msgpack.packb(["nudge", "", 0, b"\xff\xfe"]),
    msgpack.packb(["no such kind", "", 0, b""]),
)


async def rubbish_published(stage: Stage) -> None:
    """Rubbish on every channel in use: dropped, and the next event still arrives."""
    server = stage.world.single.server
    at_ms = now_ms()
    pids = [node.pid for node in stage.house.nodes]
    async with server.admin() as admin:
        for _ in range(stage.repeats):
            for table in TABLES:
                for payload in stage.chance.sample(RUBBISH, len(RUBBISH)):
                    await run(admin, "SPUBLISH", keys.bus_channel(table), payload)
                await asyncio.sleep(0.01)
    stage.struck("rubbish on every channel", at_ms=at_ms, over_ms=now_ms())
    await stage.calm()
    stage.expect([node.pid for node in stage.house.running] == pids, "a node ended over it")
    stage.expect(len(stage.house.said("rubbish_on_bus")) > 0, "the log does not tell of it")
    stage.expect(not stage.house.said("bus_lost"), "a listener broke over it")


async def _positions(stage: Stage) -> dict[str, list[str]]:
    return {table: await stage.table_fields(table, "phase", "round", "seq") for table in TABLES}


async def _incarnations(stage: Stage) -> dict[str, str]:
    return {table: (await stage.table_fields(table, "incarnation"))[0] for table in TABLES}


def _field(line: str, name: str) -> str:
    return next((word.partition("=")[2] for word in line.split() if word.startswith(f"{name}=")), "")
