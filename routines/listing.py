"""Routines of an agent a page at a time, the newest first, and one by its id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import F, Func, IntegerField, QuerySet

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from missions.places import behind
from routines.errors import RoutineUnknown
from routines.models import Routine, RoutineState

FILTERS = ("state", *PAGING)
# A page ends before what it tells of routines comes to more; one is told at the least.
PAGE_BYTES = 1_000_000


class Size(Func):
    """How many bytes a JSON column has as text."""

    template = "octet_length(%(expressions)s::text)"
    output_field = IntegerField()


def list_routines(agent_key: str, asked: Mapping[str, str]) -> Page[Routine]:
    """Return the page that `asked` (of `FILTERS`) names. Raises `AgentUnknown`, and `BadInput` naming what is allowed.

    First which rows and how large they are, then those alone that the page has room for.
    """
    check_names(asked, FILTERS)
    limit, rows = limit_of(asked), _rows(agent_key, asked)
    size = Size(F("definition")) + Size(F("origins")) + Size(F("score"))
    found = list(rows.annotate(size=size).values_list("id", "created_at", "size")[: limit + 1])
    shown: list[UUID] = []
    total = 0
    for routine_id, _, bytes_of_it in found[:limit]:
        total += bytes_of_it
        if shown and total > PAGE_BYTES:
            break
        shown.append(routine_id)
    more = _cursor(found[len(shown) - 1][1], shown[-1]) if len(shown) < len(found) else ""
    by_id = Routine.objects.in_bulk(shown)
    return Page(rows=[by_id[it] for it in shown if it in by_id], next_cursor=more)


def find_routine(routine_id: str | UUID) -> Routine:
    """Return a routine. Raises `RoutineUnknown`."""
    try:
        wanted = routine_id if isinstance(routine_id, UUID) else UUID(routine_id)
    except ValueError:
        raise RoutineUnknown(f"{str(routine_id)[:80]!r} is no id of a routine") from None
    found = Routine.objects.filter(id=wanted).first()
    if found is None:
        raise RoutineUnknown(f"there is no routine {wanted}")
    return found


def _rows(agent_key: str, asked: Mapping[str, str]) -> QuerySet[Routine]:
    key = agent_key.replace("\x00", "")
    rows = Routine.objects.filter(agent_key=key)
    if not Agent.objects.filter(key=key).exists() and not rows.exists():
        raise AgentUnknown(f"there is no agent {agent_key[:80]!r}, and no routine of one")
    if "state" in asked:
        if asked["state"] not in RoutineState.values:
            known = ", ".join(RoutineState.values)
            raise BadInput(f"state is {asked['state'][:80]!r}; it wants one of {known}")
        rows = rows.filter(state=asked["state"])
    if "cursor" in asked:
        at, last = read_cursor(asked["cursor"], parts=2)
        try:
            moment, last_id = datetime.fromisoformat(at), UUID(last)
            if moment.tzinfo is None:
                raise ValueError(at)
        except ValueError:
            raise bad_cursor() from None
        rows = rows.filter(behind(moment, last_id, moment="created_at"))
    return rows.order_by("-created_at", "-id")


def _cursor(at: datetime, routine_id: UUID) -> str:
    return write_cursor([at.isoformat(), str(routine_id)])
