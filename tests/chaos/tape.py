"""Records all that goes over the wire of every SDK client in this process: what each connection sent, got and ended by.

It stands below the SDK, which repairs in silence: a gap or a repeat that a client mends is still seen here. Instants
are this machine's wall clock in milliseconds, which is the store's too. What the record means is `evidence.py`'s.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple
from unittest.mock import patch

from client_sdk.line import Line, LineEnd
from client_sdk.protocol.codec import Frame
from client_sdk.protocol.messages import Message


class Word(NamedTuple):
    """One message on its way."""

    at_ms: float
    message: Message


@dataclass(slots=True)
class Spoken:
    """One connection, from its handshake to its end."""

    number: int
    began_at_ms: float
    sent: list[Word] = field(default_factory=list)
    got: list[Word] = field(default_factory=list)
    ended_at_ms: float | None = None
    close_code: int | None = None


@dataclass(slots=True)
class Tape:
    """All connections, in the order in which they were opened. `firsts` has each numbered event once, by table, as it
    came to whoever got it first."""

    lines: list[Spoken] = field(default_factory=list)
    firsts: dict[str, list[Word]] = field(default_factory=dict)
    _known: set[tuple[str, int, str, int]] = field(default_factory=set)

    def note(self, word: Word) -> None:
        """Keep a numbered event that nobody got before."""
        event = word.message
        key = (event["table"], event["seq"], event["type"], event.get("round", 0))
        if key not in self._known:
            self._known.add(key)
            self.firsts.setdefault(event["table"], []).append(word)

    def newest(self, table: str, since_ms: float) -> Iterator[Message]:
        """Give the numbered events of a table since then, the newest first: what is asked again and again must not cost
        more as the tape grows."""
        words = reversed(self.firsts.get(table, []))
        return (word.message for word in takewhile(lambda word: word.at_ms >= since_ms, words))

    def closes(self, code: int | None) -> int:
        """How many connections ended with this close code."""
        return sum(line.ended_at_ms is not None and line.close_code == code for line in self.lines)


def now_ms() -> float:
    """The wall clock of this machine."""
    return time.time() * 1000


@contextmanager
def recording() -> Iterator[Tape]:
    """Record every connection that is opened in the block."""
    tape, spoken = Tape(), dict[Line, Spoken]()
    real_post, real_run = Line.post, Line.run

    def of(line: Line) -> Spoken:
        if line not in spoken:
            spoken[line] = Spoken(len(spoken) + 1, now_ms())
            tape.lines.append(spoken[line])
        return spoken[line]

    def post(self: Line, frame: Frame) -> None:
        of(self).sent.append(Word(now_ms(), self._codec.decode(frame)))
        real_post(self, frame)

    async def run(self: Line, deliver: Callable[[Frame], None]) -> LineEnd:
        record = of(self)

        def hear(frame: Frame) -> None:
            message = self._codec.decode(frame)
            word = Word(now_ms(), message)
            record.got.append(word)
            if "seq" in message:
                tape.note(word)
            deliver(frame)

        try:
            end = await real_run(self, hear)
            record.close_code = end.close_code
            return end
        finally:
            record.ended_at_ms = now_ms()

    with patch.object(Line, "post", post), patch.object(Line, "run", run):
        yield tape
