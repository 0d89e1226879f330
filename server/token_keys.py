"""The keys that sign tokens, by their ids: one JSON Web Key Set in a file.

Each key is bound to one algorithm by the file, never by what a token says of itself, so a public key can't be taken for
a shared secret. The file is looked at again while the house is open, so that keys come and go without a restart. No
sentence here shows key material.
"""

import json
import logging
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

log = logging.getLogger(__name__)

ALGORITHMS: Final = ("EdDSA", "RS256", "HS256")
KEYS_MAX: Final = 64
KEY_ID_CHARS_MAX: Final = 64
SECRET_BYTES_MIN: Final = 32
"""A shared secret shorter than the hash can be guessed more easily than the signature (RFC 7518, 3.2)."""
RSA_BITS_MIN: Final = 2_048
FILE_BYTES_MAX: Final = 2**20
LOOK_AGAIN_S: Final = 2.0


class BadKeys(ValueError):
    """The file holds no usable set of keys; the sentence says why and shows no key."""


class KeyRing:
    """The keys of a file as it is now."""

    def __init__(self, path: Path, monotonic_s: Callable[[], float] = monotonic) -> None:
        """Read the file. Raises `BadKeys`, OSError."""
        self._path = path
        self._monotonic_s = monotonic_s
        self._keys = read_keys(path)
        self._version = _version(path)
        self._looked_s = monotonic_s()

    def __repr__(self) -> str:
        return f"<KeyRing {', '.join(self._keys)}>"

    def key(self, key_id: str) -> PyJWK | None:
        """Find a key by its id."""
        self._look_again()
        return self._keys.get(key_id)

    def _look_again(self) -> None:
        """Read the file again where it has changed; one that can't be read leaves the keys as they are, loudly."""
        if self._monotonic_s() - self._looked_s < LOOK_AGAIN_S:
            return
        self._looked_s = self._monotonic_s()
        try:
            version = _version(self._path)
            if version == self._version:
                return
            self._version = version
            self._keys = read_keys(self._path)
        except (OSError, BadKeys) as error:
            log.error("token_keys_not_read", extra={"path": str(self._path), "reason": str(error)})
        else:
            log.info("token_keys_read", extra={"path": str(self._path), "keys": ",".join(self._keys)})


def read_keys(path: Path) -> Mapping[str, PyJWK]:
    """Read the keys that check tokens. Raises `BadKeys`, OSError."""
    keys: dict[str, PyJWK] = {}
    for number, entry in enumerate(_entries(path), start=1):
        key_id, key = read_key(entry, f"key {number}")
        if _is_private(entry):
            raise BadKeys(f"key {number} ({key_id}) is a private one: give a node the public half")
        if key_id in keys:
            raise BadKeys(f"the key id {key_id} comes twice")
        keys[key_id] = key
    return keys


def read_signing_key(path: Path) -> tuple[str, PyJWK]:
    """Read the one key of a file that can sign. Raises `BadKeys`, OSError."""
    entries = _entries(path)
    if len(entries) != 1:
        raise BadKeys(f"{len(entries)} keys, not one to sign with")
    key_id, key = read_key(entries[0], "the key")
    if not _is_private(entries[0]) and key.algorithm_name != "HS256":
        raise BadKeys(f"the key {key_id} is a public one: nothing can be signed with it")
    return key_id, key


def read_key(entry: Any, name: str) -> tuple[str, PyJWK]:
    """Read one key and its id. Raises `BadKeys`."""
    if not isinstance(entry, dict):
        raise BadKeys(f"{name} is no object")
    key_id, algorithm = entry.get("kid"), entry.get("alg")
    if not isinstance(key_id, str) or not 1 <= len(key_id) <= KEY_ID_CHARS_MAX or not key_id.isprintable():
        raise BadKeys(f"{name} has no id (kid) of 1 to {KEY_ID_CHARS_MAX} visible characters")
    if algorithm not in ALGORITHMS:
        raise BadKeys(f"{name} ({key_id}) names no algorithm (alg) of {', '.join(ALGORITHMS)}")
    if entry.get("kty") != {"EdDSA": "OKP", "RS256": "RSA", "HS256": "oct"}[algorithm]:
        raise BadKeys(f"{name} ({key_id}) is not of the type (kty) that {algorithm} needs")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            key = PyJWK(entry, algorithm=algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        raise BadKeys(f"{name} ({key_id}) can't be read") from None  # the library's own sentence shows the key
    if algorithm == "HS256" and len(key.key) < SECRET_BYTES_MIN:
        raise BadKeys(f"{name} ({key_id}) is shorter than {SECRET_BYTES_MIN} bytes")
    public = key.key if isinstance(key.key, RSAPublicKey) else getattr(key.key, "public_key", lambda: None)()
    if isinstance(public, RSAPublicKey) and public.key_size < RSA_BITS_MIN:
        raise BadKeys(f"{name} ({key_id}) has fewer than {RSA_BITS_MIN} bits")
    return key_id, key


def _entries(path: Path) -> list[Any]:
    if path.stat().st_size > FILE_BYTES_MAX:
        raise BadKeys(f"more than {FILE_BYTES_MAX} bytes")
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise BadKeys("not JSON") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not 1 <= len(entries) <= KEYS_MAX:
        raise BadKeys(f'no JSON Web Key Set: {{"keys": [...]}} with 1 to {KEYS_MAX} keys')
    return entries


def _is_private(entry: dict[str, Any]) -> bool:
    return "d" in entry


def _version(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
