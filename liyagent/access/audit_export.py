"""An export of the audit log as the body of an answer: a page at a time, in few threads, for whoever may still have it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.db import connection

from liyagent.audit.export import Export

MOST_EXPORTS = 8
# How long a revoked key or permission is still answered.
CHECK_SECONDS = 10.0
# For all exports of the process, so that they hold as many database connections and no more.
THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="audit-export")


@dataclass(slots=True)
class Open:
    """How many are on their way in this process; changed by its event loop alone."""

    count: int = 0


OPEN = Open()


def is_full() -> bool:
    """Whether this process has as many exports on their way as it takes."""
    return OPEN.count >= MOST_EXPORTS


async def stream_of(export: Export, may_go_on: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
    """Yield its pages. One whose right is taken away, or whose database fails, ends without its last line."""
    lines, loop, checked = export.lines(), asyncio.get_running_loop(), time.monotonic()
    OPEN.count += 1
    try:
        while True:
            is_due = time.monotonic() - checked > CHECK_SECONDS
            checked = time.monotonic() if is_due else checked
            page = await loop.run_in_executor(
                THREADS, _page, lines, may_go_on if is_due else _always
            )
            if not page:
                return
            yield page
    finally:
        OPEN.count -= 1


def _always() -> bool:
    return True


def _page(lines: Iterator[bytes], may_go_on: Callable[[], bool]) -> bytes:
    try:
        return next(lines, b"") if may_go_on() else b""
    finally:
        connection.close()
