"""Takes what is sealed of a table's ledger to one consumer, each entry once: written and on the disk, then noted.

The consumer's position moves only after the section was flushed and synced, so a run that dies loses nothing. It may
leave a section that is not noted at the end of its file; the next run on that file cuts it off and writes the same
entries again. The file itself is `export_file.py`'s, rows are `server/ledger/rows.py`'s.
"""

from base64 import b64encode
from typing import NamedTuple

from client_sdk.game.seals import Seal
from server.export_file import Output, Section
from server.ledger.rows import foot_row, head_row, rows_of
from server.settings import BadSetting
from server.store.ledgers import Ledgers


class Exported(NamedTuple):
    """What one run took of one table: entries from `first` (None: nothing new was sealed) up to the seal. `trimmed`
    entries were gone before this consumer came; `missing` ones should be in the store and are not."""

    table: str
    first: int | None
    seal: Seal
    trimmed: int
    missing: int


async def cut_what_was_not_noted(ledgers: Ledgers, output: Output) -> None:
    """Cut off the section of a run that died before it was noted.

    Raises `BadSetting` where the file ends in the middle of a section that this store does not know.
    """
    section = output.last_section()
    if section is None:
        return
    is_noted = (await ledgers.consumers(section.table)).get(section.consumer, 0) > section.after
    if not is_noted and await _is_of_this_store(ledgers, section):
        output.cut_at(section.offset)
    elif not section.is_closed:
        raise BadSetting("--output: the file ends in the middle of an export from another store")


async def _is_of_this_store(ledgers: Ledgers, section: Section) -> bool:
    """Whether a section begins with the very entry that the store has there."""
    if not section.first_entry:
        return True
    async for _, packed in ledgers.entries_after(section.table, section.after, section.after + 1):
        return b64encode(packed).decode() == section.first_entry
    return False


async def export_table(ledgers: Ledgers, table: str, consumer: str, output: Output) -> Exported:
    """Write what was sealed since the consumer's last run, and note it. Raises `StoreError`, OSError."""
    after = await ledgers.open_consumer(table, consumer)
    seal = (await ledgers.marks(table)).seal
    first: int | None = None
    last, trimmed, missing = after, 0, 0
    async for number, packed in ledgers.entries_after(table, after, seal.sealed_to):
        if first is None:
            first = number
            output.write(head_row(table, consumer, number - 1))
            trimmed = first - 1 if after == 0 else 0
            last += trimmed
        missing += number - last - 1
        last = number
        for row in rows_of(table, number, packed):
            output.write(row)
    if first is not None:
        output.write(foot_row(table, seal))
        output.sync()
    if seal.sealed_to > after:
        await ledgers.move_consumer(table, consumer, seal.sealed_to)
    if first is None and after == 0:
        trimmed = last = seal.sealed_to
    return Exported(table, first, seal, trimmed, missing + seal.sealed_to - last)
