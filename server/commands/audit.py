"""`punto-server audit`: check that all the money adds up, exit 1 where it does not; or again and again, as metrics."""

import argparse
import asyncio
import json
import os
import signal
from collections.abc import Sequence

from server import logs
from server.admin import admin
from server.audit import Audit, audit
from server.audit_watch import AuditWatch
from server.commands.store_place import add_place, open_store
from server.options.catalogue import OPTIONS
from server.options.sources import gather
from server.running import running
from server.settings import BadSetting
from server.store.books import Books
from server.store.driver import Driver
from server.store.ledgers import Ledgers
from server.store.tables import Tables


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    check = commands.add_parser("audit", help="check that all the money adds up (exit 1 if not)")
    add_place(check)
    check.add_argument("--every", metavar="S", type=_seconds, help="audit again and again, so many seconds apart")
    check.add_argument("--admin", metavar="HOST:PORT", help="where --every serves /metrics, /healthz and /readyz")
    check.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Audit; 0 balanced, 1 not. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    if bool(args.every) is not bool(args.admin):
        raise BadSetting("--every and --admin belong together")
    if args.every:
        logs.configure("info", str(gather({}, os.environ).values["log_format"]))
        asyncio.run(_watch(args))
        return 0
    found = asyncio.run(_audit(args))
    print(_as_json(found) if args.json else _as_text(found))
    return 1 if found.differences else 0


async def _audit(args: argparse.Namespace) -> Audit:
    async with open_store(args) as store:
        return await _audit_at(store.driver)


async def _audit_at(driver: Driver) -> Audit:
    return await audit(Books(driver), Tables(driver), Ledgers(driver))


async def _watch(args: argparse.Namespace) -> None:
    """Audit until SIGINT or SIGTERM."""
    try:
        address = OPTIONS["admin"].kind.read(args.admin)
    except ValueError as error:
        raise BadSetting(str(error), "admin") from None
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_store(args) as store:
        watch = AuditWatch(lambda: _audit_at(store.driver), args.every)
        async with admin(address, watch.state), running(watch.run()):
            await stop.wait()


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"seconds are wanted, 1 to 99999, not {text!r}")
    return int(text)


def _as_json(found: Audit) -> str:
    plain = found._asdict() | {"differences": [difference._asdict() for difference in found.differences]}
    return json.dumps({"balanced": not found.differences, **plain})


def _as_text(found: Audit) -> str:
    lines = [
        f"tables {found.tables}, patrons {found.patrons}, whole ledgers played again {found.replayed}",
        f"put in      {found.put_in:>20,}",
        f"taken out   {found.taken_out:>20,}",
        f"wallets     {found.wallets:>20,}",
        f"stacks      {found.stacks:>20,}",
        f"open bets   {found.open_bets:>20,}",
        f"house       {found.house:>20,}",
        f"under way   {found.under_way:>20,}",
    ]
    lines += [f"DIFFERENCE  {difference}" for difference in found.differences]
    return "\n".join([*lines, "NOT BALANCED" if found.differences else "balanced"])
