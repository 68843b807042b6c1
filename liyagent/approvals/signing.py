"""Sign what is sent to a webhook, as the Standard Webhooks specification 1.0.0 has it (symmetric, `v1`)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def signed_headers(
    *, webhook_id: str, timestamp: int, body: bytes, secrets: Sequence[bytes]
) -> dict[str, str]:
    """Return the three headers of one attempt: `timestamp` (Unix seconds) is its own, the id the notice's.

    Each of `secrets` signs, so that a receiver which knows any of them can verify while one is replaced.
    """
    content = b".".join((webhook_id.encode(), str(timestamp).encode(), body))
    return {
        ID: webhook_id,
        TIMESTAMP: str(timestamp),
        SIGNATURE: " ".join(_signature(it, content) for it in secrets),
    }


def _signature(secret: bytes, content: bytes) -> str:
    mac = hmac.new(secret, content, hashlib.sha256)
    return f"v1,{base64.b64encode(mac.digest()).decode()}"
