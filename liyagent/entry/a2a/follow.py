"""A task as it moves: the run's own stream made the protocol's, and the wait for an answer; neither holds a thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from psycopg import Error

from events.models import EventHead
from liyagent.core.api import TryLater
from liyagent.core.database import hot_pool
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes
from liyagent.core.readiness import STATE
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.errors import Inside, RpcError, error_told
from liyagent.entry.a2a.find import find_task
from liyagent.entry.a2a.models import ENDED, SETTLED, State, Task
from liyagent.entry.a2a.tell import (
    ALL,
    Shown,
    artifact_event,
    artifacts_told,
    status_event,
    status_told,
    task_event,
    task_told,
)
from liyagent.entry.a2a.wire import Version
from runs.models import Run
from runs.stream import HEARTBEAT, LOOKOUT, Listening, in_thread, is_full, tell_events

EVENT = "io.liyagent/event"
# White space before a JSON value is none of it: proxies see that somebody works on the answer.
STILL_HERE = b" "
STILL_HERE_SECONDS = 15.0
LOOK_SECONDS = 1.0
MOST_WAIT_SECONDS = 3_600.0
LATER_SECONDS = 5
STATE_NOW = "SELECT state FROM a2a_task WHERE run_id = %s"

T = TypeVar("T")
Lines = AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A task that is followed, from which event on; `until_input`: no further than to where something is wanted."""

    asked: Asked
    task_id: UUID
    after: int
    until_input: bool

    @property
    def version(self) -> Version:
        """The form that it is told in."""
        return self.asked.version


def check_room() -> None:
    """Raise `TryLater` where this process tells no further streams; asked before anything of a message is kept."""
    if STATE.is_draining or is_full():
        raise TryLater("This process takes no further streams.", seconds=LATER_SECONDS)


def followed(asked: Asked, task: Task, *, until_input: bool, from_now: bool) -> Followed:
    """Return what to follow: all of a task, or what comes after now, or after the event that the caller saw last."""
    after = asked.last_event or 0
    if from_now and asked.last_event is None:
        heads = EventHead.objects.filter(correlation_id=task.run_id)
        after = heads.values_list("count", flat=True).first() or 0
    return Followed(asked=asked, task_id=task.run_id, after=after, until_input=until_input)


async def follow(it: Followed) -> Lines:
    """Yield the task, then each thing that its run did and each move, as server-sent events, until the task has ended.

    `id` is the number of the run's event. A process that drains ends the stream, as does a right that is gone; the
    caller subscribes again, to any process.
    """
    try:
        async for line in _told(it):
            yield line
    except (Error, DatabaseError, InterfaceError, LiyagentError) as error:
        yield _line(it, error=error)


async def settled(asked: Asked, task_id: UUID, *, seconds: float, shown: Shown = ALL) -> Task:
    """Wait until a task has ended or wants something, for `seconds` at most or until this process drains; return it."""
    with contextlib.ExitStack() as stack:
        watched = stack.enter_context(LOOKOUT.watching(task_id))
        until = time.monotonic() + seconds
        while True:
            watched.woken.clear()
            if await in_thread(_state_now, task_id) in SETTLED or STATE.is_draining:
                break
            left = until - time.monotonic()
            if left <= 0:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await watched.woken.wait()
    return await in_thread(_closing, find_task, asked, task_id)


async def answer_when_settled(
    asked: Asked, task_id: UUID, told: Callable[[Task], Any], *, seconds: float
) -> Lines:
    """Yield the response to a request once its task is settled; meanwhile white space."""
    waiting = asyncio.ensure_future(settled(asked, task_id, seconds=0 if is_full() else seconds))
    try:
        while not (await asyncio.wait({waiting}, timeout=STILL_HERE_SECONDS))[0]:
            yield STILL_HERE
        result = await in_thread(_closing, told, waiting.result())
        yield json_bytes({"jsonrpc": "2.0", "id": asked.rpc_id, "result": result})
    except (Error, DatabaseError, InterfaceError, LiyagentError) as error:
        yield json_bytes(_failure(asked, error))
    finally:
        waiting.cancel()


async def _told(it: Followed) -> Lines:
    moves = _Moves(it)
    yield _line(it, await in_thread(_closing, moves.first))
    if moves.is_over():
        return
    listening = Listening(
        run_id=it.task_id,
        correlation_id=it.task_id,
        after=it.after,
        with_words=False,
        rights_now=it.asked.rights_now,
    )
    async with contextlib.aclosing(tell_events(listening)) as chunks:
        async for chunk in chunks:
            for line in await in_thread(_closing, moves.lines, chunk):
                yield line
            if moves.is_over():
                return


class _Moves:
    """Turns what the run's stream says into what the protocol says; remembers how the task was told last."""

    def __init__(self, it: Followed) -> None:
        self._it = it
        self._told = State.SUBMITTED
        self._is_over = False

    def is_over(self) -> bool:
        """Whether all is told that there is to tell."""
        return self._is_over

    def first(self) -> dict[str, Any]:
        """The task as it stands, which a stream begins with."""
        task = find_task(self._it.asked, self._it.task_id)
        self._told = State(task.state)
        self._is_over = self._ends(self._told)
        return task_event(task_told(task, self._it.asked.caller), self._it.version)

    def lines(self, chunk: bytes) -> list[bytes]:
        """What is to be said after a chunk of the run's stream."""
        fields = dict(it.partition(": ")[::2] for it in chunk.decode().splitlines() if it)
        if "retry" in fields:
            return [chunk]
        state = State(_state_now(self._it.task_id) or self._told)
        if fields.get("event") not in (None, "end", "run.ended"):
            return self._event(state, fields)
        if state is self._told:
            return [HEARTBEAT] if chunk == HEARTBEAT else []
        # What ended is told last: the stream's own end says that all before it is told.
        is_last = state not in ENDED or fields.get("event") == "end" or "event" not in fields
        return self._move(state) if is_last else []

    def _event(self, state: State, fields: dict[str, str]) -> list[bytes]:
        """Something that the run did: told as at work, unless something is wanted now."""
        facts = json.loads(fields["data"])
        now = state if state not in ENDED else State.WORKING
        task = find_task(self._it.asked, self._it.task_id)
        self._told, self._is_over = now, self._ends(now)
        event = {**facts["content"], "number": facts["number"], "kind": facts["kind"]}
        status = status_told(task, None, self._it.asked.caller, state=now)
        told = status_event(task, status, self._it.version, metadata={EVENT: event})
        return [_line(self._it, told, number=fields["id"])]

    def _move(self, state: State) -> list[bytes]:
        task = find_task(self._it.asked, self._it.task_id)
        run = Run.objects.defer("seal").filter(id=task.run_id).first()
        caller, version = self._it.asked.caller, self._it.version
        with_words = caller.reads_words or caller.username == task.owner
        artifacts = artifacts_told(run, state) if with_words else []
        status = status_told(task, run, caller, state=state)
        self._told, self._is_over = state, self._ends(state)
        told = [artifact_event(task, it, version) for it in artifacts]
        return [_line(self._it, it) for it in (*told, status_event(task, status, version))]

    def _ends(self, state: State) -> bool:
        return state in ENDED or (self._it.until_input and state is State.INPUT_REQUIRED)


def _state_now(task_id: UUID) -> str | None:
    with hot_pool().connection() as borrowed:
        row = borrowed.execute(STATE_NOW, [task_id]).fetchone()
    return None if row is None else str(row[0])


def _closing(work: Callable[..., T], *args: Any) -> T:
    """Work with Django's connection on a thread that is not the request's, and give it back."""
    try:
        return work(*args)
    finally:
        connection.close()


def _failure(asked: Asked, error: Exception) -> dict[str, Any]:
    told = error if isinstance(error, RpcError) else Inside("ask for the task again")
    with_info = asked.version is Version.V10
    return {
        "jsonrpc": "2.0",
        "id": asked.rpc_id,
        "error": error_told(told, with_info=with_info),
    }


def _line(
    it: Followed, result: Any = None, *, number: str = "", error: Exception | None = None
) -> bytes:
    body = (
        {"jsonrpc": "2.0", "id": it.asked.rpc_id, "result": result}
        if error is None
        else _failure(it.asked, error)
    )
    return (f"id: {number}\n" if number else "").encode() + b"data: " + json_bytes(body) + b"\n\n"
