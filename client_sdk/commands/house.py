"""Asks a running house for what a command else reads from a FILE: by --url and --table, as a guest or with a token.

It must never load a client before one is needed: the commands that read files start without. Read next: `verify`.
"""

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from client_sdk.commands.arguments import BadArgument

if TYPE_CHECKING:
    from client_sdk.client import Client

T = TypeVar("T")


class NotAnswered(Exception):
    """The house could not be asked, or refused; the sentence says why."""


def add_house(parser: argparse.ArgumentParser, whose: str) -> None:
    """Add the options that name a house; `whose` says what its table is for."""
    parser.add_argument("--url", metavar="URL", help="ask a house instead: ws://HOST:PORT or wss://HOST:PORT")
    parser.add_argument("--table", metavar="ID", help=whose)
    parser.add_argument("--token", metavar="TOKEN", help="as whom to ask (default: a new guest)")


def is_house_asked(args: argparse.Namespace) -> bool:
    """Whether the words name a house, and not a file. Raises BadArgument where they name neither, or both."""
    if (args.file is None) == (args.url is None) or (args.url is None) != (args.table is None):
        raise BadArgument("give a FILE, or --url and --table")
    return args.file is None


def ask_house(args: argparse.Namespace, guest: str, question: Callable[["Client"], Awaitable[T]]) -> T:
    """Connect, as a guest of this name where no token is given, and ask. Raises `NotAnswered`."""
    import asyncio

    from client_sdk.client import connect
    from client_sdk.exceptions import PuntoError

    async def ask() -> T:
        async with connect(args.url, name=None if args.token else guest, token=args.token) as client:
            return await question(client)

    try:
        return asyncio.run(ask())
    except PuntoError as error:
        raise NotAnswered(str(error)) from error
