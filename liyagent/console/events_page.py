"""The event log, one chain at a time: it is as long as all that ever happened, so it is entered by an id."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import DataError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from events.content import content_of
from events.models import EventHead
from events.reading import STORED_AT
from events.words import without_words
from liyagent.access.permissions import READ_WORDS
from liyagent.core.moments import when
from liyagent.core.tables import visible
from runs.models import Run

VIEW_EVENTS = "events.view_runevent"
PAGE = 100
LONGEST_FIELD = 2000
# No event of ours has so many fields; of what is cut here nothing can be told.
LONGEST_WHOLE = 100_000
NEWEST = 20
HIGHEST = 1 << 62
# A field that is long is cut in the database, so that it is never read whole.
CUT = """CASE WHEN length(content) <= %(most)s THEN content ELSE left((SELECT jsonb_object_agg(key, CASE WHEN length(value::text) <= %(most)s
        THEN value ELSE to_jsonb(left(value::text, %(most)s) || ' (cut: ' || length(value::text) || ' characters)') END)
        FROM jsonb_each(content::jsonb))::text, %(whole)s) END"""
# Where one was edited so that it is no JSON any more, or is nested too deeply.
SHORT_ALONE = "CASE WHEN length(content) <= %(most)s THEN content ELSE '' END"
EVENTS = """
SELECT number, {at}, kind, run_id, encode(hash, 'hex'), {content}
    FROM events_runevent WHERE correlation_id = %(chain)s AND number >= %(first)s ORDER BY number LIMIT %(limit)s
"""


def show_events(request: HttpRequest) -> HttpResponse:
    """Show a page of the chain of a run or a correlation id; without one, the newest runs to choose from."""
    if not request.user.has_perm(VIEW_EVENTS):
        raise PermissionDenied
    asked = request.GET.get("q", "").strip()
    chain = chain_of(asked)
    first = number_asked(request)
    events = page_of(chain, first, with_words=request.user.has_perm(READ_WORDS)) if chain else []
    head = EventHead.objects.filter(correlation_id=chain).first() if chain else None
    context = {
        **admin.site.each_context(request),
        "title": "Events",
        "asked": visible(asked)[:200],
        "chain": chain,
        "is_unknown": bool(asked) and chain is None,
        "head": head,
        "events": events[:PAGE],
        "first": first,
        "next": events[PAGE]["number"] if len(events) > PAGE else None,
        "newest": [] if chain else newest_runs(request),
    }
    return TemplateResponse(request, "admin/events.html", context)


def chain_of(text: str) -> UUID | None:
    """Return the correlation id that a run's id or a correlation id leads to, None for anything else."""
    try:
        asked = UUID(text)
    except ValueError:
        return None
    run = Run.objects.filter(id=asked).values_list("correlation_id", flat=True).first()
    if run is not None:
        return run
    return asked if EventHead.objects.filter(correlation_id=asked).exists() else None


def number_asked(request: HttpRequest) -> int:
    """Return the number of the event that the page begins with, the first for what is no number."""
    text = request.GET.get("from", "")
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return min(int(text), HIGHEST) if is_number else 0


def page_of(chain: UUID, first: int, *, with_words: bool) -> list[dict[str, Any]]:
    """Return the events from a number on, one more than a page shows; words only where they may be read."""
    values = {
        "most": LONGEST_FIELD,
        "whole": LONGEST_WHOLE,
        "chain": chain,
        "first": first,
        "limit": PAGE + 1,
    }
    try:
        rows = _rows(CUT, values)
    except (DataError, OperationalError):
        rows = _rows(SHORT_ALONE, values)
    return [_shown(row, with_words=with_words) for row in rows]


def _rows(content: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(EVENTS.format(at=STORED_AT, content=content), values)
        return list(cursor.fetchall())


def _shown(row: tuple[Any, ...], *, with_words: bool) -> dict[str, Any]:
    number, at, kind, run_id, digest, content = row
    told = content_of(content or "")
    facts = told if with_words else without_words(told)
    return {
        "number": number,
        "at": when(at),
        "kind": visible(kind),
        "run": run_id,
        "hash": digest,
        "content": visible(json.dumps(facts, indent=1, ensure_ascii=False)),
    }


def newest_runs(request: HttpRequest) -> list[Run]:
    """Return the newest runs, for those who may see runs."""
    if not request.user.has_perm("runs.view_run"):
        return []
    rows = Run.objects.order_by("-created_at", "-id").only(
        "id", "agent_key", "status", "created_at"
    )
    return list(rows[:NEWEST])
