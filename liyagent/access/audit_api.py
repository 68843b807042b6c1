"""`/api/audit` and `/api/concerns`: here, as the room of the audit log lies below that of the permissions."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.audit_export import is_full, stream_of
from liyagent.access.audit_serializers import (
    AuditPageSerializer,
    AuditRowSerializer,
    ConcernInput,
    ConcernPageSerializer,
    ConcernSerializer,
)
from liyagent.access.permissions import HANDLE_CONCERN, VIEW_AUDIT, VIEW_CONCERN
from liyagent.access.views import GuardedView
from liyagent.audit.concerns import (
    STATES,
    close_concern,
    find_concern,
    list_concerns,
    open_concern,
)
from liyagent.audit.export import begin_export
from liyagent.audit.listing import page_of_audit
from liyagent.core.api import TryLater
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import MOST_PAGE, next_link
from liyagent.core.readiness import STATE
from liyagent.core.streams import hand_over

LINES = "application/x-ndjson"
LATER_SECONDS = 5
NUMBER = re.compile(r"[0-9]{1,18}")
SELECTED_PARAMETERS = [
    OpenApiParameter("mission", str, description="What was done for a mission."),
    OpenApiParameter("action", str, description="An action, or what lies below it: `agent.run`."),
    OpenApiParameter("actor", str, description="Who did it: `ann`, `cli:root`, `agent:triage`."),
    OpenApiParameter("agent", str, description="The agent that did it, or in whose run it was done."),
    OpenApiParameter("run", UUID),
    OpenApiParameter("since", str, description="From this time on, with its zone."),
    OpenApiParameter("until", str, description="Before this time, with its zone."),
]  # fmt: skip
PAGE_PARAMETERS = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class AuditLog(GuardedView):
    """`GET /api/audit`: what was done and by whom, newest first; `next` leads on until it is null.

    A page can be short, or empty, and yet lead on: where several filters are given, at most 10,000 rows of what one of
    them finds are looked through for one page; and one ends before its details come to more than a million characters.
    """

    needs = {"GET": (VIEW_AUDIT,)}

    @extend_schema(
        parameters=[*SELECTED_PARAMETERS, *PAGE_PARAMETERS], responses=AuditPageSerializer
    )
    def get(self, request: Request) -> Response:
        """Show a page of the audit log."""
        asked = once_each(request.query_params)
        page = page_of_audit(asked)
        rows = AuditRowSerializer(page.rows, many=True).data
        return Response({"rows": rows, "next": next_link(request.path, asked, page.next_cursor)})


class AuditExport(GuardedView):
    """`GET /api/audit/export`: rows as JSON lines, oldest first, as many as there are; audited as `audit.exported`.

    The last line is no row: `{"is_complete": true, "rows": …, "after": N}`. Without it the export was cut: ask again with
    `after`, the `id` of the last row that came. Ask later with `after=N` for what came since: nothing is told twice, and
    nothing missed. What is some seconds old at most may come with the next one.
    """

    needs = {"GET": (VIEW_AUDIT,)}

    @extend_schema(
        parameters=[
            *SELECTED_PARAMETERS,
            OpenApiParameter(
                "after", {"type": "integer", "minimum": 0}, description="The number of a row."
            ),
        ],
        responses={(200, LINES): AuditRowSerializer},
    )
    def get(self, request: Request) -> HttpResponse:
        """Export the audit log."""
        asked = once_each(request.query_params)
        after = asked.pop("after", "0")
        if not (after.isascii() and NUMBER.fullmatch(after)):
            raise BadInput("after wants the number of a row, in digits")
        if STATE.is_draining or is_full():
            raise TryLater("This process takes no further exports.", seconds=LATER_SECONDS)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        answer = HttpResponse(content_type=LINES, headers=headers)
        if request.method != "GET":
            return answer
        export = begin_export(asked, actor=request.user.get_username(), after=int(after))
        if not hand_over(request._request, lambda: stream_of(export, self._may_go_on(request))):
            raise TryLater("This server cannot stream.", seconds=LATER_SECONDS)
        return answer

    def _may_go_on(self, request: Request) -> Callable[[], bool]:
        return lambda: self.asked_again(request) is not None


class ConcernList(GuardedView):
    """`GET` and `POST /api/concerns`: confidential concerns, newest first, and one more.

    While one is open, audit rows of the actor or the mission that it is about bear no mission, request id or address; nor
    do, also later, those of runs that were started meanwhile.
    """

    needs = {"GET": (VIEW_CONCERN,), "POST": (HANDLE_CONCERN,)}

    @extend_schema(
        parameters=[OpenApiParameter("state", str, enum=STATES), *PAGE_PARAMETERS],
        responses=ConcernPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Show a page of concerns."""
        asked = once_each(request.query_params)
        page = list_concerns(asked)
        concerns = ConcernSerializer(page.rows, many=True).data
        return Response(
            {"concerns": concerns, "next": next_link(request.path, asked, page.next_cursor)}
        )

    @extend_schema(request=ConcernInput, responses={HTTPStatus.CREATED: ConcernSerializer})
    def post(self, request: Request) -> Response:
        """Open a concern."""
        given = ConcernInput(data=request.data)
        given.is_valid(raise_exception=True)
        concern = open_concern(opened_by=request.user.get_username(), **given.validated_data)
        return Response(ConcernSerializer(concern).data, status=HTTPStatus.CREATED)


class ConcernOne(GuardedView):
    """`GET /api/concerns/{id}`."""

    needs = {"GET": (VIEW_CONCERN,)}

    @extend_schema(responses=ConcernSerializer)
    def get(self, request: Request, concern_id: int) -> Response:
        """Show a concern."""
        return Response(ConcernSerializer(find_concern(concern_id)).data)


class ConcernClose(GuardedView):
    """`POST /api/concerns/{id}/close`: 409 `concern.already_closed` where it is closed."""

    needs = {"POST": (HANDLE_CONCERN,)}

    @extend_schema(request=None, responses=ConcernSerializer)
    def post(self, request: Request, concern_id: int) -> Response:
        """Close a concern."""
        concern = close_concern(concern_id, closed_by=request.user.get_username())
        return Response(ConcernSerializer(concern).data)
