"""`/api/agents/{key}/routines`: what an agent's runs do the same way every time (RT-04), and have them looked through (RT-01)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import StrictSerializer, once_each
from liyagent.core.paging import MOST_PAGE, next_link
from liyagent.jobs.serializers import AskedSerializer, JobSerializer
from missions.context import current_stamp
from routines.ask import ask_mining
from routines.listing import find_routine, list_routines
from routines.models import Routine, RoutineState
from routines.serializers import RoutinePage, RoutineSerializer, RoutineTold
from routines.standing import standing_of
from routines.tools_seen import changed_among

PARAMETERS = [
    OpenApiParameter("state", str, enum=RoutineState.values),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class NothingGiven(StrictSerializer):
    """No body, or an empty object."""


class AgentRoutines(GuardedView):
    """`GET /api/agents/{key}/routines`: the newest first, those that were dismissed among them; `?state=` chooses."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PARAMETERS, responses=RoutinePage)
    def get(self, request: Request, key: str) -> Response:
        """Show a page of an agent's routines. A page can be short, and yet lead on: large definitions are fewer a page."""
        asked = once_each(request.query_params)
        page = list_routines(key, asked)
        told = routines_told(request, page.rows)
        return Response({"routines": told, "next": next_link(request.path, asked, page.next_cursor)})  # fmt: skip


class MineRoutines(GuardedView):
    """`POST /api/agents/{key}/routines/mine`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=NothingGiven, responses={HTTPStatus.ACCEPTED: AskedSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Ask for the agent's recent runs to be looked through; 202 once it is stored. One that goes on already is told instead."""
        NothingGiven(data=request.data).is_valid(raise_exception=True)
        stamp = current_stamp()
        asked = ask_mining(
            key,
            asked_by=request.user.get_username(),
            mission=stamp.mission or stamp.request_id,
        )
        told = {"job": JobSerializer(asked.job).data, "is_new": asked.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)


class RoutineOne(GuardedView):
    """`GET /api/routines/{id}`."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(responses=RoutineTold)
    def get(self, request: Request, routine_id: str) -> Response:
        """Show a routine, and how it does where it was adopted."""
        routine = find_routine(routine_id)
        (told,) = routines_told(request, [routine])
        standing = standing_of(routine)
        return Response({**told, "standing": standing.plain() if standing else None})


def routines_told(request: Request, routines: Sequence[Routine]) -> list[dict[str, Any]]:
    """Return routines as they are shown to who asks."""
    changed = dict(zip([it.id for it in routines], changed_among([it.tools_seen for it in routines]), strict=True))  # fmt: skip
    context = {"may_read": may_read_words(request), "changed": changed}
    return list(RoutineSerializer(routines, many=True, context=context).data)
