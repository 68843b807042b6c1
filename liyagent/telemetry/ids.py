"""Ids that every process makes alike: whatever carries a run, and however often it is lost, its spans are one trace."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

DOMAIN = b"liyagent/trace/v1\x00"
TRACE_BYTES, SPAN_BYTES = 16, 8


def trace_id_of(correlation_id: UUID) -> int:
    """Return the trace of a family of runs.

    Not the id itself: collectors take their samples by the last bytes of a trace id, and two bits of a UUID's never change.
    """
    return _digest(b"trace\x00" + correlation_id.bytes, TRACE_BYTES)


def run_span_id_of(run_id: UUID) -> int:
    """Return the span of a run itself, known before it is written: all other spans of the run are its children."""
    return _digest(b"run\x00" + run_id.bytes, SPAN_BYTES)


def _digest(of: bytes, size: int) -> int:
    # Of all ids only 0 is none.
    return int.from_bytes(sha256(DOMAIN + of).digest()[:size], "big") or 1
