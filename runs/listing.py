"""Runs, newest first, a page at a time."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from liyagent.core.errors import BadInput
from missions.names import clean_mission
from runs.head import BODIES
from runs.models import Run, RunStatus
from runs.unknown import with_unknown_writes

PAGE = 50
MOST_PAGE = 200
KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
FILTERS = ("status", "agent", "mission", "entry", "limit", "cursor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Each run has its `unknown_writes`. `next_cursor` is empty on the last page."""

    runs: list[Run]
    next_cursor: str


def list_runs(asked: Mapping[str, str]) -> Page:
    """Return the page that `asked` (of `FILTERS`) names. Raises `BadInput` naming what is allowed."""
    unknown = [name for name in asked if name not in FILTERS]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is not known here; the known ones are {', '.join(FILTERS)}")
    limit = _limit(asked.get("limit"))
    heads = with_unknown_writes(Run.objects.defer(*BODIES))
    rows = heads.filter(_chosen(asked)).order_by("-created_at", "-id")
    if "cursor" in asked:
        rows = rows.filter(_after(asked["cursor"]))
    runs = list(rows[: limit + 1])
    has_more = len(runs) > limit
    return Page(runs=runs[:limit], next_cursor=_cursor(runs[limit - 1]) if has_more else "")


def _chosen(asked: Mapping[str, str]) -> Q:
    chosen = Q()
    if "status" in asked:
        if asked["status"] not in RunStatus.values:
            raise BadInput(
                f"status is {asked['status']!r}; it wants one of {', '.join(RunStatus.values)}"
            )
        chosen &= Q(status=asked["status"])
    for name, column in (("agent", "agent_key"), ("entry", "entry")):
        if name in asked:
            if not KEY.fullmatch(asked[name]):
                raise BadInput(f"{name} is {asked[name]!r}; it wants letters, digits, - and _")
            chosen &= Q(**{column: asked[name]})
    if "mission" in asked:
        if clean_mission(asked["mission"]) is None:
            raise BadInput(
                f"mission is {asked['mission']!r}; it wants 1 to 128 letters, digits, "
                "'.', '_', ':' and '-', first a letter or digit"
            )
        chosen &= Q(mission=asked["mission"])
    return chosen


def _limit(text: str | None) -> int:
    if text is None:
        return PAGE
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST_PAGE):
        raise BadInput(f"limit is {text!r}; it wants a whole number from 1 to {MOST_PAGE}")
    return int(text)


def _cursor(run: Run) -> str:
    return base64.urlsafe_b64encode(f"{run.created_at.isoformat()} {run.id}".encode()).decode()


def _after(cursor: str) -> Q:
    """Match what comes after the cursor's row; the first condition alone can use the index."""
    try:
        at, _, row_id = (
            base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(" ")
        )
        created_at, last_id = datetime.fromisoformat(at), UUID(row_id)
        if created_at.tzinfo is None:
            raise ValueError("a time without a zone")
        # A time near the first or the last year may leave the calendar.
        created_at = created_at.astimezone(UTC)
    except (ValueError, OverflowError, binascii.Error):
        raise BadInput("cursor wants what a page's `next` named, unchanged") from None
    return Q(created_at__lte=created_at) & (Q(created_at__lt=created_at) | Q(id__lt=last_id))
