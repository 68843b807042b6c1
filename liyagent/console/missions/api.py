"""`/api/missions`: the named missions, and the timeline of any."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import VIEW_RUN, holds
from liyagent.access.views import GuardedView
from liyagent.console.missions.listing import list_missions
from liyagent.console.missions.reading import Told, timeline_of
from liyagent.console.missions.serializers import (
    MissionPageSerializer,
    MissionSerializer,
    TimelineSerializer,
)
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, PAGING, check_names, limit_of, next_link
from missions.timeline import Line

PAGING_PARAMETERS = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]
SOURCE = OpenApiParameter(
    "source",
    str,
    description="Whose entries, parted by commas: runs, doubts, events, audit, approvals, arrivals, jobs, tickets, sagas, handoffs, cohort_replays.",
)


class MissionList(GuardedView):
    """`GET /api/missions`: those that somebody named, first seen last first; `next` leads on until it is null."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGING_PARAMETERS, responses=MissionPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of missions."""
        asked = once_each(request.query_params)
        page = list_missions(asked)
        return Response(
            {
                "missions": MissionSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class MissionOne(GuardedView):
    """`GET /api/missions/{id}`: one timeline of all that the rooms keep of a mission, named or not, the newest first.

    Of a run's id, or correlation id, it is the timeline of that run's mission. Each source is told to those who hold its
    permission; `withheld` names the others. Where calls in doubt are told, some of no page's entries may say how far was
    looked.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=[SOURCE, *PAGING_PARAMETERS], responses=TimelineSerializer)
    def get(self, request: Request, mission: str) -> Response:
        """Show a page of the timeline."""
        asked = once_each(request.query_params)
        check_names(asked, ("source", *PAGING))
        told = timeline_of(
            mission,
            may_see=partial(holds, request),
            sources=asked.get("source", ""),
            limit=limit_of(asked),
            cursor=asked.get("cursor", ""),
        )
        return Response(_told(told, request.path, asked))


def _told(told: Told, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
    row = told.mission.row
    return {
        "id": told.mission.id,
        "is_named": row is not None,
        "first_seen": row and row.first_seen,
        "first_by": row and row.first_by,
        "last_seen": row and row.last_seen,
        "entries": [_line(it) for it in told.page.lines],
        "withheld": told.withheld,
        "next": next_link(path, asked, told.page.next_cursor),
    }


def _line(line: Line) -> dict[str, Any]:
    entry = line.entry
    return {
        "at": entry.at,
        "source": line.source,
        "kind": entry.kind,
        "told": entry.told,
        "by": entry.by,
        "run_id": entry.run_id,
        "url": entry.url or None,
        "facts": entry.facts,
    }
