"""A caller's place in its own trace, as W3C Trace Context writes it; what does not fit is dropped, never repaired."""

from __future__ import annotations

import re

TRACEPARENT = "traceparent"
# Version 00: the only one there is. Ids of zeros alone are none.
RULE = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


def clean_traceparent(value: object) -> str:
    """Return `value` where it is a `traceparent`, else ""."""
    return value if isinstance(value, str) and RULE.fullmatch(value) else ""


def ids_in(traceparent: str) -> tuple[int, int] | None:
    """Return the trace and the span that a `traceparent` names, None for anything else."""
    found = RULE.fullmatch(traceparent)
    return (int(found[1], 16), int(found[2], 16)) if found else None
