"""What a fleet of bots is told to do, as one value.

It stands apart from `fleet` so that reading a command line does not load a client. Read next: `fleet`.
"""

from dataclasses import dataclass
from typing import Final, Literal

STRATEGY_NAMES: Final = ("flat", "mixed", "busy")
"""Those of `strategies.STRATEGIES`."""
Codecs = Literal["msgpack", "json", "mixed"]
CODEC_NAMES: Final[tuple[Codecs, ...]] = ("msgpack", "json", "mixed")


@dataclass(frozen=True, slots=True)
class Orders:
    """`tables` are ids, empty for all; amounts in minor units; what is None follows from the tables' rules.

    With `codec` mixed every other bot speaks JSON. The bets follow from `seed` as far as timing allows.
    """

    url: str
    patrons: int
    rounds: int
    seed: str
    strategy: str = "mixed"
    codec: Codecs = "msgpack"
    tables: tuple[str, ...] = ()
    buy_in: int | None = None
    presses_ready: bool = True
    timeout_ms: int | None = None
