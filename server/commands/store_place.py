"""Where a command finds its store: `--data DIR` of a bundled one, in use or not, or `--store URL`."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from server.embedded import DataDirectoryBusy, EmbeddedValkey
from server.settings import BadSetting
from server.store.driver import Driver

DATA_DEFAULT: Final = Path("data")


class OpenStore(NamedTuple):
    """A store for the length of a command. `is_served`: a node may be at work on it."""

    driver: Driver
    is_served: bool


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the two flags."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data", metavar="DIR", type=Path, help=f"an embedded store, in use or not ({DATA_DEFAULT})")
    place.add_argument("--store", metavar="URL", help="any other store, as for serve")


@asynccontextmanager
async def open_store(args: argparse.Namespace) -> AsyncIterator[OpenStore]:
    """Open the store that the flags name; one in a directory that nobody serves runs for the length of the command.

    Raises `BadSetting`, `EmbeddedError`.
    """
    replicas = getattr(args, "confirm_replicas", 0)
    if args.store is not None:
        async with Driver(args.store, confirm_replicas=replicas) as driver:
            yield OpenStore(driver, is_served=True)
        return
    embedded, is_served = EmbeddedValkey(_directory(args)), False
    try:
        url = await embedded.start()
    except DataDirectoryBusy:
        url, is_served = embedded.url_in_use, True  # a node serves it: ask its store
    try:
        async with Driver(url, confirm_replicas=replicas) as driver:
            yield OpenStore(driver, is_served)
    finally:
        await embedded.stop()


def _directory(args: argparse.Namespace) -> Path:
    data: Path = args.data or DATA_DEFAULT
    if not data.is_dir():
        raise BadSetting(f"--data: no such directory: {data}")
    return data
