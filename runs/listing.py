"""Runs, newest first, a page at a time, however many there are and whatever is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from missions.names import clean_mission
from missions.places import behind
from runs.head import BODIES
from runs.models import Run, RunStatus
from runs.unknown import with_unknown_writes
from runs.waits import Wait, waits_of

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
CODE = re.compile(r"[a-z][a-z0-9_.]{0,59}")
LONGEST_NAME = 150
# How many runs of what an index finds are looked through for the other filters, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
# What an index leads to, in this order of preference; each index is ordered by time. The common status has none.
INDEXED = ("parent", "mission", "error", "agent", "status")
COLUMNS = {
    "status": "status",
    "agent": "agent_key",
    "mission": "mission",
    "entry": "entry",
    "error": "error",
    "started_by": "started_by",
    "parent": "parent_id",
}
FILTERS = (*COLUMNS, "since", "until", *PAGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Each run has its `unknown_writes`; `waits` are those of runs that wait. `next_cursor` is empty at the end alone.

    A page can be short, or empty, and yet lead on: then what was looked through held no more that fit.
    """

    runs: list[Run]
    waits: dict[UUID, Wait]
    next_cursor: str


def list_runs(asked: Mapping[str, str]) -> RunPage:
    """Return the page that `asked` (of `FILTERS`) names. Raises `BadInput` naming what is allowed."""
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    chosen = {name: _checked(name, asked[name]) for name in COLUMNS if name in asked}
    indexed, others = _parted(chosen)
    within = Run.objects.filter(indexed, _between(asked)).order_by("-created_at", "-id")
    bottom = _bottom(within) if others else None
    rows = within.filter(others) if others else within
    if bottom is not None:
        rows = rows.filter(created_at__gte=bottom.created_at).exclude(
            created_at=bottom.created_at, id__lt=bottom.id
        )
    runs = list(with_unknown_writes(rows.defer(*BODIES))[: limit + 1])
    if len(runs) > limit:
        runs, bottom = runs[:limit], runs[limit - 1]
    next_cursor = _cursor(bottom) if bottom is not None else ""
    return RunPage(runs=runs, waits=waits_of(runs), next_cursor=next_cursor)


def _parted(chosen: Mapping[str, str]) -> tuple[Q, Q]:
    """The one filter that an index answers, and all the others."""
    has_index = {
        name for name in chosen if name in INDEXED and chosen[name] != RunStatus.ANSWERED.value
    }
    leading = next((name for name in INDEXED if name in has_index), None)
    indexed = Q(**{COLUMNS[leading]: chosen[leading]}) if leading else Q()
    if leading == "parent":
        # The index begins with the chain, which children and parent share.
        parent = Run.objects.filter(id=chosen["parent"]).values_list("correlation_id", flat=True)
        indexed &= Q(correlation_id=next(iter(parent), None))
    others = {COLUMNS[name]: value for name, value in chosen.items() if name != leading}
    return indexed, Q(**others)


def _bottom(within: QuerySet[Run]) -> Run | None:
    """The last run that is looked at for this page; None where all that is left may be."""
    last = within.only("created_at")[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH]
    return next(iter(last), None)


def _checked(name: str, value: str) -> str:
    if name == "status" and value not in RunStatus.values:
        raise BadInput(f"status is {value[:80]!r}; it wants one of {', '.join(RunStatus.values)}")
    if name in {"agent", "entry"} and not KEY.fullmatch(value):
        raise BadInput(f"{name} is {value[:80]!r}; it wants letters, digits, - and _")
    if name == "mission" and clean_mission(value) is None:
        raise BadInput(
            f"mission is {value[:80]!r}; it wants 1 to 128 letters, digits, "
            "'.', '_', ':' and '-', first a letter or digit"
        )
    if name == "error" and not CODE.fullmatch(value):
        raise BadInput(f"error is {value[:80]!r}; it wants a code such as run.stopped")
    if name == "parent":
        try:
            UUID(value)
        except ValueError:
            raise BadInput(f"parent is {value[:80]!r}; it wants a run's id") from None
    if name == "started_by" and not 1 <= len(value) <= LONGEST_NAME:
        raise BadInput(f"started_by wants 1 to {LONGEST_NAME} characters")
    return value


def _between(asked: Mapping[str, str]) -> Q:
    """Match what was made from `since` on and before `until`, below the cursor's row."""
    chosen = Q()
    if "since" in asked:
        chosen &= Q(created_at__gte=_time("since", asked["since"]))
    if "until" in asked:
        chosen &= Q(created_at__lt=_time("until", asked["until"]))
    return chosen & _after(asked["cursor"]) if "cursor" in asked else chosen


def _time(name: str, text: str) -> datetime:
    wants = f"{name} is {text[:80]!r}; it wants a time with its zone, such as 2026-01-31T09:30:00Z"
    try:
        # A time near the first or the last year may leave the calendar.
        found = parse_datetime(text) if text.isascii() else None
        if found is None or found.tzinfo is None:
            raise BadInput(wants)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(wants) from None


def _cursor(run: Run) -> str:
    return write_cursor([run.created_at.isoformat(), str(run.id)])


def _after(cursor: str) -> Q:
    """Match what comes after the cursor's row."""
    at, row_id = read_cursor(cursor, parts=2)
    try:
        created_at, last_id = _time("cursor", at), UUID(row_id)
    except (ValueError, BadInput):
        raise bad_cursor() from None
    return behind(created_at, last_id, moment="created_at")
