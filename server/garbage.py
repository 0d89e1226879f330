"""When Python looks for garbage that refers to itself: rarely through everything, for nobody is served meanwhile.

What was imported and built at the start never becomes garbage, and looking through it took 50 ms each time, with five
thousand half-open sockets beside it 300 ms: the longest that anything held up the loop under any attack.
"""

import gc
from typing import Final

YOUNG: Final = 700
MIDDLE: Final = 10
OLD: Final = 100
"""Objects made and not yet gone before the youngest are looked through; and so many times each before the next older
ones are. With a hundred in the place of Python's ten, seven thousand sockets may come and go between two looks at
everything: some 140 MB, if all of them refer to themselves."""


def keep_what_is_here() -> None:
    """Count all that exists now as never garbage; called once, when a node is built and nobody has come yet."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
