"""Requests a page at a time: what waits, oldest first; anything else, newest first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.core.stored_times import FIRST, LAST
from missions.names import clean_mission

KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
KIND = re.compile(r"[a-z][a-z0-9_.]{0,29}")
# How many requests of what an index finds are looked through for the other filters, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
# What an index leads to, in this order of preference; each but the run's is ordered by time.
INDEXED = ("run", "mission", "status")
COLUMNS = {
    "status": "status",
    "agent": "agent_key",
    "run": "run_id",
    "mission": "mission",
    "kind": "kind",
}
FILTERS = (*COLUMNS, *PAGING)
# Bodies are never read for a list (ruling 12).
BODIES = ("sealed", "ceiling")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPage:
    """`next_cursor` is empty at the end of the list, and only there.

    A page can be short, or empty, and yet lead on: then what was looked through held no more that fit.
    """

    approvals: list[Approval]
    next_cursor: str


def list_approvals(asked: Mapping[str, str]) -> ApprovalPage:
    """Return the page that `asked` (of `FILTERS`) names. Raises `BadInput` naming what is allowed."""
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    chosen = {name: _checked(name, asked[name]) for name in COLUMNS if name in asked}
    is_oldest_first = chosen.get("status") == ApprovalStatus.PENDING.value
    leading = next((name for name in INDEXED if name in chosen), "")
    within = Approval.objects.filter(**{COLUMNS[it]: chosen[it] for it in chosen if it == leading})
    if "cursor" in asked:
        within = within.filter(_after(asked["cursor"], is_oldest_first=is_oldest_first))
    order = ("created_at", "id") if is_oldest_first else ("-created_at", "-id")
    others = {COLUMNS[name]: value for name, value in chosen.items() if name != leading}
    if others:
        return _looked_through(within.order_by(*order), others, limit=limit)
    found = list(within.order_by(*order).defer(*BODIES)[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    cursor = _cursor(last.created_at, last.id) if last else ""
    return ApprovalPage(approvals=found[:limit], next_cursor=cursor)


def _looked_through(
    within: QuerySet[Approval], others: Mapping[str, str], *, limit: int
) -> ApprovalPage:
    """Compare here and not by a condition: there is then no index that can be taken for a shorter way, through all."""
    columns = ("created_at", "id", *others)
    looked_at = list(within.values_list(*columns)[:MOST_LOOKED_THROUGH])
    wanted = list(others.values())
    fits = [it for it in looked_at if [str(value) for value in it[2:]] == wanted]
    more, is_full = fits[limit:], len(looked_at) == MOST_LOOKED_THROUGH
    last = fits[limit - 1] if more else looked_at[-1] if is_full else None
    rows = within.model.objects.filter(id__in=[it[1] for it in fits[:limit]])
    found = rows.order_by(*within.query.order_by).defer(*BODIES)
    return ApprovalPage(
        approvals=list(found), next_cursor=_cursor(last[0], last[1]) if last else ""
    )


def _checked(name: str, value: str) -> str:
    if name == "status" and value not in ApprovalStatus.values:
        known = ", ".join(ApprovalStatus.values)
        raise BadInput(f"status is {value[:80]!r}; it wants one of {known}")
    if name == "agent" and not KEY.fullmatch(value):
        raise BadInput(f"agent is {value[:80]!r}; it wants letters, digits, - and _")
    if name == "kind" and not KIND.fullmatch(value):
        raise BadInput(f"kind is {value[:80]!r}; it wants a word such as call")
    if name == "mission" and clean_mission(value) is None:
        raise BadInput(
            f"mission is {value[:80]!r}; it wants 1 to 128 letters, digits, "
            "'.', '_', ':' and '-', first a letter or digit"
        )
    return str(_run_id(value)) if name == "run" else value


def _run_id(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise BadInput(f"run is {value[:80]!r}; it wants the id of a run") from None


def _cursor(created_at: datetime, approval_id: UUID) -> str:
    return write_cursor([created_at.isoformat(), str(approval_id)])


def _after(cursor: str, *, is_oldest_first: bool) -> Q:
    """Match what comes after the cursor's row; the first condition alone can use the index.

    Nothing beyond the calendar, which no cursor can name: it would come after itself.
    """
    at, row_id = read_cursor(cursor, parts=2)
    try:
        created_at, last_id = parse_datetime(at), UUID(row_id)
    except (ValueError, OverflowError):
        raise bad_cursor() from None
    if created_at is None or created_at.tzinfo is None:
        raise bad_cursor()
    way = "gt" if is_oldest_first else "lt"
    within = Q(created_at__lt=LAST) if is_oldest_first else Q(created_at__gt=FIRST)
    return (
        within
        & Q(**{f"created_at__{way}e": created_at})
        & (Q(**{f"created_at__{way}": created_at}) | Q(**{f"id__{way}": last_id}))
    )
