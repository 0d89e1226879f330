"""What an operator decides: checked once at the start, immutable from then on.

The command line is read in `cli.py`; nothing else reads flags or the environment. A mistake raises `BadSetting`, whose
sentence names the flag.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from client_sdk.game.shoe import CUT_CARD_DEFAULT, CUT_CARD_MIN
from client_sdk.game.variants import VARIANTS, Spot, Variant
from client_sdk.protocol.messages import AMOUNT_MAX, TableRules
from server.limits import impossible, rounds_commission
from server.shoes import Shoes, ShuffledShoes

CAPPED_VARIANT: Final = "royal"
SEATS_MAX: Final = 5_000
PLAY_MONEY: Final = 1_000_000
PLAY_MONEY_MAX: Final = 10**12
DURATION_MS_MAX: Final = 600_000


class BadSetting(ValueError):
    """A setting that can't be; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of a table, ms."""

    betting_ms: int = 15_000
    card_ms: int = 700
    result_ms: int = 4_000
    grace_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Stakes:
    """What may be bet, the same at every table, in minor units.

    `table_maximum` bounds what all seats have on PLAYER or on BANKER together; on the tie the bound is as much smaller
    as its maximum is, for it pays as much more. 0: no bound. `win_max` caps the win of one bet where the variant has a
    cap (0: it has none): a tie of 100.00 at 8 to 1 would win 800.00 and is cut to 750.00.
    """

    chips: tuple[int, ...] = (100, 500, 2_500, 10_000, 50_000)
    minimum: int = 100
    maximum: int = 50_000
    tie_maximum: int = 10_000
    table_maximum: int = 10_000_000
    win_max: int = 75_000

    def maximums(self, spots: Iterable[Spot]) -> dict[Spot, int]:
        """What one patron may have on each of these spots."""
        return {spot: self.tie_maximum if spot is Spot.TIE else self.maximum for spot in spots}

    def table_maximums(self, spots: Iterable[Spot]) -> dict[Spot, int]:
        """What all of them may have there together."""
        if self.table_maximum == 0:
            return {}
        maximums = self.maximums(spots)
        return {spot: self.table_maximum * maximum // self.maximum for spot, maximum in maximums.items()}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a node runs."""

    host: str = "127.0.0.1"
    port: int = 8765
    store: str = "embedded"
    data: Path = Path("data")
    open_play: bool = False
    play_money: int = PLAY_MONEY
    currency: str = "PTO"
    exponent: int = 2
    pace: Pace = field(default_factory=Pace)
    stakes: Stakes = field(default_factory=Stakes)
    cut_card: int = CUT_CARD_DEFAULT
    seats_max: int = SEATS_MAX
    stacked: bool = False
    shoes: Shoes = field(default_factory=ShuffledShoes)
    demo_bots: int = 0
    workers: int = 0
    worker: int = 0
    confirm_replicas: int = 0
    accept_unsafe_store: bool = False

    def __post_init__(self) -> None:
        if not self.open_play:
            raise BadSetting("only open play is there yet: start with --open (guests with play money)")
        if not 0 <= self.port < 65_536:
            raise BadSetting(f"--listen: no such port: {self.port}")
        for name in ("betting_ms", "card_ms", "result_ms", "grace_ms"):
            value = getattr(self.pace, name)
            least = 100 if name == "betting_ms" else 0
            if not least <= value <= DURATION_MS_MAX:
                flag = name.replace("_", "-")
                raise BadSetting(f"--{flag}: {value} is not between {least} and {DURATION_MS_MAX} ms")
        if not CUT_CARD_MIN <= self.cut_card <= 200:
            raise BadSetting(f"--cut-card: {self.cut_card} is not between {CUT_CARD_MIN} and 200 cards from the end")
        if not 1 <= self.seats_max <= SEATS_MAX:
            raise BadSetting(f"--seats-max: {self.seats_max} is not between 1 and {SEATS_MAX}")
        if not 0 <= self.play_money <= PLAY_MONEY_MAX:
            raise BadSetting(f"--play-money: {self.play_money} is not between 0 and {PLAY_MONEY_MAX}")
        if not 0 <= self.demo_bots <= 100:
            raise BadSetting(f"--demo-bots: {self.demo_bots} is not between 0 and 100")

        if not 0 <= self.workers <= 64:
            raise BadSetting(f"--workers: {self.workers} is not between 0 and 64")
        if self.workers and self.port == 0:
            raise BadSetting("--workers: needs a port of its own in --listen, which all of them share")
        if not 0 <= self.confirm_replicas <= 16:
            raise BadSetting(f"--confirm-replicas: {self.confirm_replicas} is not between 0 and 16")
        for name in ("maximum", "tie_maximum", "table_maximum", "win_max"):
            least = 1 if name in ("maximum", "tie_maximum") else 0
            if not least <= (value := getattr(self.stakes, name)) <= AMOUNT_MAX:
                raise BadSetting(f"--{name.replace('_', '-')}: {value} is not between {least} and {AMOUNT_MAX}")
        for rules in self.tables().values():
            if reason := impossible(rules):
                raise BadSetting(reason)

    def tables(self) -> Mapping[str, TableRules]:
        """The tables this house opens: one for each variant."""
        return {f"{name}-1": self._rules(variant) for name, variant in VARIANTS.items()}

    def notes(self) -> list[str]:
        """What an operator should know of these settings beside that they are possible, a line each."""
        rounded = [table for table, rules in self.tables().items() if rounds_commission(rules)]
        notes = [f"banker commission is rounded up to the minor unit at {', '.join(rounded)}"] if rounded else []
        return [*notes, "the shoes are stacked: the cards come from a file"] if self.stacked else notes

    def _rules(self, variant: Variant) -> TableRules:
        return TableRules(
            variant=variant.name,
            decks=variant.decks,
            shuffles_every_round=variant.shuffles_every_round,
            commission_bp=variant.commission_bp,
            tie_pays=variant.tie_pays,
            forbidden_pairs=[sorted(pair) for pair in variant.forbidden_pairs],
            minimum=self.stakes.minimum,
            maximums=self.stakes.maximums(variant.spots),
            table_maximums=self.stakes.table_maximums(variant.spots),
            chips=list(self.stakes.chips),
            win_max=(self.stakes.win_max or None) if variant.name == CAPPED_VARIANT else None,
            cut_card=None if variant.shuffles_every_round or self.stacked else self.cut_card,
            seats_max=self.seats_max,
            betting_ms=self.pace.betting_ms,
            card_ms=self.pace.card_ms,
            result_ms=self.pace.result_ms,
            grace_ms=self.pace.grace_ms,
            stacked=self.stacked,
        )
