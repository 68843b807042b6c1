"""Who wrote an event had the key: a tag beside each, made in the process before it is handed to the database. Pure.

The chain shows that what is stored was not changed after it was stored. Whoever can write to the tables can also append to
it, or make it anew from any place with fresh hashes; what they cannot make is a tag. A tag says which attempt wrote the
event and as the how-manieth, so that none can be left out or stand twice:

    fingerprint of the key (4 bytes) | attempt (4) | ordinal (4) | HMAC-SHA-256, first half (16)

The key is derived from one of LIYAGENT_SEAL_KEYS and is in no table. What SQL alone writes has no tag: `gap`, and the
decisions of nobody (expired, withdrawn), which give no leave for anything.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

DOMAIN = "liyagent/event-tag/v1"
SEPARATOR = "\x1f"
FINGERPRINT_BYTES, NUMBER_BYTES, MAC_BYTES = 4, 4, 16
TAG_BYTES = FINGERPRINT_BYTES + 2 * NUMBER_BYTES + MAC_BYTES
PARTS = struct.Struct(f">{FINGERPRINT_BYTES}sII{MAC_BYTES}s")
# The attempt of what is written beside any: a person's decision, an end that nobody carried.
BESIDE = 0


@dataclass(frozen=True, slots=True)
class RecordKey:
    """A key for the record, and by which four bytes a tag names it."""

    fingerprint: bytes
    secret: bytes


@lru_cache(maxsize=64)
def record_key(master: bytes) -> RecordKey:
    """Derive the record's key from a sealing key of 32 bytes."""
    secret = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"liyagent/record/v1").derive(
        master
    )
    return RecordKey(hashlib.sha256(secret).digest()[:FINGERPRINT_BYTES], secret)


class Tag(NamedTuple):
    """A tag taken apart."""

    fingerprint: bytes
    attempt: int
    ordinal: int
    mac: bytes


@dataclass(slots=True, kw_only=True)
class Tagger:
    """Makes the tags of one writer: an attempt of a run, or, with `BESIDE`, whoever writes one event beside it."""

    key: RecordKey
    correlation_id: UUID
    run_id: UUID
    mission: str
    attempt: int
    ordinal: int = field(default=0)

    def line(self, kind: str, content: str) -> str:
        """Return an event as `liyagent_append_events` takes it: its canonical content, and its tag behind a separator.

        Canonical JSON has no control character in it, so the two cannot be taken for each other.
        """
        ordinal = self.ordinal if self.attempt else int.from_bytes(os.urandom(NUMBER_BYTES), "big")
        self.ordinal += 1
        chain, run, mission, it = self.correlation_id, self.run_id, self.mission, SEPARATOR
        text = (
            f"{chain}{it}{run}{it}{self.attempt}{it}{ordinal}{it}{kind}{it}{mission}{it}{content}"
        )
        mac = _mac(self.key.secret, text)
        tag = (
            self.key.fingerprint
            + self.attempt.to_bytes(NUMBER_BYTES, "big")
            + ordinal.to_bytes(NUMBER_BYTES, "big")
            + mac
        )
        return f"{content}{SEPARATOR}{tag.hex()}"


def read_tag(tag: bytes | memoryview[int]) -> Tag | None:
    """Take a tag apart; None for what is none."""
    data = bytes(tag)
    if len(data) != TAG_BYTES:
        return None
    return Tag._make(PARTS.unpack(data))


def is_of(
    tag: Tag,
    keys: Sequence[RecordKey],
    *,
    correlation_id: UUID,
    run_id: UUID,
    kind: str,
    mission: str,
    content: str,
) -> bool | None:
    """Whether who had a key of ours wrote this very event; None where the key that it names is not among `keys`."""
    named = [it for it in keys if it.fingerprint == tag.fingerprint]
    if not named:
        return None
    it = SEPARATOR
    text = f"{correlation_id}{it}{run_id}{it}{tag.attempt}{it}{tag.ordinal}{it}{kind}{it}{mission}{it}{content}"
    return any(hmac.compare_digest(tag.mac, _mac(key.secret, text)) for key in named)


def record_keys(masters: Iterable[bytes]) -> list[RecordKey]:
    """Derive the record's keys from a ring, the one that tags first."""
    return [record_key(it) for it in masters]


def _mac(secret: bytes, text: str) -> bytes:
    return hmac.digest(secret, f"{DOMAIN}{SEPARATOR}{text}".encode(), "sha256")[:MAC_BYTES]
