"""A crowd whose seats come back when their node dies, by the rules of the SDK (`client_sdk/session.py`): when they try
again, how long they wait, what they ask for.

What it must not do is come back better than the SDK does: pauses, timeouts and their limits are the SDK's own.
"""

import heapq
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from multiprocessing.connection import Connection as Pipe
from random import Random
from typing import Any, Final

from client_sdk.backoff import delays_ms
from client_sdk.settings import DEFAULTS
from tests.bench import wire
from tests.bench.crowd import Crowd, Group, Line

_DIALLING: Final = ("connecting", "handshake")


class Comer:
    """A seat that has lost its line, on its way back."""

    __slots__ = ("back_s", "delays", "name", "table", "token")

    def __init__(self, line: Line, delays: Iterator[float]) -> None:
        self.name = line.name
        self.table = line.table
        self.token = line.token
        self.delays = delays
        self.back_s: float | None = None


class ReturningCrowd(Crowd):
    """A crowd of which one group comes back."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__(pipe)
        self._group: Group | None = None
        self._port = 0
        self._comers: dict[str, Comer] = {}
        self._back = 0
        """So many of them are in their seats: counted, since it is asked for with each read."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._chance = Random(0)
        self._met: Counter[str] = Counter()

    def come_back(self, group: str, port: int) -> None:
        """Have each line of a group that is lost from now on come back to this port."""
        self._group, self._port = self._groups[group], port

    def until_back(self, seats: int, timeout_s: float = 60.0) -> dict[str, Any]:
        """Wait until so many are back in their seats: when each was (monotonic clock, seconds), and what they met."""
        try:
            self._until(lambda: self._back >= seats, timeout_s, "")
        except TimeoutError:
            pass  # told by the count of those who are back
        back_s = sorted(each.back_s for each in self._comers.values() if each.back_s is not None)
        return {"back_s": back_s, "met": dict(self._met)}

    # --- the way back -------------------------------------------------------------------------------------------------

    def _lose(self, line: Line) -> None:
        stage = line.stage
        super()._lose(line)
        if line.group is not self._group:
            return
        comer = self._comers.get(line.name)
        if comer is None:
            comer = self._comers[line.name] = Comer(line, self._delays())
        else:
            self._met[f"lost while {stage}"] += 1
            self._back -= comer.back_s is not None
            comer.back_s = None
        if time.monotonic() - line.began_s >= DEFAULTS.stable_ms / 1000:
            comer.delays = self._delays()
        self._after(next(comer.delays), partial(self._dial_again, comer))

    def _delays(self) -> Iterator[float]:
        return delays_ms(
            DEFAULTS.reconnect_ms_min, DEFAULTS.reconnect_ms_first, DEFAULTS.reconnect_ms_max, self._chance
        )

    def _dial_again(self, comer: Comer) -> None:
        assert self._group is not None, "it comes back"
        line = self._dial(self._group, self._port, comer.name, comer.table)
        line.token = comer.token
        self._met["attempts"] += 1
        self._after(DEFAULTS.dial_ms, partial(self._give_up, line, *_DIALLING))

    def _give_up(self, line: Line, *stages: str) -> None:
        if line.stage in stages:
            self._met["timeouts"] += 1
            self._lose(line)

    def _is_let_in(self, line: Line, head: bytes) -> bool:
        if b" 101 " in head:
            return True
        status = re.match(rb"HTTP/1.1 (408|425|429|5\d\d) ", head)
        assert status is not None, head
        self._met[f"status {int(status[1])}"] += 1
        self._lose(line)
        return False

    def _greet(self, line: Line) -> None:
        super()._greet(line)
        self._after(DEFAULTS.dial_ms, partial(self._give_up, line, "hello"))

    def _sit_down(self, line: Line) -> None:
        if line.name not in self._comers:
            super()._sit_down(line)
            return
        line.stage = "join"
        group, table = line.group, line.table
        line.sock.send(
            wire.request(
                "join", "join", table=table, take_back=True, incarnation=group.incarnation[table], seq=group.seq[table]
            )
        )
        self._after(DEFAULTS.call_ms, partial(self._give_up, line, "join"))

    def _advance(self, line: Line, message: dict[str, Any]) -> None:
        comer = self._comers.get(line.name)
        if comer is not None and message["type"] == "error" and message["retry"]:
            self._met[message["name"]] += 1
            if line.stage == "hello":
                self._lose(line)
            else:
                self._after(DEFAULTS.retry_ms_first, partial(self._ask_again, line))
            return
        super()._advance(line, message)
        if comer is not None and line.stage == "ready":
            assert message["you"] is not None, message
            self._back += comer.back_s is None
            comer.back_s = time.monotonic()

    def _ask_again(self, line: Line) -> None:
        if line.stage == "join":
            self._sit_down(line)

    # --- appointments -------------------------------------------------------------------------------------------------

    def _after(self, pause_ms: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + pause_ms / 1000, next(self._numbers), call))

    def _read(self, timeout_s: float) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            _, _, call = heapq.heappop(self._due)
            try:
                call()
            except ConnectionError:
                pass  # its line is lost, and read as such
        if self._due:
            timeout_s = min(timeout_s, max(0.0, self._due[0][0] - time.monotonic()))
        super()._read(timeout_s)
