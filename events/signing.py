"""The keys that sign roots and packs, with Ed25519: LIYAGENT_SIGNING_KEY, else derived from LIYAGENT_SEAL_KEYS by HKDF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

INFO = b"liyagent/signing/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key and what whoever checks pins of it: its public half, in hex."""

    key_id: str
    private: Ed25519PrivateKey
    public: str

    def sign(self, message: bytes) -> str:
        """Return the signature in hex."""
        return self.private.sign(message).hex()


def signing_keys() -> list[SigningKey]:
    """Return all keys of ours, the one that signs now first: those named for it, then those derived from sealing keys."""
    conf = settings.LIYAGENT
    named = [_of_seed(key_id, seed) for key_id, seed in conf.roots.signing_keys]
    return [*named, *(_of_seed(key_id, _derived(master)) for key_id, master in conf.seal_keys)]


def signing_key() -> SigningKey:
    """Return the key that signs now."""
    return signing_keys()[0]


def own_keys_among(publics: Iterable[str]) -> list[SigningKey]:
    """Return those keys of ours that are among these public ones."""
    wanted = set(publics)
    return [it for it in signing_keys() if it.public in wanted]


def is_signed(message: bytes, public: str, signature: str) -> bool:
    """Whether a signature holds, both in hex. Raises ValueError and TypeError for what is no hex."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=64)
def _derived(master: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=INFO).derive(master)


@lru_cache(maxsize=64)
def _of_seed(key_id: str, seed: bytes) -> SigningKey:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    public = private.public_key().public_bytes_raw().hex()
    return SigningKey(key_id=key_id, private=private, public=public)
