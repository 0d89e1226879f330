"""When Python looks for garbage that refers to itself: through what is young as ever, through everything almost never,
for nobody is served meanwhile.

Looking through five thousand seats took 700 ms. It is of little use: what was made at the start never becomes garbage,
and sockets are made so that nothing of them refers to itself when they end (`sockets.py`). So everything is looked
through once in very many sockets.
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
"""Between two looks through everything; they are counted every COUNT_S."""
COUNT_S: Final = 60.0
SOCKETS_A_YOUNG_LOOK: Final = 25
YOUNG_LOOKS: Final = 4
"""The youngest objects of so many sockets are looked through each time, some two thousand; each fourth time those as
well that were left then."""


def keep_what_is_here() -> None:
    """Count all that exists now as never garbage; called once, when a node is built and nobody has come yet."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


def count_socket(number: int) -> None:
    """Look through what is young as often as sockets come, called with the number of each.

    Python does it when more was made than has gone. While sockets go as fast as others come that is seldom, and all
    that has come meanwhile is looked through in one go then: 60 to 100 ms under a flood of half-open ones.
    """
    if number % SOCKETS_A_YOUNG_LOOK == 0:
        gc.collect(1 if number % (SOCKETS_A_YOUNG_LOOK * YOUNG_LOOKS) == 0 else 0)


async def look_now_and_then(sockets_made: Callable[[], int]) -> None:
    """Look through everything, until cancelled, once in very many sockets."""
    looked_at = sockets_made()
    while True:
        await asyncio.sleep(COUNT_S)
        if sockets_made() - looked_at >= SOCKETS_A_LOOK:
            looked_at = sockets_made()
            gc.collect()
