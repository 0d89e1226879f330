"""The flags that the verbs of `tables` share, and how they wait for what becomes of a wish."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from client_sdk.protocol.messages import AMOUNT_MAX, TableId, TableView
from server.commands.signing import add_signature
from server.commands.store_place import add_place
from server.store.errors import Refused
from server.store.tables import Tables

WAIT_MS_MAX: Final = 10_000
"""A table whose owner has died has the next one, and all stakes back, well within this time."""
LOOK_MS: Final = 50


class OneRefused(Exception):
    """What was wanted of a table was refused."""

    def __init__(self, table: str, refused: Refused, sentence: str = "") -> None:
        super().__init__(table, refused, sentence)
        self.table = table
        self.code = refused.code
        self.sentence = sentence

    def __str__(self) -> str:
        told = {"TABLE_CLOSED": f"{self.table} is closed", "TABLE_OPEN": f"{self.table} is open already"}
        return self.sentence or told.get(self.code, f"{self.table}: {self.code}")


def add_who(parser: argparse.ArgumentParser) -> None:
    """Add where the store is, who acts and why."""
    add_place(parser)
    add_signature(parser, "told to everybody at the table")


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add which table."""
    parser.add_argument("--table", metavar="ID", type=table_id, required=True, help="which table")


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add which table, or every one."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--table", metavar="ID", type=table_id, help="which table")
    which.add_argument("--all", action="store_true", help="every table")


async def reached(tables: Tables, table: str, is_so: Callable[[TableView], bool]) -> bool:
    """Wait until a table is as wanted, but not for ever; say whether it is."""

    async def is_as_wanted() -> bool:
        return is_so((await tables.view(table, None, 0)).view)

    return await comes_true(is_as_wanted)


async def comes_true(is_so: Callable[[], Awaitable[bool]]) -> bool:
    """Wait until something in the store is so, but not for ever; say whether it is."""
    try:
        async with asyncio.timeout(WAIT_MS_MAX / 1000):
            while not await is_so():  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(LOOK_MS / 1000)
    except TimeoutError:
        return False
    return True


def table_id(text: str) -> str:
    """Read a table's id."""
    try:
        return msgspec.convert(text, TableId)
    except msgspec.ValidationError:
        raise argparse.ArgumentTypeError(f"not a table's id: {text!r}") from None


def round_number(text: str) -> int:
    """Read a round's number."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 1 <= int(text) <= AMOUNT_MAX):
        raise argparse.ArgumentTypeError(f"not a round's number: {text!r}")
    return int(text)
