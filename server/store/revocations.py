"""Tokens that count no more before they expire: by their own id, or all that a patron had until an instant.

One sorted set, scored by when it was revoked on the clock of the store that holds it. An entry is needed for no longer
than a token may live; whoever revokes sweeps out what is older.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from server.store import keys
from server.store.driver import Driver, Script
from server.store.operator_acts import UNSIGNED, Signed

_REVOKE: Final = Script("revoke", None)
_BY_ID: Final = "t:"
_PATRON: Final = "p:"


class Revoked(NamedTuple):
    """One entry: `token_id` or `patron` is set, the other ''."""

    token_id: str
    patron: str
    at_ms: int

    def covers(self, token_id: str, patron: str, issued_at_ms: int, leeway_ms: int) -> bool:
        """Whether a token counts no more by this. The issuer's clock may be ahead by the leeway, so a patron's token
        counts again only where it was issued later than that."""
        if self.token_id:
            return token_id == self.token_id
        return patron == self.patron and issued_at_ms <= self.at_ms + leeway_ms


class Revocations:
    """All of one store."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def revoke(self, *, token_id: str = "", patron: str = "", kept_ms: int, signed: Signed = UNSIGNED) -> int:
        """Note that a token, or a patron's tokens so far, count no more, and enter it into the log of operator acts;
        returns when, by the store's clock."""
        assert bool(token_id) != bool(patron), "one of them"
        member = f"{_BY_ID}{token_id}" if token_id else f"{_PATRON}{patron}"
        details = f"token {token_id}" if token_id else f"all of patron {patron}"
        script_keys, args = (keys.REVOKED, keys.REVOKED_ACTS), (member, kept_ms, *signed, details)
        return int((await self._driver.run(_REVOKE, script_keys, args))[1])

    async def of(self, token_id: str, patron: str) -> list[Revoked]:
        """Look up what was revoked of this token and this patron."""
        members = [f"{_PATRON}{patron}", *([f"{_BY_ID}{token_id}"] if token_id else [])]
        scores = await self._driver.call("ZMSCORE", keys.REVOKED, *members)
        return [
            _revoked(member, int(float(score)))
            for member, score in zip(members, scores, strict=True)
            if score is not None
        ]

    async def since(self, at_ms: int) -> Sequence[Revoked]:
        """List what was revoked at this instant or later."""
        flat = await self._driver.call("ZRANGE", keys.REVOKED, at_ms, "+inf", "BYSCORE", "WITHSCORES")
        pairs = flat if flat and isinstance(flat[0], list | tuple) else list(zip(flat[::2], flat[1::2], strict=True))
        return [_revoked(member.decode(), int(float(score))) for member, score in pairs]


def _revoked(member: str, at_ms: int) -> Revoked:
    name = member[len(_BY_ID) :]
    return Revoked(name, "", at_ms) if member.startswith(_BY_ID) else Revoked("", name, at_ms)
