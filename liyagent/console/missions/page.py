"""A mission's page in the console: all that the rooms keep of it, the newest first, a hundred lines at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from events.content import some_text
from liyagent.access.permissions import VIEW_RUN
from liyagent.console.missions.reading import MissionNotFound, Told, timeline_of
from liyagent.core.errors import BadInput
from liyagent.core.moments import when
from liyagent.core.tables import cell, visible
from missions.timeline import SOURCES, Line
from runs.event_line import line_of
from runs.models import Run
from runs.wording import fact_in_words, fact_named

PAGE = 100
LONGEST_FACT = 200
# What a line's facts are found by in the console: the page's name and the fact with its key. An event is found by its number.
PAGES: Mapping[str, tuple[str, str]] = {
    "doubts": ("admin:runs_call_change", "call"),
    "approvals": ("admin:approvals_approval_change", "approval"),
    "audit": ("admin:audit_auditrow_change", "id"),
    "jobs": ("admin:jobs_job_change", "job"),
    "tickets": ("admin:tickets_ticket_change", "ticket"),
    "sagas": ("admin:sagas_saga_change", "saga"),
    "handoffs": ("admin:handoffs_version_change", "handoff"),
    "replays": ("admin:replays_cohortreplay_change", "replay"),
}
WORDS: Mapping[str, str] = {
    "runs": "Runs",
    "doubts": "In doubt",
    "events": "Events",
    "audit": "Audit",
    "approvals": "Approvals",
    "arrivals": "Arrivals",
    "jobs": "Jobs",
    "tickets": "Tickets",
    "sagas": "Sagas",
    "handoffs": "Hand-offs",
    "replays": "Cohort replays",
}


def show_mission(request: HttpRequest, mission: str) -> HttpResponse:
    """Show a page of a mission's timeline, of all sources or of those chosen, as far as the user may see them."""
    if not request.user.has_perm(VIEW_RUN):
        raise PermissionDenied
    chosen, problem, told = request.GET.get("source", ""), "", None
    try:
        told = timeline_of(
            mission,
            may_see=request.user.has_perm,
            sources=chosen,
            limit=PAGE,
            cursor=request.GET.get("cursor", ""),
        )
    except (BadInput, MissionNotFound) as error:
        problem = cell(str(error))
    context = {
        **admin.site.each_context(request),
        "title": "Mission",
        "asked": visible(mission)[:200],
        "problem": problem,
        "choices": _choices(request, chosen),
        "address": request.path,
        "is_first": "cursor" not in request.GET,
        **(_shown(request, told, chosen) if told else {}),
    }
    return TemplateResponse(request, "admin/mission.html", context, status=404 if problem else 200)


def _shown(request: HttpRequest, told: Told, chosen: str) -> dict[str, Any]:
    row, mission = told.mission.row, told.mission.id
    runs = {it.entry.run_id for it in told.page.lines if it.entry.run_id}
    agents = dict(Run.objects.filter(id__in=runs).values_list("id", "agent_key"))
    cursor = told.page.next_cursor
    asked = {"source": chosen} if chosen else {}
    return {
        "mission": mission,
        "is_named": row is not None,
        "first_seen": when(row.first_seen) if row else "",
        "first_by": cell(row.first_by) if row else "",
        "last_seen": when(row.last_seen) if row else "",
        "lines": [_line(it, agents) for it in told.page.lines],
        "withheld": ", ".join(WORDS.get(it, it) for it in told.withheld),
        "older": f"?{urlencode({**asked, 'cursor': cursor})}" if cursor else "",
        "links": _links(request, mission),
    }


def _line(line: Line, agents: Mapping[UUID, str]) -> dict[str, Any]:
    entry = line.entry
    name, key = PAGES.get(line.source, ("", ""))
    by_facts = name and entry.facts.get(key) is not None
    url = reverse(name, args=[entry.facts[key]]) if by_facts else ""
    run_url = reverse("admin:runs_run_change", args=[entry.run_id]) if entry.run_id else ""
    if not url and line.source == "arrivals":
        url = reverse("admin:entry_arrival_change", args=[entry.run_id])
    is_event = line.source == "events"
    by = entry.by or (some_text(entry.facts.get("by")) if is_event else "")
    if is_event and run_url:
        number = entry.facts["number"]
        url = f"{run_url}?event={number}#event-{number}"
    return {
        "at": when(entry.at),
        "source": WORDS.get(line.source, line.source),
        "told": line_of(entry.kind, entry.facts) if is_event else visible(entry.told),
        "by": cell(by) if by else "",
        "run": entry.run_id,
        "run_url": run_url,
        "agent": visible(agents.get(entry.run_id, "")) if entry.run_id else "",
        "url": url,
        "facts": _facts(entry.kind, entry.facts),
        "is_bad": entry.kind == "call.in_doubt",
    }


def _facts(kind: str, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known, each in one line and named as on the page of a run; what is empty is left out."""
    shown = []
    for name, stored in facts.items():
        if stored in (None, "", [], {}, False):
            continue
        value = fact_in_words(name, stored)
        text = (
            value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        )
        cut = text if len(text) <= LONGEST_FACT else f"{text[:LONGEST_FACT]}…"
        shown.append((cell(fact_named(kind, name)), visible(cut)))
    return shown


def _choices(request: HttpRequest, chosen: str) -> Sequence[tuple[str, str, bool]]:
    """The sources that the user may choose: title, address and whether it is chosen."""
    seen = [it.name for it in SOURCES.values() if request.user.has_perm(it.needs)]
    return [
        ("All", request.path, not chosen),
        *((WORDS.get(it, it), f"{request.path}?source={it}", it == chosen) for it in seen),
    ]


def _links(request: HttpRequest, mission: str) -> list[tuple[str, str]]:
    found = [("Its runs", f"{reverse('admin:runs_run_changelist')}?{urlencode({'q': mission})}")]
    if request.user.has_perm("approvals.view_approval"):
        address = reverse("admin:approvals_approval_changelist")
        found.append(("Its requests", f"{address}?{urlencode({'q': mission})}"))
    if request.user.has_perm("audit.view_auditrow"):
        address = reverse("admin:audit_auditrow_changelist")
        found.append(("Its audit rows", f"{address}?{urlencode({'mission': mission})}"))
    return found
