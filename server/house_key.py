"""Which keys a node starts with, and whether they are the house's: looked at before it serves anybody.

The store names the key by which the house's newest secrets are sealed (its id, which tells nothing of it). A node that
does not hold that key, or lacks the one of any table's open shoe, could not deal on where another node left off: it
does not start. A newer key that comes last in the file takes the place of the one named.
"""

import asyncio
from pathlib import Path
from typing import Final

from server.keyring import Keyring, SealBroken, sealed_by
from server.keyring_file import FILE_NAME, BadKeyFile, make_keyring, read_keyring
from server.settings import Settings
from server.store.driver import Driver
from server.store.nodes import Nodes
from server.store.tables import Tables

TABLES_AT_ONCE: Final = 50


def key_path(settings: Settings) -> Path:
    """Where the operator's keys lie."""
    return settings.data / FILE_NAME if settings.seal_key is None else settings.seal_key


async def open_keyring(settings: Settings, driver: Driver) -> Keyring:
    """Read the keys, or make the first one of a house, and join it with them.

    Raises `BadKeyFile`, with a sentence for the operator, and `StoreError`.
    """
    nodes, path = Nodes(driver), key_path(settings)
    if settings.seal_key is None and not path.exists():
        house_id = await nodes.house_key()
        if house_id is not None:
            raise BadKeyFile(
                f"--seal-key: {path} is not there: copy the file that holds the key {house_id} of this house"
            )
        keyring = make_keyring(path)
    else:
        keyring = read_keyring(path)
    await _refuse_strange_keys(keyring, path, driver)
    await nodes.note_house_key(keyring.newest_id)
    return keyring


async def _refuse_strange_keys(keyring: Keyring, path: Path, driver: Driver) -> None:
    house_id = await Nodes(driver).first_house_key(keyring.newest_id)
    if house_id not in keyring:
        raise BadKeyFile(f"--seal-key: {path}: does not hold the key {house_id} of this house: copy the file")
    tables, after = Tables(driver), None
    while page := await tables.page(after, TABLES_AT_ONCE):
        for table, sealed in zip(page, await asyncio.gather(*map(tables.sealed_secret, page)), strict=True):
            if (key_id := _used_key(sealed)) is not None and key_id not in keyring:
                raise BadKeyFile(f"--seal-key: {path}: does not hold the key {key_id} of the open shoe of {table}")
        after = page[-1]


def _used_key(sealed: str | None) -> str | None:
    """Which key sealed an open shoe; None where there is none, and where it was altered: its dealer ends that one."""
    try:
        return sealed_by(sealed) if sealed else None
    except SealBroken:
        return None
