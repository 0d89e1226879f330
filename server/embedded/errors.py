"""Why the bundled store cannot be had."""

from pathlib import Path


class EmbeddedError(Exception):
    """The bundled store cannot be had.

    EmbeddedError
    ├── DataDirectoryBusy       another node lives on the directory
    └── EmbeddedStoreFailed     the directory cannot be used, or Valkey did not start or stop
    """


class DataDirectoryBusy(EmbeddedError):
    """Another node holds the directory; `holder` is what it wrote about itself (its pid), if anything."""

    def __init__(self, directory: Path, holder: str) -> None:
        super().__init__(directory, holder)
        self.directory = directory
        self.holder = holder

    def __str__(self) -> str:
        by = f" (process {self.holder})" if self.holder else ""
        return f"the data directory {self.directory} is in use by another node{by}"


class EmbeddedStoreFailed(EmbeddedError):
    """The store failed: `reason` in our words, `last_log_line` in Valkey's, which may be empty."""

    def __init__(self, directory: Path, reason: str, last_log_line: str = "") -> None:
        super().__init__(directory, reason, last_log_line)
        self.directory = directory
        self.reason = reason
        self.last_log_line = last_log_line

    def __str__(self) -> str:
        said = f"; its last log line: {self.last_log_line}" if self.last_log_line else ""
        return f"the bundled Valkey in {self.directory}: {self.reason}{said}"
