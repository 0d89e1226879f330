"""The file that exports are written to: sections one after another, and a look back at the last one.

A file is gone on in only where it is an export of the same format; anything else is left as it is. A line that ends in
the middle was never noted and is cut off. Rows are `server/ledger/rows.py`'s.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from server.ledger.rows import HEADINGS, WRITERS, BadRow, Format, Row, read_rows
from server.settings import BadSetting

WINDOW_BYTES: Final = 1 << 20
LINE_BYTES_MAX: Final = 4_096
"""Of a section's head and foot; an entry's line may be longer."""


class Section(NamedTuple):
    """The last section of a file: where it begins, what its head says, and its first entry (base64, '' none)."""

    offset: int
    table: str
    consumer: str
    after: int
    first_entry: str
    is_closed: bool


class Output:
    """Where the rows go: lines of one format."""

    def __init__(self, file: BinaryIO, form: Format) -> None:
        self._file = file
        self._form: Format = form

    def write(self, row: Row) -> None:
        """Write a row."""
        self._file.write(WRITERS[self._form](row).encode())

    def sync(self) -> None:
        """Return when all that was written is on the disk. On a pipe that is for its reader to see to."""
        self._file.flush()
        if self._file.seekable():
            os.fsync(self._file.fileno())

    def last_section(self) -> Section | None:
        """Find the last section; None where there is none, or no looking back."""
        if not self._file.seekable():
            return None
        size = self._file.seek(0, os.SEEK_END)
        for start in range(max(size - WINDOW_BYTES, 0), -WINDOW_BYTES, -WINDOW_BYTES):
            start = max(start, 0)
            self._file.seek(start)
            window = self._file.read(WINDOW_BYTES + LINE_BYTES_MAX)
            offset = start + len(window)
            for line in reversed(window.splitlines(keepends=True)):
                offset -= len(line)
                if b"export" in line and (row := _row_in(line)) is not None and row["kind"] == "export":
                    return self._section_at(offset, row)
            if start == 0:
                break
        return None

    def _section_at(self, offset: int, head: Row) -> Section:
        self._file.seek(offset)
        self._file.readline()
        first = _row_in(self._file.readline()) or {}
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(size - LINE_BYTES_MAX, 0))
        last = _row_in(self._file.read().splitlines(keepends=True)[-1]) or {}
        return Section(
            offset,
            str(head["table"]),
            str(head["consumer"]),
            int(head["after"]),
            str(first.get("entry", "")),
            last.get("kind") == "sealed",
        )

    def cut_at(self, offset: int) -> None:
        """Take everything from an offset on away."""
        self._file.truncate(offset)
        self._file.seek(0, os.SEEK_END)


@contextmanager
def open_output(path: Path | None, form: Format) -> Iterator[Output]:
    """Open a file to go on in, or standard output. Raises `BadSetting`, OSError."""
    if path is None:
        sys.stdout.buffer.write(HEADINGS[form].encode())
        yield Output(sys.stdout.buffer, form)
        return
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadSetting(f"--output: another export is writing to {path}") from None
        if file.seek(0, os.SEEK_END) == 0:
            file.write(HEADINGS[form].encode())
            _sync_directory(path.absolute().parent)
        elif not _is_export(file, form):
            raise BadSetting(f"--output: {path} is no export, or one of the other format")
        else:
            _cut_torn_line(file)
        yield Output(file, form)


def _is_export(file: BinaryIO, form: Format) -> bool:
    """Whether a file begins as we would begin it."""
    file.seek(0)
    heading = HEADINGS[form].encode()
    if file.read(len(heading)) != heading:
        return False
    head = file.readline()
    return not head or (_row_in(head) or {}).get("kind") == "export"


def _cut_torn_line(file: BinaryIO) -> None:
    """Cut off a last line without its end, however long it is."""
    end = file.seek(0, os.SEEK_END)
    start = end
    while start > 0:
        start = max(start - WINDOW_BYTES, 0)
        file.seek(start)
        window = file.read(min(WINDOW_BYTES, end - start))
        if b"\n" in window:
            whole = start + window.rindex(b"\n") + 1
            if whole < end:
                file.truncate(whole)
            break
    file.seek(0, os.SEEK_END)


def _row_in(line: bytes) -> Row | None:
    try:
        return next((row for _, row in read_rows([line.decode()])), None)
    except (BadRow, UnicodeDecodeError):
        return None


def _sync_directory(directory: Path) -> None:
    """Let a new file's name survive a crash."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
