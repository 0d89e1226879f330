"""A house that takes signed tokens, and the provider that signs them: keys of every kind, made once.

What is minted here may be as wrong as a test wants it: tokens are put together by hand, not by the product.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from server.commands.token import new_key
from tests.support.node_process import FAST, NodeProcess

ALGORITHMS: Final = {"ed": "EdDSA", "rsa": "RS256", "secret": "HS256"}
LEEWAY_MS: Final = 200


class Provider:
    """Signs tokens with one key of each kind; `checking` is the file for a node."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        pairs = {key_id: new_key(algorithm, key_id) for key_id, algorithm in ALGORITHMS.items()}
        self.keys = {key_id: jwt.PyJWK(signing) for key_id, (signing, _) in pairs.items()}
        self.checking = directory / "checking.json"
        self.signing = directory / "signing.json"
        self.checking.write_text(json.dumps({"keys": [checking for _, checking in pairs.values()]}))
        self.signing.write_text(json.dumps({"keys": [pairs["ed"][0]]}))

    def claims(self, patron: str = "alice", **claims: Any) -> dict[str, Any]:
        """What a good token says, and what a test wants otherwise (None leaves a claim out)."""
        now = time.time()
        good = {"sub": patron, "iss": "punto", "aud": "punto", "iat": int(now) - 1, "exp": int(now) + 600}
        return {name: value for name, value in {**good, **claims}.items() if value is not None}

    def token(self, patron: str = "alice", *, key_id: str = "ed", **claims: Any) -> str:
        """Sign properly."""
        key = self.keys[key_id]
        return jwt.encode(self.claims(patron, **claims), key.key, algorithm=key.algorithm_name, headers={"kid": key_id})

    def forged(self) -> dict[str, str]:
        """Tokens that nobody may believe, by what is wrong with them."""
        head, body, signature = self.token().split(".")
        other = _encoded(self.claims("mallory"))
        stranger = jwt.PyJWK(new_key("EdDSA", "ed")[0])
        public = self.keys["rsa"].key.public_key()
        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        good = self.claims()
        return {
            "another body": f"{head}.{other}.{signature}",
            "no signature": f"{head}.{body}.",
            "a cut signature": f"{head}.{body}.{signature[:-4]}",
            "none": f"{_encoded({'alg': 'none', 'kid': 'ed'})}.{body}.",
            "None": f"{_encoded({'alg': 'None', 'kid': 'rsa'})}.{body}.{signature}",
            "no algorithm": f"{_encoded({'kid': 'ed'})}.{body}.{signature}",
            "unknown key": jwt.encode(good, self.keys["ed"].key, algorithm="EdDSA", headers={"kid": "other"}),
            "no key id": jwt.encode(good, self.keys["ed"].key, algorithm="EdDSA"),
            "a key id that is no text": f"{_encoded({'alg': 'EdDSA', 'kid': 7})}.{body}.{signature}",
            "a key id that is a path": f"{_encoded({'alg': 'HS256', 'kid': '/dev/null'})}.{body}.{signature}",
            "a stranger's key under a known id": jwt.encode(
                good, stranger.key, algorithm="EdDSA", headers={"kid": "ed"}
            ),
            "the right key under another's id": jwt.encode(
                good, self.keys["rsa"].key, algorithm="RS256", headers={"kid": "ed"}
            ),
            "a key of its own": self._with_own_key(stranger, good),
            "the public key as a secret (PEM)": _hs256(pem, "rsa", good),
            "the public key as a secret (DER)": _hs256(der, "rsa", good),
            "the secret by another hash": jwt.encode(
                good, self.keys["secret"].key, algorithm="HS512", headers={"kid": "secret"}
            ),
            "another audience": self.token(aud="poker"),
            "no audience": self.token(aud=None),
            "another issuer": self.token(iss="mallory"),
            "no issuer": self.token(iss=None),
            "no end": self.token(exp=None),
            "no beginning": self.token(iat=None),
            "an end that is a text": self.token(exp="2999-01-01"),
            "an end that is true": self.token(exp=True),
            "an end beyond all time": self.token(exp=1e300),
            "a life of years": self.token(exp=int(time.time()) + 10**8),
            "issued tomorrow": self.token(iat=int(time.time()) + 86_400, exp=int(time.time()) + 86_460),
            "not before tomorrow": self.token(nbf=int(time.time()) + 86_400),
            "no patron": self.token(sub=None),
            "a patron that is a number": self.token(sub=7),
            "an empty patron": self.token(sub=""),
            "a patron with a blank": self.token(sub="alice bob"),
            "a patron that is too long": self.token(sub="a" * 65),
            "an unknown role": self.token(role="admin"),
            "roles": self.token(role=["patron", "operator"]),
            "a bot that is 1": self.token(bot=1),
            "rubbish": "rubbish",
            "dots": "..",
            "a guest's": "guest.g0123456789abcdef.AAAA",
            "nothing": "",
            "not UTF-8 inside": f"{head}.{base64.urlsafe_b64encode(bytes([255, 254])).decode()}.{signature}",
        }

    def _with_own_key(self, stranger: jwt.PyJWK, claims: dict[str, Any]) -> str:
        header = {"kid": "ed", "jwk": {"kty": "OKP", "crv": "Ed25519"}, "jku": "https://mallory.example/keys"}
        return jwt.encode(claims, stranger.key, algorithm="EdDSA", headers=header)


def _encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def _hs256(secret: bytes, key_id: str, claims: dict[str, Any]) -> str:
    """Sign by hand: a library refuses to take a public key for a secret."""
    signed = f"{_encoded({'alg': 'HS256', 'kid': key_id})}.{_encoded(claims)}"
    digest = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@contextmanager
def token_house(directory: Path, **flags: int | str) -> Iterator[tuple[NodeProcess, Provider]]:
    """A node that takes signed tokens, and their provider, for the length of a block."""
    provider = Provider(directory / "keys")
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    own: dict[str, int | str] = {
        "token-keys": str(provider.checking),
        "token-leeway-ms": LEEWAY_MS,
        "log-level": "debug",
    }
    node = NodeProcess(directory / "data", flags={**FAST, **own, **given}).start()
    try:
        yield node, provider
    finally:
        node.stop()
