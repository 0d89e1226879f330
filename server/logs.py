"""Logs: one event name a record, one record a line, as text or JSON. Never a token, a secret or a balance."""

import json
import logging
from collections import Counter
from datetime import UTC, datetime
from typing import Final

SAME_A_SECOND_MAX: Final = 10
KINDS_LEFT_OUT_MAX: Final = 1_000
"""Counted for so many different records."""
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Repeats(logging.Filter):
    """Lets the very same record (logger, event, fields) through a few times a second: a store that is away refuses
    thousands of requests for one reason. How many were left out stands as `left_out` in the next one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self._second = 0
        self._seen: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is written; tracebacks always are."""
        if record.exc_info:
            return True
        if (second := int(record.created)) != self._second:
            self._second = second
            self._seen.clear()
        same = f"{record.name} {record.getMessage()} {_fields(record)}"
        self._seen[same] += 1
        if self._seen[same] > SAME_A_SECOND_MAX:
            if same in self._left_out or len(self._left_out) < KINDS_LEFT_OUT_MAX:
                self._left_out[same] += 1
            return False
        if left_out := self._left_out.pop(same, 0):
            record.left_out = left_out
        return True


class EventFormatter(logging.Formatter):
    """Writes the time, the level, the event and its fields on one line, whatever a stranger put into a field; a worker
    adds its number."""

    def __init__(self, worker: int = 0) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        parts = [self.formatTime(record), record.levelname.lower(), record.name, record.getMessage()]
        parts += [f"{name}={_shown(value)}" for name, value in fields.items()]
        parts += [f"worker={self._worker}"] if self._worker else []
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object: `at` (UTC), `level`, `logger`, `event`, its fields, `worker`, `error`."""

    def __init__(self, worker: int = 0) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, object] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        told["event"] = record.getMessage()
        told |= {f"field_{name}" if name in told else name: value for name, value in _fields(record).items()}
        told |= {"worker": self._worker} if self._worker else {}
        told |= {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return json.dumps(told, default=str)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isascii() and text.isprintable() and " " not in text else repr(text)


def configure(level: str, form: str = "text", worker: int = 0) -> None:
    """Send the service's records to stderr. The WebSocket library's are kept for what it can't handle itself."""
    handler = logging.StreamHandler()
    handler.addFilter(Repeats())
    handler.setFormatter(JsonFormatter(worker) if form == "json" else EventFormatter(worker))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("websockets").setLevel(logging.ERROR)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a stranger's bad handshake is no event of ours
