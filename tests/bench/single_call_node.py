"""`punto-server` that sends each act to the store in a call of its own, for comparison: `python -m
tests.bench.single_call_node serve ...`.

Everything else is the product's own command line. Calls may wait long for their place, as thousands do in a burst.
"""

import asyncio
import sys

from server import node
from server.batcher import Batcher
from server.cli import main
from server.store import sender
from server.store.tables import ActAnswer, ActLine


class SingleCalls(Batcher):
    """The acts of one table, each in a queue of its own."""

    def submit(self, line: ActLine) -> asyncio.Future[ActAnswer]:
        """Send an act; the future gives its answer or a `StoreError`."""
        return Batcher(self._table, self._tables, self._obtain).submit(line)


setattr(node, "Batcher", SingleCalls)  # noqa: B010 - a replaced import, which mypy would refuse
setattr(sender, "WAIT_MS_MAX", 120_000)  # noqa: B010 - the same

if __name__ == "__main__":
    sys.exit(main())
