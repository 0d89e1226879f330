"""Logs: one event name a record, and its fields as `name=value`. Never a token, an unrevealed secret or a balance."""

import logging
from typing import Final

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class EventFormatter(logging.Formatter):
    """Writes the time, the level, the event and its fields on one line, whatever a stranger put into a field; a worker
    adds its number."""

    def __init__(self, worker: int = 0) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        parts = [self.formatTime(record), record.levelname.lower(), record.name, record.getMessage()]
        parts += [f"{name}={_shown(value)}" for name, value in fields.items()]
        parts += [f"worker={self._worker}"] if self._worker else []
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isascii() and text.isprintable() and " " not in text else repr(text)


def configure(level: str, worker: int = 0) -> None:
    """Send the service's records to stderr. The WebSocket library's are kept for what it can't handle itself."""
    handler = logging.StreamHandler()
    handler.setFormatter(EventFormatter(worker))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("websockets").setLevel(logging.ERROR)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a stranger's bad handshake is no event of ours
