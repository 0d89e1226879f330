"""The verbs of patrons' own limits, on both sides: what the wallet's slot grants, and what a table's lets pass.

How the two sides work together, and why no race passes a limit, is in `server/patron_limits.py`.
"""

from typing import Any, Final, Literal, NamedTuple

import msgpack

from server.store import keys
from server.store.driver import Driver, Script
from server.store.operator_acts import UNSIGNED, Signed
from server.store.tables import Need

WITHOUT: Final = 2**53 - 1
"""Stands for no limit (`limits.lua`)."""
Side = Literal["own", "house"]
_LIMITS: Final = Script("limits", "_wallet", moves_money=True)
_LIMIT_PATRON: Final = Script("limit_patron", "_table", moves_money=True)
_RAISE: Final = Script("raise_allowance", "_table")


class Values(NamedTuple):
    """Limits of one side, None: none. `stake` and `loss` in minor units a day, `session_ms` from the first bet on."""

    stake: int | None = None
    loss: int | None = None
    session_ms: int | None = None


class Wanted(NamedTuple):
    """A change of limits: None leaves one as it is, 0 takes it away."""

    stake: int | None = None
    loss: int | None = None
    session_ms: int | None = None
    reminder_ms: int | None = None
    excluded_until_ms: int | None = None


class Limits(NamedTuple):
    """A patron's limits as read. `version` 0: there never were any. `staked` and `lost` are what tables may have used
    of the day that ends at `day_ends_at_ms`: exact once they were asked (`settle`)."""

    now_ms: int
    version: int
    own: Values
    house: Values
    next: Values | None
    next_at_ms: int | None
    reminder_ms: int
    own_excluded_until_ms: int
    house_excluded_until_ms: int
    session_at_ms: int
    session_until_ms: int
    staked: int
    lost: int
    day_ends_at_ms: int

    @property
    def excluded_until_ms(self) -> int:
        """Until when no bet is taken; 0 or past: bets are."""
        return max(self.own_excluded_until_ms, self.house_excluded_until_ms)


class Granted(NamedTuple):
    """How far a table may let a patron go."""

    stake: int
    loss: int
    session_until_ms: int


class Used(NamedTuple):
    """What a table has used, and the turn from which on it lets the patron go no further."""

    day: int
    turn: int
    stake: int
    loss: int


class LimitBook:
    """The limits of all patrons of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _of(self, patron: str, *args: str | int) -> list[Any]:
        return await self._driver.run(_LIMITS, keys.wallet_keys(patron), args)

    async def read(self, patron: str) -> Limits:
        """Read what holds. Raises `Refused` UNKNOWN_PATRON."""
        return _limits(await self._of(patron, "read"))

    async def set(self, patron: str, side: Side, wanted: Wanted, loosen_ms: int, signed: Signed = UNSIGNED) -> Limits:
        """Change one side's limits; what is looser of the patron's own holds after `loosen_ms`, what the house sets is
        entered into the log of operator acts. Raises `Refused` UNKNOWN_PATRON."""
        words = ("" if value is None else value for value in wanted)
        return _limits(await self._of(patron, "set", side, *words, loosen_ms, *signed, _details(wanted)))

    async def grant(self, patron: str, table: str, need: Need, break_ms: int) -> Granted:
        """Let a table go further. Raises `Refused` STALE, EXCLUDED, SESSION_OVER, STAKE_LIMIT, LOSS_LIMIT."""
        answer = await self._of(patron, "grant", table, *need, break_ms)
        return Granted(*(int(value) for value in answer[2:]))

    async def settle(self, patron: str, table: str, used: Used) -> None:
        """Note what a table has used, once it lets the patron go no further in that turn."""
        await self._of(patron, "settle", table, *used)

    async def limit(self, table: str, patron: str, version: int, excluded_until_ms: int) -> Used:
        """Have a table look after a patron's limits, and take back what it was granted. Raises `Refused` STALE."""
        script_args = (patron, version, excluded_until_ms)
        answer = await self._driver.run(_LIMIT_PATRON, keys.table_keys(table), script_args)
        return Used(*(int(value) for value in answer[2:]))

    async def raise_to(self, table: str, patron: str, need: Need, granted: Granted) -> None:
        """Tell a table how far it may go. Raises `Refused` STALE."""
        script_args = (patron, need.version, need.day, need.turn, *granted)
        await self._driver.run(_RAISE, keys.table_keys(table), script_args)


def _details(wanted: Wanted) -> str:
    """Tell a change in a line."""
    return " ".join(f"{name}={value}" for name, value in wanted._asdict().items() if value is not None)


def _limits(answer: list[Any]) -> Limits:
    _, now_ms, version, packed = answer
    kept = msgpack.unpackb(packed)
    day = now_ms // 86_400_000
    grants = kept["grants"].values() if kept["grants"] and kept["day"] == day else ()
    return Limits(
        now_ms=now_ms,
        version=version,
        own=_values(kept["own"]),
        house=_values(kept["house"]),
        next=_values(kept["next"]) if "next" in kept else None,
        next_at_ms=kept.get("next_at_ms"),
        reminder_ms=kept["reminder_ms"],
        own_excluded_until_ms=kept["own_excluded_until_ms"],
        house_excluded_until_ms=kept["house_excluded_until_ms"],
        session_at_ms=kept["session_at_ms"],
        session_until_ms=kept["session_until_ms"],
        staked=sum(grant["stake"] for grant in grants),
        lost=sum(grant["loss"] for grant in grants),
        day_ends_at_ms=(day + 1) * 86_400_000,
    )


def _values(kept: Any) -> Values:
    """Read one side; an empty map of Lua comes as an empty list."""
    return Values(kept.get("stake"), kept.get("loss"), kept.get("session")) if kept else Values()
