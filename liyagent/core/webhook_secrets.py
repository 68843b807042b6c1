"""Secrets of the Standard Webhooks specification: `whsec_` and the base64 of 24 to 64 random bytes."""

from __future__ import annotations

import base64
import binascii

PREFIX = "whsec_"
# As the specification bounds them.
LEAST_BYTES, MOST_BYTES = 24, 64
# While one is replaced, the older ones count too.
MOST_SECRETS = 4
WANTED = f"{PREFIX}<base64 of {LEAST_BYTES} to {MOST_BYTES} random bytes>"


def secret_in(text: str) -> bytes | None:
    """Return the bytes that sign, None where the text is no secret of the specification."""
    try:
        secret = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    is_fit = text.startswith(PREFIX) and LEAST_BYTES <= len(secret) <= MOST_BYTES
    return secret if is_fit else None
