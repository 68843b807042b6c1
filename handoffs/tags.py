"""Who wrote a version had a key of ours: a tag beside each, made in the process before it is handed to the database. Pure.

Whoever can write to the tables can also add a version, with a digest that fits; what they cannot make is a tag. It says of
which thread the version is and as the how-manieth, what was handed over, by whom, and in which run and mission:

    fingerprint of the key (4 bytes) | HMAC-SHA-256, first half (16)

A reading has one too, of who read which. The key is the record's, as of events. What a version stands in the place of is not in it: that is the one before.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from events.tags import FINGERPRINT_BYTES, MAC_BYTES, RecordKey

DOMAIN = "liyagent/handoff-tag/v1"
READ = "liyagent/handoff-reading-tag/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What the tag of a version says."""

    thread: UUID
    number: int
    digest: str
    author: str
    run_id: UUID | None
    correlation_id: UUID | None
    mission: str

    def said(self) -> list[str | int]:
        """Return what the tag is made over."""
        return [
            DOMAIN, str(self.thread), self.number, self.digest, self.author, str(self.run_id or ""),
            str(self.correlation_id or ""), self.mission,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the tag of a reading says: who read which version, by which digest, in which run."""

    thread: UUID
    number: int
    digest: str
    reader: str
    run_id: UUID | None

    def said(self) -> list[str | int]:
        """Return what the tag is made over."""
        return [
            READ, str(self.thread), self.number, self.digest, self.reader, str(self.run_id or ""),
        ]  # fmt: skip


def tag_of(stated: Stated | Read, key: RecordKey) -> bytes:
    """Return the tag of a version, or of a reading."""
    return key.fingerprint + _mac(stated, key)


def is_of(
    tag: bytes | memoryview[int], stated: Stated | Read, keys: Sequence[RecordKey]
) -> bool | None:
    """Whether who had a key of ours wrote this very version or reading; None where the key that it names is not among `keys`."""
    data = bytes(tag)
    if len(data) != FINGERPRINT_BYTES + MAC_BYTES:
        return False
    named = [it for it in keys if it.fingerprint == data[:FINGERPRINT_BYTES]]
    if not named:
        return None
    return any(hmac.compare_digest(data[FINGERPRINT_BYTES:], _mac(stated, it)) for it in named)


def _mac(stated: Stated | Read, key: RecordKey) -> bytes:
    return hmac.digest(key.secret, json.dumps(stated.said()).encode(), "sha256")[:MAC_BYTES]
