"""Background tasks with an owner: each is kept, its failure is reported, all are ended and awaited together."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Tasks:
    """The tasks of one owner. `failed` is told of every one that ended by an exception, which was logged already."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._failed = failed

    def __len__(self) -> int:
        return len(self._running)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run `work` in a task that ends by itself, or with all the others."""
        task = self.start_stoppable(work, name)
        assert not task.done(), "a task runs when its starter waits"

    def start_stoppable(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` in a task that the caller may cancel before all the others."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancel all tasks and wait for their ends, except for the one that asks."""
        tasks = self._running - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("task_failed", exc_info=error, extra={"task": task.get_name()})
            self._failed(error)
