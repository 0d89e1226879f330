"""The operator's keys, by which the secrets of shoes are sealed while they lie in the store.

    sealed   "1." || id of the key || "." || hex(nonce || AES-256-GCM(key, nonce, secret, bound to))
    bound to "punto-sealed-secret-1" || 0x00 || table || 0x00 || u64 shoe number
    id       the first 8 bytes, in hex, of SHA-256("punto-seal-key-1" || 0x00 || key)

So a sealed secret opens at its own table, as its own shoe, and nowhere else. The newest key seals, all others still
open. Sealing protects against those who read the store or its backups, not against a node, which holds the keys.
Neither a key nor a secret may be in any text that leaves here. Where keys come from is `keyring_file.py`'s.
"""

import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
"""Drawn by chance, which is safe for some billions of secrets under one key."""
_FORM: Final = "1"


class SealKeyMissing(Exception):
    """A secret was sealed by a key that this node does not hold; only that key opens it."""

    def __init__(self, key_id: str) -> None:
        super().__init__(key_id)
        self.key_id = key_id

    def __str__(self) -> str:
        return f"sealed by the key {self.key_id}, which this node does not hold"


class SealBroken(Exception):
    """What lies in the store is not what was sealed for this shoe of this table."""

    def __str__(self) -> str:
        return "the sealed secret was altered, or belongs to another shoe"


class Keyring:
    """Some keys of KEY_BYTES each, the newest last."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        assert keys, "a keyring holds at least one key"
        assert all(len(key) == KEY_BYTES for key in keys), "keys are read by keyring_file"
        self._keys = {key_id(key): key for key in keys}
        self.newest_id = key_id(keys[-1])

    def __repr__(self) -> str:
        return f"<Keyring {' '.join(self._keys)} newest={self.newest_id}>"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the newest last."""
        return tuple(self._keys)

    def __contains__(self, wanted_id: object) -> bool:
        return wanted_id in self._keys

    def seal(self, secret: bytes, table: str, shoe: int) -> str:
        """Seal the secret of a shoe by the newest key."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = AESGCM(self._keys[self.newest_id]).encrypt(nonce, secret, _bound_to(table, shoe))
        return f"{_FORM}.{self.newest_id}.{(nonce + sealed).hex()}"

    def open(self, sealed: str, table: str, shoe: int) -> bytes:
        """Open the secret of a shoe. Raises `SealKeyMissing` and `SealBroken`."""
        used_id = sealed_by(sealed)
        if used_id not in self._keys:
            raise SealKeyMissing(used_id)
        try:
            content = bytes.fromhex(sealed.rpartition(".")[2])
            return AESGCM(self._keys[used_id]).decrypt(
                content[:NONCE_BYTES], content[NONCE_BYTES:], _bound_to(table, shoe)
            )
        except (InvalidTag, ValueError):
            raise SealBroken from None


def fresh_key() -> bytes:
    """Draw a key."""
    return secrets.token_bytes(KEY_BYTES)


def key_id(key: bytes) -> str:
    """Name a key without telling anything of it."""
    return sha256(b"punto-seal-key-1\x00" + key).hexdigest()[:16]


def sealed_by(sealed: str) -> str:
    """Read which key sealed a secret. Raises `SealBroken` for what was never sealed here."""
    form, used_id, content = [*sealed.split("."), "", ""][:3]
    if form != _FORM or not used_id or not content:
        raise SealBroken
    return used_id


def _bound_to(table: str, shoe: int) -> bytes:
    return b"punto-sealed-secret-1\x00" + table.encode() + b"\x00" + shoe.to_bytes(8, "big")
