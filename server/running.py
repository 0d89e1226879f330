"""Tasks beside a block: owned by it, ended with it, and never failing unseen."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def running(*coroutines: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run tasks beside the block, and cancel them after it; one that fails ends the block with its error."""
    has_ended = False
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
            yield
            has_ended = True
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        if not has_ended:
            raise errors.exceptions[0] from None
