"""Sealing: AES-256-GCM under a data key of each run; there is no other way for a run's words to be stored (ruling 16)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson
import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from liyagent.core.errors import LiyagentError

NONCE_BYTES = 12
TAG_BYTES = 16
COMPRESS_FROM_BYTES = 512
PLAIN, PACKED = b"p", b"z"
ORJSON, STDLIB = b"o", b"j"


class SealBroken(LiyagentError):
    """What was stored does not verify against its seal: it was changed, swapped, cut or put back."""

    code = "seal.broken"
    http_status = 409


class KeyMissing(LiyagentError):
    """The sealing key of this is not on the ring; put it back into LIYAGENT_SEAL_KEYS."""

    code = "seal.key_missing"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens what belongs to one run. Thread-safe."""

    cipher: AESGCM
    context: bytes

    def seal(self, data: Any, *, kind: str, number: int, previous: bytes = b"") -> bytes:
        """Seal plain `data` as the `number`-th of its `kind`, chained to the tag of the `previous`."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self.cipher.encrypt(nonce, _pack(data), self._bound(kind, number, previous))

    def open(
        self, sealed: bytes | memoryview[int], *, kind: str, number: int, previous: bytes = b""
    ) -> Any:
        """Return the plain data. Raises `SealBroken` unless it is that very piece."""
        nonce, body = bytes(sealed[:NONCE_BYTES]), bytes(sealed[NONCE_BYTES:])
        try:
            text = self.cipher.decrypt(nonce, body, self._bound(kind, number, previous))
        except (InvalidTag, ValueError):
            raise SealBroken(f"{kind} {number} does not verify against its seal") from None
        return _unpack(text)

    def _bound(self, kind: str, number: int, previous: bytes) -> bytes:
        return b"\x1f".join((self.context, kind.encode(), str(number).encode(), previous))


def tag_of(sealed: bytes) -> bytes:
    """Return the authentication tag that the next piece is chained to."""
    return bytes(sealed[-TAG_BYTES:])


@dataclass(frozen=True, slots=True)
class Keyring:
    """The configured keys: the first seals, all open."""

    keys: tuple[tuple[str, bytes], ...]

    @property
    def newest(self) -> str:
        """Id of the key that seals."""
        return self.keys[0][0]

    @property
    def ids(self) -> list[str]:
        """Ids of the keys that open."""
        return [name for name, _ in self.keys]

    def sealer(self, *, key_id: str, run_id: UUID, format_number: int) -> Sealer:
        """Return the sealer of a run. Raises `KeyMissing`."""
        for name, key in self.keys:
            if name == key_id:
                context = f"liyagent/run/v1\x1f{format_number}\x1f{run_id}\x1f{key_id}".encode()
                return Sealer(AESGCM(_data_key(key, run_id.bytes)), context)
        raise KeyMissing(key_id=key_id, run_id=run_id)


@lru_cache(maxsize=4096)
def _data_key(key: bytes, salt: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"liyagent/run/v1").derive(key)


def _pack(data: Any) -> bytes:
    """Flag, then JSON: orjson where it can, the standard library for integers beyond 64 bits."""
    try:
        text = ORJSON + orjson.dumps(data)
    except TypeError:
        text = STDLIB + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    if len(text) < COMPRESS_FROM_BYTES:
        return PLAIN + text
    return PACKED + zstandard.compress(text, 3)


def _unpack(packed: bytes) -> Any:
    text = packed[1:] if packed[:1] == PLAIN else zstandard.decompress(packed[1:])
    return orjson.loads(text[1:]) if text[:1] == ORJSON else json.loads(text[1:])
