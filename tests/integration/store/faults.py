"""A driver whose calls fail on demand: before they reach the store, after they were done, or done only later."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

from server.store.driver import Answer, Driver, Outcome, Script
from server.store.errors import Refused, StoreAway, StoreError

Mode = Literal["before", "after", "late"]


async def one_by_one(
    run: Callable[[Script, Sequence[str], Sequence[str | bytes | int]], Awaitable[Answer]],
    script: Script,
    calls: Sequence[tuple[Sequence[str], Sequence[str | bytes | int]]],
) -> list[Outcome]:
    """Run many calls so that each can be the one that fails."""
    found: list[Outcome] = []
    for keys, args in calls:
        try:
            found.append(await run(script, keys, args))
        except Refused as refused:
            found.append(refused)
    return found


class Fault(NamedTuple):
    """Which of the next script runs fails (0 the very next), and how."""

    run: int
    mode: Mode


class FaultyDriver(Driver):
    """Raises `StoreAway` where told to. A `late` run reaches the store only with `let_late_runs_through`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._fault: Fault | None = None
        self._late: list[tuple[Script, Sequence[str], Sequence[str | bytes | int]]] = []

    def arm(self, fault: Fault | None) -> None:
        """Let one of the next runs fail, or none."""
        self._fault = fault

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int] = ()) -> Answer:
        fault, self._fault = self._fault, None
        if fault is None or fault.run > 0:
            self._fault = fault and fault._replace(run=fault.run - 1)
            return await super().run(script, keys, args)
        if fault.mode == "after":
            try:
                await super().run(script, keys, args)
            except StoreError:
                pass  # its answer is lost as well
        elif fault.mode == "late":
            self._late.append((script, keys, args))
        raise StoreAway(f"{fault.mode} {script.name}")

    async def run_many(
        self, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[str | bytes | int]]]
    ) -> list[Outcome]:
        """One after another, so that each can be the one that fails."""
        return await one_by_one(self.run, script, calls)

    async def let_late_runs_through(self) -> None:
        """What was held up on the way arrives now, in any case after what came later."""
        late, self._late = self._late, []
        for script, keys, args in late:
            try:
                await super().run(script, keys, args)
            except StoreError:
                pass  # nobody waits for this answer
