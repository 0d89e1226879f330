"""Admits patrons, spectators and operators by signed tokens, and lets go those whose token ends early.

A patron's wallet is opened empty with the first hello; what is in it comes from the operator (`punto-server wallet`).
Spectators and operators have none. What a token must say is `tokens.py`'s.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from client_sdk.protocol.errors import ErrorCode
from server.auth import Identity, IdentityRefused, Role
from server.clock import StoreClock
from server.jitter import jittered_s
from server.store.errors import Refused, StoreError
from server.store.revocations import Revocations, Revoked
from server.store.wallets import Wallet, Wallets
from server.tokens import Claims, TokenCheck, TokenRefused

log = logging.getLogger(__name__)

LOOK_MS: Final = 1_000
"""So often a node asks what was revoked."""
OVERLAP_MS: Final = 15_000
"""It asks for what was revoked in this time, again and again: longer than a hello may take, and than two stores' clocks
differ."""


class Admitted(Protocol):
    """A connection as far as a revocation sees it."""

    @property
    def identity(self) -> Identity | None:
        """Whose it is; None before the hello."""
        ...

    def end_revoked(self) -> None:
        """Close it: its token counts no more."""
        ...


class TokenHolders:
    """Admits who holds a token that a key of the house has signed."""

    def __init__(self, wallets: Wallets, revocations: Revocations, check: TokenCheck, clock: StoreClock) -> None:
        self._wallets = wallets
        self._revocations = revocations
        self._check = check
        self._clock = clock

    async def admit(self, name: str | None, token: str | None, bot: bool) -> Identity:
        """Say who this is, by the token alone. Raises `IdentityRefused`, `StoreError`."""
        del name, bot  # a token tells both
        if token is None:
            raise IdentityRefused(ErrorCode.TOKEN_REFUSED)
        try:
            claims = self._check.claims(token, self._clock.now_ms())
        except TokenRefused as refused:
            log.info("token_refused", extra={"reason": refused.reason})
            raise
        leeway_ms = self._check.rules.leeway_ms
        for revoked in await self._revocations.of(claims.token_id, claims.patron):
            if revoked.covers(claims.token_id, claims.patron, claims.issued_at_ms, leeway_ms):
                raise IdentityRefused(ErrorCode.TOKEN_REVOKED)
        wallet = await self._wallet(claims) if claims.role is Role.PATRON else None
        return Identity(
            patron=claims.patron,
            name=claims.name,
            bot=claims.bot,
            wallet=wallet.balance if wallet is not None else 0,
            role=claims.role,
            token_id=claims.token_id,
            issued_at_ms=claims.issued_at_ms,
            expires_at_ms=claims.expires_at_ms,
            open_buy_ins=wallet.open_count if wallet is not None else 0,
            has_limits=wallet is not None and wallet.limits_version > 0,
        )

    async def _wallet(self, claims: Claims) -> Wallet:
        """Read the patron's wallet, opened where there is none. A guest's, from open play on this store, is not given
        to a token that happens to name it."""
        wallet = await self._wallets.read(claims.patron)
        if wallet is None:
            try:
                await self._wallets.create(claims.patron, claims.name, claims.bot, "", 0)
            except Refused as refused:
                if refused.code != "WALLET_EXISTS":  # a second hello was faster
                    raise
            wallet = await self._wallets.read(claims.patron)
        if wallet is None or wallet.token_sha256:
            log.warning("token_names_a_guest", extra={"patron": claims.patron})
            raise IdentityRefused(ErrorCode.TOKEN_REFUSED)
        return wallet

    async def watch(self, connections: Callable[[], Iterable[Admitted]]) -> None:
        """Close, within a second or two, the connections whose token was revoked; until cancelled."""
        while True:
            await asyncio.sleep(jittered_s(LOOK_MS))
            try:
                entries = await self._revocations.since(self._clock.now_ms() - OVERLAP_MS)
            except StoreError as error:
                log.warning("revocations_not_read", extra={"reason": str(error)})
                continue
            if entries:
                for connection in list(connections()):
                    if self._is_revoked(connection.identity, entries):
                        connection.end_revoked()

    def _is_revoked(self, identity: Identity | None, entries: Iterable[Revoked]) -> bool:
        if identity is None:
            return False
        return any(
            entry.covers(identity.token_id, identity.patron, identity.issued_at_ms, self._check.rules.leeway_ms)
            for entry in entries
        )
