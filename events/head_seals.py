"""The seal on a head: an HMAC over where its chain stood, under a key that is in no table.

Each key is derived from one of LIYAGENT_SEAL_KEYS, by HKDF; the first seals, all are checked by.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from events.verdict import Found, Head

DOMAIN = b"liyagent/head-seal/v1"

UNKNOWN_KEY = "unknown_key"
SENTENCES = {
    "put_back": "the head tells of fewer events than were sealed: the head was put back, or the end cut off",
    "sealed_otherwise": "up to this event something else was sealed: what stood before was written anew, or the seal is forged",
    UNKNOWN_KEY: "the key that sealed this head is not among LIYAGENT_SEAL_KEYS: put it back to check the seal",
}


def newest_key_id() -> str:
    """Return the id of the key that seals now."""
    return settings.LIYAGENT.seal_keys[0][0]


def head_seal(
    *, key_id: str, correlation_id: UUID, count: int, digest: bytes, number: int
) -> bytes | None:
    """Return the seal of a head of `count` events that ends with `digest`, in root `number`; None where the key is not here."""
    master = dict(settings.LIYAGENT.seal_keys).get(key_id)
    if master is None:
        return None
    facts = (count.to_bytes(8, "big"), number.to_bytes(8, "big"), digest)
    message = b"\x00".join((DOMAIN, correlation_id.bytes, *facts))
    return hmac.digest(_secret(master), message, "sha256")


def check_seal(head: Head, correlation_id: UUID, sealed_hash: bytes | None) -> Found | None:
    """Say what is wrong with a head's seal (`events.sealing`): `sealed_hash` is the hash of event `sealed_count`, None for none.

    A head that was never sealed has nothing wrong; that it had been, the roots show (`events.check_roots`).
    """
    if not head.sealed_count:
        return _found(1, "sealed_otherwise") if bytes(head.seal) else None
    if head.count < head.sealed_count:
        return _found(max(head.count, 0) + 1, "put_back")
    if head.sealed_count < 0 or (head.sealed_in or 0) < 0:
        return _found(1, "sealed_otherwise")
    expected = head_seal(
        key_id=head.seal_key,
        correlation_id=correlation_id,
        count=head.sealed_count,
        digest=sealed_hash or b"",
        number=head.sealed_in or 0,
    )
    if expected is None:
        return _found(head.sealed_count, UNKNOWN_KEY)
    if sealed_hash is None or not hmac.compare_digest(expected, bytes(head.seal)):
        return _found(head.sealed_count, "sealed_otherwise")
    return None


def _found(number: int, reason: str) -> Found:
    return Found(number=number, reason=reason, sentence=SENTENCES[reason])


@lru_cache(maxsize=64)
def _secret(master: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=DOMAIN).derive(master)
