"""`punto-server serve`: run a node, or several workers on one port."""

import argparse
import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from server import logs
from server.fair_loop import new_loop
from server.options.flags import add_flags, flags_of
from server.options.sameness import told
from server.options.sources import gather
from server.process import serve
from server.settings import BadSetting, Settings
from server.shoes import BadStackedShoe, StackedRounds
from server.supervisor import READY_LINE, become_worker


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    run = commands.add_parser("serve", help="run a node with one table for each variant")
    add_flags(run)
    run.add_argument("--worker", metavar="N", type=int, default=0, help=argparse.SUPPRESS)


def run(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Serve until SIGINT or SIGTERM. Raises `BadSetting` and what `process.serve` raises."""
    given = gather(flags_of(args), os.environ)
    settings = given.settings(args.worker)
    rounds = _stacked_rounds(settings.stacked_shoe, given.origins["stacked_shoe"])
    settings = replace(settings, stacked_rounds=rounds, told=told(given))
    logs.configure(settings.log_level, settings.log_format, settings.worker)
    if settings.worker:
        become_worker(settings.worker)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(settings, argv, lambda address: _say_open(settings, address)))
    return 0


def _stacked_rounds(path: Path | None, name: str) -> StackedRounds | None:
    if path is None:
        return None
    try:
        return StackedRounds(path.read_text().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "not text"
        raise BadSetting(f"{path}: {problem}", "stacked_shoe", name) from None
    except BadStackedShoe as error:
        raise BadSetting(f"{path}: {error}", "stacked_shoe", name) from None


def _say_open(settings: Settings, address: str) -> None:
    if settings.worker:
        print(READY_LINE, flush=True)  # to the supervisor; people are told by it
        return
    tables = ", ".join(settings.tables())
    page = address.replace("ws", "http", 1)
    print(f"Punto is open at {address}\n  page    {page}/  (open it in a browser)", flush=True)
    print(f"  tables  {tables}\n  stop    Ctrl-C", flush=True)
    for note in settings.notes():
        print(f"  note    {note}", flush=True)
    logging.getLogger(__name__).info("serving", extra={"address": address})
