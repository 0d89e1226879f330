"""What a fleet of bots is told to do, as one value.

It stands apart from `fleet` so that reading a command line does not load a client. Read next: `fleet`.
"""

from dataclasses import dataclass
from random import Random
from typing import Final, Literal

STRATEGY_NAMES: Final = ("flat", "mixed", "busy")
"""Those of `strategies.STRATEGIES`."""
Codecs = Literal["msgpack", "json", "mixed"]
CODEC_NAMES: Final[tuple[Codecs, ...]] = ("msgpack", "json", "mixed")


@dataclass(frozen=True, slots=True)
class Orders:
    """`tables` are ids, empty for all; amounts in minor units; what is None follows from the tables' rules.

    With `codec` mixed every other bot speaks JSON. The bets follow from `seed` as far as timing allows. The patrons are
    shared out over `processes`; `share` is the part of this one, counted from 0.
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
    processes: int = 1
    share: int = 0
    ramp_ms: int = 0
    """Over which they come, one after the other; 0 for as fast as they get in."""
    late_joiners: int = 0
    """So many of the patrons come when the others sit already."""
    droppers: int = 0
    """So many cut their connection now and then, and go on where they were."""
    slow_readers: int = 0
    """So many leave unread what comes, for seconds, now and then."""
    last_second: bool = False
    """Whether all bets are laid in the last second of betting."""

    @property
    def numbers(self) -> range:
        """The bots of this share, each with the number that it has in the whole fleet."""
        return range(self.share + 1, self.patrons + 1, self.processes)

    @property
    def habits(self) -> "Habits":
        """Who comes late, drops and reads slowly: the same bots for the same seed, in every share."""
        chance = Random(f"{self.seed} habits")
        numbers = range(1, self.patrons + 1)
        late = frozenset(chance.sample(numbers, self.late_joiners))
        droppers = frozenset(chance.sample(numbers, self.droppers))
        rest = [number for number in numbers if number not in droppers]
        return Habits(late, droppers, frozenset(chance.sample(rest, min(len(rest), self.slow_readers))))


@dataclass(frozen=True, slots=True)
class Habits:
    """Numbers of bots."""

    late: frozenset[int]
    droppers: frozenset[int]
    slow_readers: frozenset[int]
