"""Sagas of an agent, newest first, a page at a time, however many there are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime

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
from sagas.models import Saga, SagaStatus

# How many are looked through for those of a status, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
FILTERS = ("status", *PAGING)
# Bodies are never read for a list (ruling 12).
BODIES = ("context",)


def list_sagas(agent_key: str, asked: Mapping[str, str]) -> Page[Saga]:
    """Return the page of an agent's that `asked` (of `FILTERS`) names. Raises `AgentUnknown`, `BadInput`.

    A page can be short, or empty, and yet lead on: then what was looked through held no more of that status.
    """
    check_names(asked, FILTERS)
    limit, status = limit_of(asked), _status(asked)
    rows = Saga.objects.filter(agent_key=agent_key).order_by("-created_at", "-id")
    if not Agent.objects.filter(key=agent_key).exists() and not rows.exists():
        raise AgentUnknown(agent=agent_key)
    if "cursor" in asked:
        at, last_id = _place(asked["cursor"])
        rows = rows.filter(behind(at, last_id, moment="created_at"))
    if not status:
        found = list(rows.defer(*BODIES)[: limit + 1])
        return Page(rows=found[:limit], next_cursor=_cursor(found[:limit], found[limit:]))
    # Compared here: by a condition another index could be taken, which leads through those of all agents.
    looked_at = list(rows.only("id", "status", "created_at")[:MOST_LOOKED_THROUGH])
    fits = [it for it in looked_at if it.status == status]
    ids = [it.id for it in fits[:limit]]
    found = list(Saga.objects.filter(id__in=ids).order_by("-created_at", "-id").defer(*BODIES))
    if len(fits) > limit:
        return Page(rows=found, next_cursor=_cursor(fits[:limit], fits[limit:]))
    is_full = len(looked_at) == MOST_LOOKED_THROUGH
    return Page(rows=found, next_cursor=_cursor(looked_at, looked_at) if is_full else "")


def _status(asked: Mapping[str, str]) -> str:
    status = asked.get("status", "")
    if "status" in asked and status not in SagaStatus.values:
        raise BadInput(f"status is {status[:80]!r}; it wants one of {', '.join(SagaStatus.values)}")
    return status


def _cursor(shown: list[Saga], more: list[Saga]) -> str:
    return write_cursor([shown[-1].created_at.isoformat(), str(shown[-1].id)]) if more else ""


def _place(cursor: str) -> tuple[datetime, UUID]:
    at, last_id = read_cursor(cursor, parts=2)
    try:
        moment = parse_datetime(at) if at.isascii() else None
        if moment is None or moment.tzinfo is None:
            raise bad_cursor()
        return moment.astimezone(UTC), UUID(last_id)
    except (ValueError, OverflowError):
        raise bad_cursor() from None
