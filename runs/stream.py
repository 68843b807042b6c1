"""A run's events as they come, for as many listeners as like: one look at the database for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from psycopg import Error

from events.reading import STORED_AT
from events.words import without_words
from liyagent.core.database import hot_pool
from liyagent.core.metrics import STREAMS
from liyagent.core.plain import json_bytes
from liyagent.core.readiness import STATE
from runs.models import ENDED

MOST_STREAMS = 2000
HEARTBEAT_SECONDS = 15.0
# How long a revoked key or permission is still told of what happens.
CHECK_SECONDS = 30.0
RECONNECT_MS = 1000
RECONNECT_ELSEWHERE_MS = 300
PAUSE_AFTER_FAULT_SECONDS = 0.5
MOST_ROWS = 50
MOST_NUMBERS = 500
MOST_IDS = 500
HEARTBEAT = b": \n\n"
LOOK = """
SELECT r.id, coalesce(h.count, 0), r.status FROM runs_run r
    LEFT JOIN events_eventhead h ON h.correlation_id = r.correlation_id WHERE r.id = ANY (%s)
"""
READ = f"""
SELECT number, {STORED_AT}, kind, content FROM events_runevent
    WHERE correlation_id = %s AND number > %s AND number <= %s AND run_id = %s ORDER BY number LIMIT %s
"""  # noqa: S608 - a constant
# For all streams of the process, so that it holds as many database connections and no more.
THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="streams")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What who listens may be told now."""

    may_listen: bool
    with_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Who listens to which run, from which event on; `rights_now` asks anew."""

    run_id: UUID
    correlation_id: UUID
    after: int
    with_words: bool
    rights_now: Callable[[], Rights]


@dataclass(slots=True, kw_only=True, eq=False)
class Watched:
    """What the last look told of a run: how many events its chain has, and how it stands."""

    run_id: UUID
    count: int = 0
    status: str = ""
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, count: int, status: str) -> None:
        """Take in what a look found; wake whoever waits where it is news."""
        if (count, status) != (self.count, self.status):
            self.count, self.status = count, status
            self.woken.set()


class Lookout:
    """Looks, at every poll, at all runs that are listened to in this process; not at all where none is."""

    def __init__(self) -> None:
        self.watched: set[Watched] = set()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def watching(self, run_id: UUID) -> Iterator[Watched]:
        """Keep what is known of a run up to date until the block ends."""
        watched = Watched(run_id=run_id)
        self.watched.add(watched)
        if self._task is None or self._task.done() or self._task.get_loop().is_closed():
            self._task = asyncio.get_running_loop().create_task(self._look_on())
        try:
            yield watched
        finally:
            self.watched.discard(watched)

    async def _look_on(self) -> None:
        while self.watched:
            await self._look()
            await asyncio.sleep(settings.LIYAGENT.poll_seconds)

    async def _look(self) -> None:
        if _is_draining():
            for watched in self.watched:
                watched.woken.set()
            return
        ids = list({it.run_id for it in self.watched})
        for start in range(0, len(ids), MOST_IDS):
            # A database away for a moment only means that there is no news yet.
            with contextlib.suppress(Error):
                found = await in_thread(_look_at, ids[start : start + MOST_IDS])
                for watched in list(self.watched):
                    if watched.run_id in found:
                        watched.tell(*found[watched.run_id])


LOOKOUT = Lookout()
STREAMS.set_function(lambda: len(LOOKOUT.watched))


def is_full() -> bool:
    """Whether this process tells as many streams as it may."""
    return len(LOOKOUT.watched) >= MOST_STREAMS


async def tell_events(asked: Listening) -> AsyncGenerator[bytes, None]:
    """Yield the run's events after `asked.after` as server-sent events, then `end` once it has ended and all is told.

    `id` is the event's number in its chain, `data` its facts. It also ends where this process drains (the client
    goes on elsewhere with `Last-Event-ID`), and where the right to listen is gone.
    """
    if is_full():
        yield _retry(RECONNECT_MS)
        return
    yield _retry(RECONNECT_MS)
    with LOOKOUT.watching(asked.run_id) as watched:
        rights, cursor = Rights(may_listen=True, with_words=asked.with_words), asked.after
        checked_at = time.monotonic()
        while not _is_draining():
            watched.woken.clear()
            count, status = watched.count, watched.status
            while cursor < count:
                rows, cursor = await _read(asked, cursor, count)
                for row in rows:
                    yield _told(row, asked=asked, with_words=rights.with_words)
                if _is_draining():
                    break
            if status in ENDED and cursor >= count:
                yield _message("end", {"status": status})
                return
            if time.monotonic() - checked_at >= CHECK_SECONDS:
                rights, checked_at = await _checked(asked, rights), time.monotonic()
                if not rights.may_listen:
                    return
            if not await _woken(watched):
                yield HEARTBEAT
        yield _retry(RECONNECT_ELSEWHERE_MS)


def _is_draining() -> bool:
    return STATE.is_draining


async def in_thread(work: Callable[..., T], *args: Any) -> T:
    """Do blocking work on one of the few threads that all streams share."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, work, *args)


async def _woken(watched: Watched) -> bool:
    """Wait for news; False for none before it is time for a heartbeat or a check."""
    try:
        async with asyncio.timeout(min(HEARTBEAT_SECONDS, CHECK_SECONDS)):
            await watched.woken.wait()
    except TimeoutError:
        return False
    return True


async def _read(asked: Listening, after: int, count: int) -> tuple[list[Any], int]:
    """Read some of the run's events after a number; return them, and up to which number all is read."""
    until = min(after + MOST_NUMBERS, count)
    try:
        rows = await in_thread(_read_rows, asked, after, until)
    except Error:
        await asyncio.sleep(PAUSE_AFTER_FAULT_SECONDS)
        return [], after
    return rows, rows[-1][0] if len(rows) == MOST_ROWS else until


async def _checked(asked: Listening, before: Rights) -> Rights:
    """What may be told from here on; as before where the database cannot be asked."""
    try:
        return await in_thread(_ask_rights, asked)
    except (Error, DatabaseError, InterfaceError):
        return before


def _ask_rights(asked: Listening) -> Rights:
    try:
        return asked.rights_now()
    finally:
        connection.close()


def _look_at(ids: list[UUID]) -> dict[UUID, tuple[int, str]]:
    with hot_pool().connection() as borrowed:
        return {row[0]: (row[1], row[2]) for row in borrowed.execute(LOOK, [ids])}


def _read_rows(asked: Listening, after: int, until: int) -> list[Any]:
    place = [asked.correlation_id, after, until, asked.run_id, MOST_ROWS]
    with hot_pool().connection() as borrowed:
        return borrowed.execute(READ, place).fetchall()


def _told(row: tuple[int, datetime, str, str], *, asked: Listening, with_words: bool) -> bytes:
    number, at, kind, content = row
    facts = {"number": number, "at": at, "run_id": asked.run_id, "kind": kind}
    # The stored text is canonical JSON, without line breaks: told as it is, every digit of it.
    inner = content if with_words else json.dumps(without_words(json.loads(content)))
    data = f'{json_bytes(facts).decode()[:-1]},"content":{inner}}}'
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n".encode()


def _message(kind: str, facts: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json_bytes(facts).decode()}\n\n".encode()


def _retry(milliseconds: int) -> bytes:
    return f"retry: {milliseconds}\n\n".encode()
