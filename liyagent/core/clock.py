"""The process's own clock, for its own lease only; everything shared uses the database's."""

from __future__ import annotations

import time


def boottime() -> float:
    """Seconds since boot, counting suspended time, so that a stalled process sees that it stalled."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
