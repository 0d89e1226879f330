"""What one bot is to do, as a value. Read next: `bot`."""

from dataclasses import dataclass

from client_sdk.bots.strategies import Strategy
from client_sdk.client import CodecName


@dataclass(frozen=True, slots=True)
class Plan:
    """`rounds` counts rounds with bets; `buy_in` is in minor units, None follows from the table's smallest bet."""

    name: str
    url: str
    codec: CodecName
    strategy: Strategy
    rounds: int
    buy_in: int | None
    presses_ready: bool
    acts_late: bool
    comes_ms: float = 0.0
    """So long after the fleet began."""
    drops: bool = False
    reads_slowly: bool = False
    bets_last_second: bool = False
