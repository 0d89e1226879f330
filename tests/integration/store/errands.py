"""Something under way against the store that stops before each of its calls, so that a test decides what happens next:
the call is done, lost, done without an answer, or done only later; or whoever made it is gone."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, cast, get_args

from server.store.driver import Answer, Driver, Outcome, Script
from server.store.errors import Refused, StoreAway, StoreError
from tests.integration.store.faults import one_by_one

Fate = Literal["done", "lost", "unanswered", "late"]
FATES: Final[tuple[Fate, ...]] = get_args(Fate)
Call = tuple[Script, Sequence[str], Sequence[str | bytes | int]]
REACH_S: Final = 20.0


class StoppingDriver:
    """Stands for a driver, and waits for a `fate` before each script is run. Reads go through."""

    def __init__(self, driver: Driver, late: list[Call]) -> None:
        self.stopped = asyncio.Event()
        self._driver = driver
        self._late = late
        self._fate: asyncio.Future[Fate] = asyncio.Future()

    def let(self, fate: Fate) -> None:
        """Say what becomes of the call that waits."""
        self.stopped.clear()
        self._fate.set_result(fate)

    async def call(self, *words: Any) -> Any:
        return await self._driver.call(*words)

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int] = ()) -> Answer:
        self._fate = asyncio.Future()
        self.stopped.set()
        fate = await self._fate
        if fate == "done":
            return await self._driver.run(script, keys, args)
        if fate == "unanswered":
            with suppress(StoreError):
                await self._driver.run(script, keys, args)
        if fate == "late":
            self._late.append((script, keys, args))
        raise StoreAway(f"{fate} {script.name}")

    async def run_many(
        self, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[str | bytes | int]]]
    ) -> list[Outcome]:
        """One after another, each with a fate of its own."""
        return await one_by_one(self.run, script, calls)


class Errand:
    """One of them. `start` gets the driver to work with."""

    def __init__(
        self, driver: Driver, late: list[Call], start: Callable[[Driver], Coroutine[Any, Any, object]], name: str
    ) -> None:
        self._driver = StoppingDriver(driver, late)
        self._task = asyncio.create_task(start(cast("Driver", self._driver)), name=name)

    def __repr__(self) -> str:
        return f"<Errand {self._task.get_name()}>"

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def reach(self) -> None:
        """Come to the next call, or to the end. Raises what is no refusal and no failure of the store."""
        stop = asyncio.create_task(self._driver.stopped.wait())
        await asyncio.wait({stop, self._task}, timeout=REACH_S, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if self._task.done():
            with suppress(StoreError):
                self._task.result()
        else:
            assert self._driver.stopped.is_set(), f"{self} hangs"

    async def step(self, fate: Fate) -> None:
        """Let the call that waits have this fate, and come to the next."""
        self._driver.let(fate)
        await self.reach()

    async def crash(self) -> None:
        """Whoever went on this errand is gone."""
        self._task.cancel()
        await asyncio.wait({self._task})

    @property
    def refusal(self) -> str:
        """The code with which it ended ('' none)."""
        error = self._task.exception() if self.is_over and not self._task.cancelled() else None
        return error.code if isinstance(error, Refused) else ""

    def result(self) -> Any:
        """What came of it; None where it did not end well."""
        is_good = self.is_over and not self._task.cancelled() and self._task.exception() is None
        return self._task.result() if is_good else None
