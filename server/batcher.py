"""Acts on their way to the store: while a call for a table is under way the next acts wait and go together.

Latency when quiet, throughput when busy. Each act gets its own answer, in the order of arrival, in the moment in which
the store has told it. The queue of a table is bounded; past it an act is told BUSY at once.

A bet of a patron with limits of the own may need more than its table was granted (`patron_limits.py`): then it and all
that its patron sends behind it are held until the grant is there, and go first, in their order.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Protocol

from client_sdk.protocol.messages import Act
from server.store.errors import Refused, StoreAway, StoreError
from server.store.sender import go_first
from server.store.tables import ActAnswer, ActLine, Need, Tables

log = logging.getLogger(__name__)
ACTS_WAITING_MAX: Final = 20_000
ACTS_A_CALL_MAX: Final = 128
"""One call decides so many acts within a few milliseconds, so other tables' scripts are not held up."""
CALLS_MAX: Final = 2
"""Under way at once, the second only with as many acts as it may have: the store begins with it while the node reads
what the first one decided."""
GRANTS_MAX: Final = 16
"""So often a bet is sent again behind a grant; what is needed can change meanwhile, but not for ever."""
Obtain = Callable[[str, str, Need], Awaitable[None]]
"""Gets a patron at a table what is needed. Raises `StoreError`."""


class Asker(Protocol):
    """Whoever sends acts; hashable by identity. It raises nothing."""

    def take(self, act: Act, answer: ActAnswer | StoreError) -> None:
        """Take the answer to one act."""
        ...

    def write(self) -> None:
        """Pass on what was taken: the batch has no more for this one."""
        ...


class Pending(NamedTuple):
    """An act that waits for its answer."""

    line: ActLine
    act: Act
    asker: Asker


class Busy(StoreError):
    """Too many acts wait for this table."""


class Batcher:
    """The queue of acts of one table on this node."""

    def __init__(self, table: str, tables: Tables, obtain: Obtain) -> None:
        self._table = table
        self._tables = tables
        self._obtain = obtain
        self._waiting: list[Pending] = []
        self._held: dict[str, list[Pending]] = {}
        self._grants: dict[str, int] = {}
        self._calls = 0
        self._in_calls: set[str] = set()
        """The patrons whose acts are under way: no other call takes any of theirs, so each seat's acts are decided in
        their order, whatever becomes of a call."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._obtaining: set[asyncio.Task[None]] = set()

    def submit(self, line: ActLine, act: Act, asker: Asker) -> None:
        """Queue an act; the asker takes its answer or a `StoreError`, never before this returns. Raises `Busy`."""
        if len(self._waiting) >= ACTS_WAITING_MAX:
            raise Busy
        pending = Pending(line, act, asker)
        if line.patron in self._held:  # bounded by the acts that a connection may have under way
            self._held[line.patron].append(pending)
        else:
            self._waiting.append(pending)
            self._begin()

    def _begin(self) -> None:
        if self._calls < CALLS_MAX and self._is_due(beside=self._calls):
            self._calls += 1
            task = asyncio.create_task(self._work(), name=f"acts {self._table}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_due(self, beside: int) -> bool:
        """Whether a call is to be made beside so many."""
        return len(self._waiting) >= (ACTS_A_CALL_MAX if beside else 1)

    async def _work(self) -> None:
        go_first()
        try:
            while self._is_due(beside=self._calls - 1) and (batch := self._next_batch()):
                await self._call(batch)
        finally:
            self._calls -= 1

    def _next_batch(self) -> list[Pending]:
        """Take those of the first that wait whose patrons have nothing under way."""
        batch: list[Pending] = []
        passed: list[Pending] = []
        for pending in self._waiting:
            (passed if pending.line.patron in self._in_calls else batch).append(pending)
            if len(batch) == ACTS_A_CALL_MAX:
                break
        self._waiting[: len(batch) + len(passed)] = passed
        return batch

    async def _call(self, batch: list[Pending]) -> None:
        """Have the store decide these, and tell what it has decided."""
        patrons = {pending.line.patron for pending in batch}
        self._in_calls |= patrons
        try:
            answers = await self._tables.acts(self._table, [pending.line for pending in batch])
        except StoreError as error:
            _fail(batch, error)
        except asyncio.CancelledError:
            _fail([*batch, *self._waiting], StoreAway("stopped"))
            self._waiting.clear()
            raise
        except Exception:
            log.exception("acts_failed", extra={"table": self._table})
            _fail(batch, StoreError("the acts could not be decided"))
        else:
            self._take_answers(batch, answers)
        finally:
            self._in_calls -= patrons

    def _take_answers(self, batch: list[Pending], answers: list[ActAnswer]) -> None:
        """Hold whoever needs something first, and tell the others: where more waits, behind the next call, so that the
        store and this node work at the same time."""
        needs: dict[str, Need] = {}
        decided: list[tuple[Pending, ActAnswer]] = []
        for pending, answer in zip(batch, answers, strict=True):
            patron, need = pending.line.patron, answer.need
            if need is not None:
                self._held.setdefault(patron, []).append(pending)
                needs.setdefault(patron, need)
            else:
                self._grants.pop(patron, None)
                decided.append((pending, answer))
        if needs:
            for pending in self._waiting:
                if pending.line.patron in needs:
                    self._held[pending.line.patron].append(pending)
            self._waiting = [pending for pending in self._waiting if pending.line.patron not in needs]
        for patron, need in needs.items():
            task = asyncio.create_task(self._go_on(patron, need), name=f"allowance {self._table}")
            self._obtaining.add(task)
            task.add_done_callback(self._obtaining.discard)
        if self._waiting:
            asyncio.get_running_loop().call_soon(_tell, decided)
        else:
            _tell(decided)

    async def _go_on(self, patron: str, need: Need) -> None:
        """Get a patron what is needed, then send what was held; where it can't be had, its bet is told why."""
        failure: StoreError | None = None
        self._grants[patron] = self._grants.get(patron, 0) + 1
        try:
            if self._grants[patron] > GRANTS_MAX:
                raise Refused("BUSY")
            await self._obtain(patron, self._table, need)
        except StoreError as error:
            failure = error
        except asyncio.CancelledError:
            failure = StoreAway("stopped")
            raise
        except Exception:
            log.exception("allowance_failed", extra={"table": self._table, "patron": patron})
            failure = StoreError("what the patron may bet could not be found out")
        finally:
            held = self._held.pop(patron)
            if failure is not None:
                self._grants.pop(patron, None)
                _fail(held[:1], failure)
            self._waiting = [*held[failure is not None :], *self._waiting]
            self._begin()

    async def close(self) -> None:
        """Wait for what is under way."""
        while tasks := {task for task in (*self._tasks, *self._obtaining) if not task.done()}:
            await asyncio.wait(tasks)


def _fail(batch: Sequence[Pending], error: StoreError) -> None:
    _tell([(pending, error) for pending in batch])


def _tell(decided: Sequence[tuple[Pending, ActAnswer | StoreError]]) -> None:
    for pending, answer in decided:
        pending.asker.take(pending.act, answer)
    for asker in dict.fromkeys(pending.asker for pending, _ in decided):
        asker.write()
