"""Wait for what becomes of a run, without a thread or a database connection, and tell how it goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from psycopg import Error

from liyagent.core.readiness import STATE
from liyagent.entry.mcp_server.answer import Told
from runs.models import RunStatus
from runs.stream import LOOKOUT, Watched, is_full

# What the database says while it is away.
AWAY = (Error, DatabaseError, InterfaceError)
# For all requests of MCP of this process, so that they hold as many database connections and no more.
THREADS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="mcp")
# What no look at the runs shows, such as a refusal, is looked for so often.
LOOK_AGAIN_SECONDS = 15.0

T = TypeVar("T")
Tell = Callable[[int, str], Awaitable[None]]
Look = Callable[[], Told]


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking work to its end, whoever is cancelled meanwhile, with a Django connection that is given back."""

    def closing() -> T:
        try:
            return work()
        finally:
            connection.close()

    return await asyncio.shield(asyncio.get_running_loop().run_in_executor(THREADS, closing))


async def told_when_settled(
    run_id: UUID, look: Look, *, seconds: float, past_people: bool, tell: Tell
) -> Told:
    """Return what `look` tells once the run is over, or waits for a person unless `past_people`; after `seconds` at most.

    Sooner too where this process drains, or has too many who wait. `tell` is given how many events the run's chain has
    whenever there are more, and how it stands.
    """
    if seconds <= 0 or is_full():
        return await in_thread(look)
    until = time.monotonic() + seconds
    with LOOKOUT.watching(run_id) as watched:
        count = 0
        while True:
            watched.woken.clear()
            # Events of a run at work change nothing of what is waited for.
            if watched.status not in {RunStatus.QUEUED, RunStatus.RUNNING}:
                told = await _looked(look)
                if told and (told.is_over or (told.waits_for and not past_people)):
                    return told
            if watched.count > count:
                count = watched.count
                await tell(count, watched.status)
            left = until - time.monotonic()
            if left <= 0 or STATE.is_draining:
                return await in_thread(look)
            await _woken(watched, min(left, LOOK_AGAIN_SECONDS))


async def _looked(look: Look) -> Told | None:
    """What it tells; None where the database is away: there is no news yet."""
    try:
        return await in_thread(look)
    except AWAY:
        return None


async def _woken(watched: Watched, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await watched.woken.wait()
