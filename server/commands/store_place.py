"""Where a command finds its store: `--data DIR` of a bundled one, in use or not, or `--store URL`; without either,
where a node with the same file and environment would find it."""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from server.embedded import DataDirectoryBusy, EmbeddedValkey
from server.options.catalogue import OPTIONS, URL_DEFAULT
from server.options.sources import gather
from server.settings import BadSetting
from server.store.driver import Driver

DATA_DEFAULT: Final = Path(OPTIONS["data"].default)


class OpenStore(NamedTuple):
    """A store for the length of a command. `is_served`: a node may be at work on it."""

    driver: Driver
    is_served: bool


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data", metavar="DIR", type=Path, help=f"an embedded store, in use or not ({DATA_DEFAULT})")
    place.add_argument("--store", metavar="URL", help="any other store, as for serve")
    place.add_argument("--config", metavar="FILE", help="the file of serve, which names the store")


@asynccontextmanager
async def open_store(args: argparse.Namespace) -> AsyncIterator[OpenStore]:
    """Open the store that the flags name; one in a directory that nobody serves runs for the length of the command.

    Raises `BadSetting`, `EmbeddedError`.
    """
    replicas = getattr(args, "confirm_replicas", 0)
    store, data = _place(args)
    if store != URL_DEFAULT:
        async with Driver(store, confirm_replicas=replicas) as driver:
            yield OpenStore(driver, is_served=True)
        return
    embedded, is_served = EmbeddedValkey(data), False
    try:
        url = await embedded.start()
    except DataDirectoryBusy:
        url, is_served = embedded.url_in_use, True  # a node serves it: ask its store
    try:
        async with Driver(url, confirm_replicas=replicas) as driver:
            yield OpenStore(driver, is_served)
    finally:
        await embedded.stop()


def _place(args: argparse.Namespace) -> tuple[str, Path]:
    """Say which store is meant, and which directory where it is the embedded one."""
    if args.store is not None:
        return args.store, DATA_DEFAULT
    given = gather({"config": args.config} if args.config else {}, {} if args.data else os.environ)
    store, data = str(given.values["store"]), Path(args.data or given.values["data"])
    if store == URL_DEFAULT and not data.is_dir():
        raise BadSetting(f"no such directory: {data}", "data")
    return store, data
