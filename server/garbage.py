"""When Python looks for garbage that refers to itself: through what is young as ever, through everything almost never,
for nobody is served meanwhile.

Looking through five thousand seats took 700 ms. It is of little use: what was made at the start never becomes garbage,
and sockets are made so that nothing of them refers to itself when they end (`sockets.py`), but for a kilobyte each of
asyncio's own. So everything is looked through once in very many sockets.
"""

import asyncio
import gc
from collections.abc import Callable
from typing import Final

YOUNG: Final = 700
MIDDLE: Final = 10
NEVER: Final = 1_000_000_000
"""Objects made and not yet gone before the youngest are looked through; and so many times each before the next older
ones are."""
SOCKETS_A_LOOK: Final = 100_000
"""So many leave some 100 MB."""
COUNT_S: Final = 60.0


def keep_what_is_here() -> None:
    """Count all that exists now as never garbage; called once, when a node is built and nobody has come yet."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


async def look_now_and_then(sockets_made: Callable[[], int]) -> None:
    """Look through everything, until cancelled, once in very many sockets."""
    looked_at = sockets_made()
    while True:
        await asyncio.sleep(COUNT_S)
        if sockets_made() - looked_at >= SOCKETS_A_LOOK:
            looked_at = sockets_made()
            gc.collect()
