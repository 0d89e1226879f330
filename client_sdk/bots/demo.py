"""Bots that keep every table company: `python -m client_sdk.bots.demo --url URL --per-table N [--tokens FILE]`.

They have human names, are flagged as bots on the wire, and stay until SIGTERM or SIGINT. With a token file a second run
goes on with the same patrons and stacks. They keep their seats when they stop: the grace time, not the demo, decides
what becomes of them. Read next: `companion` for one of them.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import client_sdk
from client_sdk.backoff import delays_ms
from client_sdk.bots.companion import RETRY_MS, Companion, Post
from client_sdk.bots.tokens import TokenFile
from client_sdk.exceptions import PuntoError, TokenRefused

log = logging.getLogger(__name__)

PER_TABLE_MAX: Final = 100
START_SPREAD_MS: Final = 1_500
"""They come in one after the other within this time."""
PARENT_CHECK_S: Final = 0.5
CLOSE_S_MAX: Final = 5

NAMES: Final = (
    "Ada", "Akira", "Amara", "Anton", "Bao", "Beatriz", "Carmen", "Chidi", "Clara", "Dana", "Diego", "Elif", "Emil",
    "Esther", "Farah", "Felix", "Gina", "Goran", "Hana", "Henrik", "Ines", "Ivo", "Jana", "Jorge", "Kaito", "Karin",
    "Kofi", "Lena", "Li Na", "Lucia", "Malik", "Marta", "Mei", "Milan", "Nadia", "Nils", "Noor", "Olga", "Omar",
    "Paula", "Pavel", "Priya", "Quentin", "Rosa", "Ruben", "Sana", "Sofia", "Stefan", "Tariq", "Thea", "Tomas", "Uma",
    "Vera", "Viktor", "Wanda", "Xenia", "Yara", "Yusuf", "Zofia",
)  # fmt: skip


async def seat_demo_bots(url: str, per_table: int, stop_event: asyncio.Event, tokens: TokenFile | None = None) -> None:
    """Keep `per_table` bots at every table until `stop_event` is set, whatever becomes of the server meanwhile."""
    kept = tokens if tokens is not None else TokenFile(None)
    company = asyncio.create_task(_keep_company(url, per_table, kept), name="punto-demo-bots")
    stopped = asyncio.create_task(stop_event.wait())
    try:
        await asyncio.wait({company, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if company.done():
            company.result()  # it never ends by itself: this raises what went wrong
    finally:
        company.cancel()
        stopped.cancel()
        await asyncio.wait({company, stopped}, timeout=CLOSE_S_MAX)


def posts_of(tables: Sequence[str], per_table: int) -> list[Post]:
    """Say who sits where: the same names at the same tables each time, no name twice until all are taken."""
    posts: list[Post] = []
    for table in sorted(tables):
        for number in range(1, per_table + 1):
            turn, at = divmod(len(posts), len(NAMES))
            name = NAMES[at] if not turn else f"{NAMES[at]} {turn + 1}"
            posts.append(Post(table=table, name=name, key=f"{table} {number}"))
    return posts


async def _keep_company(url: str, per_table: int, tokens: TokenFile) -> None:
    rng = Random()
    posts = posts_of(await _tables(url, tokens, rng), per_table)
    async with asyncio.TaskGroup() as group:
        for post in posts:
            companion = Companion(url, post, tokens, Random(rng.random()))
            pause_s = rng.random() * START_SPREAD_MS / 1000
            _ = group.create_task(_come_in(companion, pause_s), name=f"punto-demo {post.key}")


async def _come_in(companion: Companion, pause_s: float) -> None:
    await asyncio.sleep(pause_s)
    await companion.run()


async def _tables(url: str, tokens: TokenFile, rng: Random) -> list[str]:
    """Return the ids of all tables, as soon as the server tells them. The one who asks sits down at none."""
    key, delays = "lobby", delays_ms(*RETRY_MS, rng)
    while True:
        token = tokens.get(key)
        try:
            async with client_sdk.connect(url, name="Host" if token is None else None, token=token, bot=True) as client:
                if client.token is not None:
                    tokens.keep(key, client.token)
                return [summary.table for summary in await client.list_tables()]
        except TokenRefused:
            tokens.forget(key)
        except PuntoError as error:
            log.info("demo_bots_wait", extra={"reason": str(error)})
        await asyncio.sleep(next(delays) / 1000)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo bots until a signal, and return the exit code."""
    args = _parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    try:
        asyncio.run(_run(args))
    except OSError as error:
        print(f"punto demo bots: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m client_sdk.bots.demo", description="Keep every table company.")
    parser.add_argument("--url", required=True, help="of the server, ws:// or wss://")
    parser.add_argument("--per-table", type=int, required=True, choices=range(PER_TABLE_MAX + 1), metavar="N")
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="keep the bots' identities here between runs")
    parser.add_argument("--parent", type=int, metavar="PID", help="stop when this process, which started us, has ended")
    return parser


async def _run(args: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    parent = None if args.parent is None else asyncio.create_task(_stop_without(args.parent, stop))
    try:
        await seat_demo_bots(args.url, args.per_table, stop, TokenFile(args.tokens))
    finally:
        if parent is not None:
            parent.cancel()
            await asyncio.gather(parent, return_exceptions=True)


async def _stop_without(parent: int, stop: asyncio.Event) -> None:
    """Stop when the parent is gone (killed, it could not tell): bots that nobody owns would come back for ever."""
    while os.getppid() == parent:  # noqa: ASYNC110 - nobody tells when a parent ends
        await asyncio.sleep(PARENT_CHECK_S)
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
