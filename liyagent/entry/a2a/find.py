"""Tasks by id, and those of a caller a page at a time: nobody learns of another's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from liyagent.core.errors import BadInput
from liyagent.core.paging import MOST_COUNTED, read_cursor, write_cursor
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.errors import BadParams, NoSuchTask
from liyagent.entry.a2a.models import State, Task
from liyagent.entry.a2a.tell import STATE_NAMES
from liyagent.entry.a2a.wire import LONGEST_CONTEXT, named, text_of, whole_of
from missions.places import behind

PAGE, MOST_PAGE = 50, 100
LONGEST_TOKEN = 1_000
STATES_BY_NAME = {name: state for state, name in STATE_NAMES.items()}
# What every proto enum begins with: no filter.
NO_STATE = ("", "TASK_STATE_UNSPECIFIED")


def find_task(asked: Asked, task_id: UUID) -> Task:
    """Return a task of the agent that is asked: the caller's own, or anybody's for who may see runs.

    Raises `NoSuchTask`, alike for what is not there and for what is somebody else's.
    """
    task = Task.objects.filter(run_id=task_id, agent_key=asked.agent_key).first()
    if task is None or not (asked.caller.sees_all or task.owner == asked.caller.username):
        raise NoSuchTask(task=task_id)
    return task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Some tasks; `next_token` is empty where none follow. `total` counts no further than 5,000."""

    tasks: list[Task]
    next_token: str
    size: int
    total: int


def list_tasks(asked: Asked) -> TaskPage:
    """Return the page of the caller's own tasks that the params name, what moved last first. Raises `BadParams`."""
    size = whole_of(asked.params, "pageSize", low=1, high=MOST_PAGE) or PAGE
    rows = Task.objects.filter(owner=asked.caller.username, agent_key=asked.agent_key)
    rows = rows.filter(_chosen(asked))
    total = rows.order_by().values("pk")[:MOST_COUNTED].count()
    found = list(rows.filter(_after(text_of(asked.params, "pageToken", longest=LONGEST_TOKEN)))[: size + 1])  # fmt: skip
    has_more = len(found) > size
    last = found[size - 1] if has_more else None
    return TaskPage(
        tasks=found[:size],
        next_token=write_cursor([last.changed_at.isoformat(), str(last.run_id)]) if last else "",
        size=size,
        total=total,
    )


def _chosen(asked: Asked) -> Q:
    chosen = Q()
    context = text_of(asked.params, "contextId", longest=LONGEST_CONTEXT)
    if context:
        chosen &= Q(context_id=context)
    state = text_of(asked.params, "status")
    if state not in NO_STATE:
        chosen &= Q(state=_state(state))
    since = named(asked.params, "statusTimestampAfter")
    if since is not None:
        chosen &= Q(changed_at__gte=_time(since, "statusTimestampAfter"))
    return chosen


def _state(name: str) -> State:
    if name not in STATES_BY_NAME:
        raise BadParams(f"status wants one of {', '.join(STATES_BY_NAME)}")
    return STATES_BY_NAME[name]


def _time(text: object, name: str) -> datetime:
    try:
        found = parse_datetime(text) if isinstance(text, str) and text.isascii() else None
        if found is not None and found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadParams(f"{name} wants a time with its zone, such as 2026-01-31T09:30:00Z")


def _after(token: str) -> Q:
    if not token:
        return Q()
    try:
        at, task_id = read_cursor(token, parts=2)
        changed_at, last = _time(at, "pageToken"), UUID(task_id)
    except (BadInput, ValueError):
        raise BadParams("pageToken wants what a page's nextPageToken named, unchanged") from None
    return behind(changed_at, last, moment="changed_at", name="run_id")
