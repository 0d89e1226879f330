"""Who somebody is: what a hello comes to, and the guests of open play.

A guest gets a wallet of play money and a token, and the token is the identity from then on; the store keeps only its
SHA-256. Patrons who come with a signed token are `members.py`'s. A token is never logged and never part of an error.
"""

import hashlib
import hmac
import secrets
import unicodedata
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from client_sdk.protocol.errors import ErrorCode
from server.store.wallets import Wallets

NAME_CHARS_MAX: Final = 24
_PREFIX: Final = "guest"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"})
_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters that show as nothing."""


class Role(StrEnum):
    """What a connection may do. Only a patron sits, bets and has money; the others look on."""

    PATRON = "patron"
    SPECTATOR = "spectator"
    OPERATOR = "operator"


class Identity(NamedTuple):
    """Somebody who has shown who it is. `token` is set only where it was just made; `token_id`, `issued_at_ms` and
    `expires_at_ms` are those of a signed token. `open_buy_ins` says to how many tables money is on its way,
    `has_limits` whether the patron ever had any."""

    patron: str
    name: str
    bot: bool
    wallet: int
    token: str | None = None
    role: Role = Role.PATRON
    token_id: str = ""
    issued_at_ms: int = 0
    expires_at_ms: int | None = None
    open_buy_ins: int = 0
    has_limits: bool = False

    def __repr__(self) -> str:
        return f"Identity(patron={self.patron!r}, name={self.name!r}, bot={self.bot}, role={self.role})"

    def is_same_as(self, other: "Identity") -> bool:
        """Whether a refreshed token goes on with the same somebody."""
        return (self.patron, self.role, self.bot) == (other.patron, other.role, other.bot)


class IdentityRefused(Exception):
    """The hello does not say who somebody is."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


def clean_name(name: str) -> str:
    """Make a display name: one spelling, no controls, no marks that hide or turn text, single spaces inside.

    Raises `IdentityRefused` NAME_REFUSED where nothing visible is left or it is longer than NAME_CHARS_MAX.
    """
    composed = unicodedata.normalize("NFKC", name)
    visible = (char for char in composed if unicodedata.category(char) not in _INVISIBLE and char not in _BLANK)
    cleaned = " ".join("".join(visible).split())
    if not 1 <= len(cleaned) <= NAME_CHARS_MAX:
        raise IdentityRefused(ErrorCode.NAME_REFUSED)
    return cleaned


class Admission(Protocol):
    """Decides who is admitted."""

    async def admit(self, name: str | None, token: str | None, bot: bool) -> Identity:
        """Say who this is. Raises `IdentityRefused`, `StoreError`."""
        ...


class Guests:
    """Admits guests with play money (`--open`)."""

    def __init__(self, wallets: Wallets, play_money: int) -> None:
        self._wallets = wallets
        self._play_money = play_money

    async def admit(self, name: str | None, token: str | None, bot: bool) -> Identity:
        """Say who this is: the owner of the token, or a new guest. Raises `IdentityRefused`."""
        if token is not None:
            return await self._recognise(token)
        if name is None:
            raise IdentityRefused(ErrorCode.NAME_REFUSED)
        return await self._welcome(clean_name(name), bot)

    async def _recognise(self, token: str) -> Identity:
        prefix, _, rest = token.partition(".")
        patron, _, _ = rest.partition(".")
        wallet = await self._wallets.read(patron) if prefix == _PREFIX and patron else None
        if wallet is None or not hmac.compare_digest(wallet.token_sha256, _digest(token)):
            raise IdentityRefused(ErrorCode.TOKEN_REFUSED)
        return Identity(
            patron,
            wallet.name,
            wallet.bot,
            wallet.balance,
            open_buy_ins=wallet.open_count,
            has_limits=wallet.limits_version > 0,
        )

    async def _welcome(self, name: str, bot: bool) -> Identity:
        patron = f"g{secrets.token_hex(8)}"
        token = f"{_PREFIX}.{patron}.{secrets.token_urlsafe(32)}"
        wallet = await self._wallets.create(patron, name, bot, _digest(token), self._play_money)
        return Identity(patron, name, bot, wallet, token)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
