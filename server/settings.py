"""What an operator decides: immutable, and checked once at the start for what has to fit together.

Each value by itself is read and bounded by `server/options/`; nothing else reads flags, the file or the environment. A
mistake raises `BadSetting`, which names the option.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from client_sdk.game.shoe import CUT_CARD_DEFAULT
from client_sdk.game.variants import VARIANTS, Spot, Variant
from client_sdk.protocol.messages import TableRules
from server.limits import impossible, rounds_commission
from server.shoes import StackedRounds
from server.tls import BadCertificate, server_context
from server.token_keys import BadKeys, read_keys
from server.tokens import TokenRules

CAPPED_VARIANT: Final = "royal"
SEATS_MAX: Final = 5_000
PLAY_MONEY: Final = 1_000_000
PLAY_MONEY_MAX: Final = 10**12
DURATION_MS_MAX: Final = 600_000
RENEWALS_MIN: Final = 3
"""So many renewals of a lease fit into it: one that is late, or lost, must not cost the table."""


class BadSetting(ValueError):
    """A setting that can't be. `key` is its option ('' where it is none); `named` says it as the operator wrote it."""

    def __init__(self, problem: str, key: str = "", name: str = "") -> None:
        super().__init__(problem, key, name)
        self.problem = problem
        self.key = key
        self.name = name or (f"--{key.replace('_', '-')}" if key else "")

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}" if self.name else self.problem

    def named(self, name: str) -> "BadSetting":
        """Say the same of the option under another name."""
        return BadSetting(self.problem, self.key, name)


class Told(NamedTuple):
    """What a node tells the others at its start, option -> value: what has to be the same as long as the store lives,
    and what has to be the same on all nodes that run at one time."""

    of_store: Mapping[str, str]
    of_nodes: Mapping[str, str]


NOTHING_TOLD: Final = Told(MappingProxyType({}), MappingProxyType({}))


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
class Limits:
    """What an operator decides of one table, beside its variant."""

    stakes: Stakes = field(default_factory=Stakes)
    pace: Pace = field(default_factory=Pace)
    cut_card: int = CUT_CARD_DEFAULT
    seats_max: int = SEATS_MAX

    def rules(self, variant: Variant, *, stacked: bool = False) -> TableRules:
        """Make the rules of a table of this variant."""
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
            cut_card=None if variant.shuffles_every_round or stacked else self.cut_card,
            seats_max=self.seats_max,
            betting_ms=self.pace.betting_ms,
            card_ms=self.pace.card_ms,
            result_ms=self.pace.result_ms,
            grace_ms=self.pace.grace_ms,
            stacked=stacked,
            stated_rtp=variant.stated_rtp,
        )


@dataclass(frozen=True, slots=True)
class Times:
    """How long a node waits, ms, and how often it says that it is there."""

    lease_ms: int = 1_200
    renew_ms: int = 300
    store_ms: int = 3_000
    confirm_ms: int = 1_000

    def impossible(self, confirm_replicas: int) -> BadSetting | None:
        """Say which of them do not fit together, None where all do."""
        if RENEWALS_MIN * self.renew_ms > self.lease_ms:
            return BadSetting(
                f"{self.renew_ms} ms leaves no {RENEWALS_MIN} renewals within --lease-ms {self.lease_ms}", "renew_ms"
            )
        if confirm_replicas and self.confirm_ms >= self.store_ms:
            return BadSetting(
                f"{self.confirm_ms} ms is no less than --store-ms {self.store_ms}: every wait for a replica would be "
                "cut short",
                "confirm_ms",
            )
        return None


@dataclass(frozen=True, slots=True)
class PlayBreaks:
    """How patrons' own limits work in time, ms."""

    limit_loosen_ms: int = 86_400_000
    session_break_ms: int = 900_000


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """Who may connect, how long it may take, and how much one address, one patron and the whole node may have.

    A rate may be exceeded in a burst of ten seconds' worth (`buckets.py`).
    """

    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    handshake_ms: int = 10_000
    hello_ms: int = 10_000
    handshakes_max: int = 1_000
    connections_max: int = 10_000
    connections_per_address: int = 256
    connections_per_patron: int = 32
    node_opens_per_s: int = 600
    address_opens_per_s: int = 20
    address_guests_per_s: int = 5
    address_requests_per_s: int = 1_000
    patron_requests_per_s: int = 100
    node_requests_per_s: int = 20_000
    outbox_bytes_max: int = 512 * 1024
    outboxes_bytes_max: int = 128 * 1024**2


@dataclass(frozen=True, slots=True)
class Settings:
    """How a node runs."""

    host: str = "127.0.0.1"
    port: int = 8765
    store: str = "embedded"
    data: Path = Path("data")
    open_play: bool = False
    token_keys: Path | None = None
    tokens: TokenRules = field(default_factory=TokenRules)
    play_money: int = PLAY_MONEY
    currency: str = "PTO"
    exponent: int = 2
    pace: Pace = field(default_factory=Pace)
    stakes: Stakes = field(default_factory=Stakes)
    times: Times = field(default_factory=Times)
    doors: DoorLimits = field(default_factory=DoorLimits)
    play_breaks: PlayBreaks = field(default_factory=PlayBreaks)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    cut_card: int = CUT_CARD_DEFAULT
    seats_max: int = SEATS_MAX
    stacked_shoe: Path | None = None
    stacked_rounds: StackedRounds | None = None
    seal_key: Path | None = None
    demo_bots: int = 0
    workers: int = 0
    worker: int = 0
    confirm_replicas: int = 0
    accept_unsafe_store: bool = False
    accept_other_settings: bool = False
    admin: tuple[str, int] | None = None
    log_format: str = "text"
    log_level: str = "info"
    told: Told = NOTHING_TOLD

    def __post_init__(self) -> None:
        self._check_identity()
        if self.workers and self.port == 0:
            raise BadSetting("needs a port of its own in --listen, which all of them share", "workers")
        if bad := self.times.impossible(self.confirm_replicas):
            raise bad
        if self.doors.outboxes_bytes_max < 2 * self.doors.outbox_bytes_max:
            raise BadSetting("leaves no room for two of --outbox-bytes-max", "outboxes_bytes_max")
        self._check_tls()
        for rules in self.tables().values():
            if found := impossible(rules):
                raise BadSetting(found.problem, found.key)

    @property
    def stacked(self) -> bool:
        """Whether the shoes come from a file."""
        return self.stacked_shoe is not None

    def _check_identity(self) -> None:
        """Guests and real patrons never meet at one table, or play money would win real money."""
        if self.open_play and self.token_keys is not None:
            raise BadSetting("not together with --open: play money and real patrons never meet", "token_keys")
        for key, is_given in (("stacked_shoe", self.stacked), ("demo_bots", self.demo_bots)):
            if is_given and not self.open_play:
                raise BadSetting("only in open play (--open)", key)
        if not self.open_play and self.token_keys is None:
            raise BadSetting("who may come in? --open (guests with play money) or --token-keys FILE (signed tokens)")
        if self.token_keys is not None:
            try:
                read_keys(self.token_keys)
            except (OSError, BadKeys) as error:
                reason = error.strerror if isinstance(error, OSError) else error
                raise BadSetting(f"{self.token_keys}: {reason}", "token_keys") from None

    def _check_tls(self) -> None:
        if (self.tls_cert is None) is not (self.tls_key is None):
            missing, given = ("tls_key", "cert") if self.tls_key is None else ("tls_cert", "key")
            raise BadSetting(f"is needed beside --tls-{given}", missing)
        if self.tls_cert is not None and self.tls_key is not None:
            try:
                server_context(self.tls_cert, self.tls_key)
            except BadCertificate as bad:
                raise BadSetting(str(bad), f"tls_{bad.which}") from None

    def tables(self) -> Mapping[str, TableRules]:
        """The tables this house opens: one for each variant."""
        limits = Limits(self.stakes, self.pace, self.cut_card, self.seats_max)
        return {f"{name}-1": limits.rules(variant, stacked=self.stacked) for name, variant in VARIANTS.items()}

    def notes(self) -> list[str]:
        """What an operator should know of these settings beside that they are possible, a line each."""
        rounded = [table for table, rules in self.tables().items() if rounds_commission(rules)]
        notes = [f"banker commission is rounded up to the minor unit at {', '.join(rounded)}"] if rounded else []
        return [*notes, "the shoes are stacked: the cards come from a file"] if self.stacked else notes
