"""Sign webhooks, and verify them, as the Standard Webhooks specification 1.0.0 has it (symmetric, `v1`)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
VERSION = "v1,"
# So many are compared of one request, with each secret.
MOST_SIGNATURES = 20


def signed_headers(
    *, webhook_id: str, timestamp: int, body: bytes, secrets: Sequence[bytes]
) -> dict[str, str]:
    """Return the three headers of one attempt: `timestamp` (Unix seconds) is its own, the id the notice's.

    Each of `secrets` signs, so that a receiver which knows any of them can verify while one is replaced.
    """
    content = _content(webhook_id, str(timestamp), body)
    return {
        ID: webhook_id,
        TIMESTAMP: str(timestamp),
        SIGNATURE: " ".join(_signature(it, content) for it in secrets),
    }


def is_signed(
    *, webhook_id: str, timestamp: str, signatures: str, body: bytes, secrets: Sequence[bytes]
) -> bool:
    """Whether any of `secrets` made any of the `v1` signatures over exactly this; other versions are passed over.

    Each is compared in constant time.
    """
    content = _content(webhook_id, timestamp, body)
    given = [it for it in signatures.split(" ") if it.startswith(VERSION)][:MOST_SIGNATURES]
    expected = [_signature(it, content) for it in secrets]
    return any(hmac.compare_digest(it.encode(), made.encode()) for it in given for made in expected)


def _content(webhook_id: str, timestamp: str, body: bytes) -> bytes:
    return b".".join((webhook_id.encode(), timestamp.encode(), body))


def _signature(secret: bytes, content: bytes) -> str:
    mac = hmac.new(secret, content, hashlib.sha256)
    return f"{VERSION}{base64.b64encode(mac.digest()).decode()}"
