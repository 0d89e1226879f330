"""Signed tokens (JWT): what one must say, and whether it may be believed.

Pure but for the key ring: time is an argument, the house's own (`clock.py`), so that a node whose wall clock is wrong
judges as all others do. What is wrong with a token is told to the operator's log in a word, to its bearer in a code,
and the token itself to nobody.
"""

import math
import re
import secrets
from typing import Any, Final, NamedTuple

import jwt
from jwt.exceptions import PyJWTError

from client_sdk.protocol.errors import ErrorCode
from server.auth import IdentityRefused, Role, clean_name
from server.token_keys import KeyRing

PATRON_FORM: Final = re.compile(r"[!-~]{1,64}")
TOKEN_ID_FORM: Final = re.compile(r"[!-~]{1,128}")
INSTANT_S_MAX: Final = 10**11
_OPTIONS: Final[Any] = {
    "require": ["sub", "exp", "iat", "iss", "aud"],
    "verify_exp": False,  # by the house's clock, below
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


class Claims(NamedTuple):
    """What a token that was believed says."""

    patron: str
    name: str
    bot: bool
    role: Role
    token_id: str
    issued_at_ms: int
    expires_at_ms: int


class TokenRefused(IdentityRefused):
    """A token is not believed; `reason` is a word for the log."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code)
        self.reason = reason


class TokenRules(NamedTuple):
    """What a house asks of tokens. `leeway_ms` is how far the issuer's clock may be off, either way."""

    issuer: str = "punto"
    audience: str = "punto"
    leeway_ms: int = 5_000
    life_ms_max: int = 86_400_000


class TokenCheck:
    """Believes tokens that a key of the ring has signed."""

    def __init__(self, keys: KeyRing, rules: TokenRules) -> None:
        self.rules = rules
        self._keys = keys

    def claims(self, token: str, now_ms: int) -> Claims:
        """Read a token, in force at `now_ms`. Raises `TokenRefused` TOKEN_REFUSED, TOKEN_EXPIRED."""
        payload = self._payload(token)
        expires_at_ms, issued_at_ms = _instant(payload, "exp"), _instant(payload, "iat")
        if expires_at_ms - issued_at_ms > self.rules.life_ms_max:
            raise _refused("lives_too_long")
        if max(issued_at_ms, _instant(payload, "nbf", 0)) > now_ms + self.rules.leeway_ms:
            raise _refused("not_yet")
        if expires_at_ms + self.rules.leeway_ms <= now_ms:
            raise TokenRefused(ErrorCode.TOKEN_EXPIRED, "expired")
        return Claims(
            patron=_text(payload, "sub", PATRON_FORM),
            name=_name(payload),
            bot=_flag(payload, "bot"),
            role=_role(payload),
            token_id=_text(payload, "jti", TOKEN_ID_FORM, ""),
            issued_at_ms=issued_at_ms,
            expires_at_ms=expires_at_ms,
        )

    def _payload(self, token: str) -> dict[str, Any]:
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = self._keys.key(key_id) if isinstance(key_id, str) else None
            if key is None:
                raise _refused("unknown_key")
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self.rules.audience,
                issuer=self.rules.issuer,
                options=_OPTIONS,
            )
        except PyJWTError as error:
            raise _refused(type(error).__name__) from None
        except (ValueError, TypeError, RecursionError):  # what a stranger's bytes bring out of a decoder
            raise _refused("unreadable") from None


def mint(
    key_id: str,
    key: jwt.PyJWK,
    rules: TokenRules,
    *,
    patron: str,
    role: Role = Role.PATRON,
    name: str | None = None,
    bot: bool = False,
    token_id: str | None = None,
    issued_at_s: int,
    life_s: int,
) -> str:
    """Make a token, as an identity provider would; `read_signing_key` gives the key."""
    claims: dict[str, Any] = {
        "sub": patron,
        "iss": rules.issuer,
        "aud": rules.audience,
        "iat": issued_at_s,
        "exp": issued_at_s + life_s,
        "jti": token_id or secrets.token_urlsafe(12),
        "role": role.value,
    }
    claims |= {"name": name} if name is not None else {}
    claims |= {"bot": True} if bot else {}
    return jwt.encode(claims, key.key, algorithm=key.algorithm_name, headers={"kid": key_id})


def _refused(reason: str) -> TokenRefused:
    return TokenRefused(ErrorCode.TOKEN_REFUSED, reason)


def _instant(payload: dict[str, Any], claim: str, default: int | None = None) -> int:
    """Read an instant (seconds since 1970, perhaps with a fraction) as ms."""
    value = payload.get(claim, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(f"bad_{claim}")
    if not 0 <= value <= INSTANT_S_MAX:
        raise _refused(f"bad_{claim}")
    return int(value * 1000)


def _text(payload: dict[str, Any], claim: str, form: re.Pattern[str], default: str | None = None) -> str:
    value = payload.get(claim)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _refused(f"bad_{claim}")
    return value


def _name(payload: dict[str, Any]) -> str:
    """The display name; a patron whose token tells none is called by the beginning of its id."""
    name = payload.get("name", payload["sub"][:24])
    if not isinstance(name, str) or len(name) > 256:
        raise _refused("bad_name")
    return clean_name(name)


def _flag(payload: dict[str, Any], claim: str) -> bool:
    value = payload.get(claim, False)
    if not isinstance(value, bool):
        raise _refused(f"bad_{claim}")
    return value


def _role(payload: dict[str, Any]) -> Role:
    value = payload.get("role", Role.PATRON.value)
    if value not in list(Role):
        raise _refused("bad_role")
    return Role(value)
