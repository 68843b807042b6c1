"""`/api/run-events/{run_id}` and `/api/agents/{key}/run-events`: what was recorded, and whether it is as it was written."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, next_link
from runs.evidence import MOST_JUDGED, MOST_JUDGED_SIZE, Evidence, event_told, evidence_of
from runs.evidence_list import logged_runs
from runs.evidence_serializers import EvidenceSerializer, LoggedRunsSerializer

PAGING = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]
TOO_LONG = (
    f"the chain holds more than {MOST_JUDGED} events, or {MOST_JUDGED_SIZE} characters of content; "
    "`manage.py events verify --run` judges it"
)
LATER_PAGE = "the first page, without a cursor, tells it"


class RunEvents(GuardedView):
    """`GET /api/run-events/{run_id}`: a page of a run's events; the first page tells what all of them come to (EV-02, EV-04).

    A page can end early, at a million characters of content, and leads on. Words are told to those who may read them.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGING, responses=EvidenceSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show what was recorded of a run."""
        asked = once_each(request.query_params)
        found = evidence_of(run_id, asked)
        told = evidence_told(found, with_words=may_read_words(request))
        told["next"] = next_link(request.path, asked, found.next_cursor)
        return Response(EvidenceSerializer(told).data)


class AgentRunEvents(GuardedView):
    """`GET /api/agents/{key}/run-events`: the agent's runs as the log has them, the newest first (EV-08)."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGING, responses=LoggedRunsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show a page of an agent's runs."""
        asked = once_each(request.query_params)
        page = logged_runs(key, asked)
        told = {"runs": page.runs, "next": next_link(request.path, asked, page.next_cursor)}
        return Response(LoggedRunsSerializer(told).data)


def evidence_told(found: Evidence, *, with_words: bool) -> dict[str, Any]:
    """Return what the API tells: verdict, state and agreement are null where they are not told here, and `not_judged` says why."""
    return {
        "run_id": found.run.id,
        "correlation_id": found.run.correlation_id,
        "mission": found.run.mission,
        "count": found.head.count if found.head else 0,
        **_judged_told(found),
        "checkpoint": found.checkpoint,
        "events": [event_told(it, with_words=with_words) for it in found.events],
    }


def _why_not(found: Evidence) -> str:
    if found.purged_at is not None:
        return f"its record was purged at {found.purged_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}, as a certificate tells"
    return TOO_LONG if found.is_first else LATER_PAGE


def _judged_told(found: Evidence) -> dict[str, Any]:
    judged = found.judged
    if judged is None:
        names = ("intact", "broken", "complete", "lacks", "open", "state", "agrees", "differs")
        return {**dict.fromkeys(names), "not_judged": _why_not(found)}
    verdict = judged.verdict
    return {
        "intact": verdict.is_intact,
        "broken": verdict.broken,
        "complete": verdict.is_complete,
        "lacks": list(verdict.lacks),
        "open": verdict.is_open,
        "state": {
            "runs": [it.told() for it in judged.states],
            "missing": judged.state.missing,
            "left_out": judged.state.left_out,
        },
        "agrees": not judged.differs,
        "differs": list(judged.differs),
        "not_judged": "",
    }
