"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import time
from uuid import UUID


def new_id(*, above: UUID | None = None) -> UUID:
    """Return a UUIDv7 (RFC 9562): ids sort by the time they were made, and this one behind `above`."""
    milliseconds = time.time_ns() // 1_000_000
    if above is not None:
        # Made in another process, whose clock may be ahead of ours.
        milliseconds = max(milliseconds, (above.int >> 80) + 1)
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return UUID(int=value)
