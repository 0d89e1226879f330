"""A scenario as a value: what is played, where, how often, and what may be expected of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.chaos.stage import Plot, Stage

NODES: Final = Plot()
PROXIED: Final = Plot(is_proxied=True)
WORKERS: Final = Plot(workers=2)
CLUSTER: Final = Plot(store="cluster", nodes=2, confirm_replicas=1)
SENTINEL: Final = Plot(store="sentinel", nodes=2, confirm_replicas=1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is played where. `repeats` in the long form and in the short one. `loses_acts`, `loses_claims`: see
    `Evidence`."""

    name: str
    play: Callable[[Stage], Awaitable[None]]
    plot: Plot = NODES
    repeats: tuple[int, int] = (5, 1)
    patrons: tuple[int, int] = (40, 20)
    buy_in: int | None = None
    """What each patron sits down with, if more than for some bets."""
    loses_acts: bool = False
    loses_claims: bool = False
    takes_any_store: bool = False
    commit_ms_max: int | None = None
    """Within this time after the fault a new owner has made its first commit."""
    ends_patrons: bool = False
    """Whether patrons can't be expected to come through it."""

    long_betting_ms: int | None = None
    """In the long form, where its patrons are more than one process serves at the usual pace."""

    def at_length(self) -> "Scenario":
        """The same for the long form."""
        if self.long_betting_ms is None:
            return self
        return replace(self, plot=replace(self.plot, betting_ms=self.long_betting_ms))

    def on(self, store: str) -> "Scenario":
        """The same on another kind of store, where it may be any; '' leaves it where it is."""
        if not store or not self.takes_any_store:
            return self
        return replace(self, plot=replace(self.plot, store=store))
