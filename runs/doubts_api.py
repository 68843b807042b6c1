"""`/api/calls`: writes in doubt, and what a person says of them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import holds, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, next_link
from runs.doubts import STATES, Doubt, arguments_of, doubt_of, list_doubts
from runs.doubts_serializers import (
    DoubtPageSerializer,
    DoubtSerializer,
    DoubtToldSerializer,
    HappenedInput,
    ReasonInput,
    SaidSerializer,
)
from runs.settle_by_person import Said, has_reader, it_did_not, it_happened, look_again

VIEW_CALL = "runs.view_call"
SETTLE = "runs.settle_call"
LIST_PARAMETERS = [
    OpenApiParameter("state", str, enum=list(STATES)),
    *(OpenApiParameter(name, str) for name in ("server", "tool", "agent", "run", "mission")),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class DoubtList(GuardedView):
    """`GET /api/calls/in-doubt`: oldest mark first; `next` leads on, with the same filters, until it is null."""

    needs = {"GET": (VIEW_CALL,)}

    @extend_schema(parameters=LIST_PARAMETERS, responses=DoubtPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of writes in doubt."""
        asked = once_each(request.query_params)
        page = list_doubts(asked)
        return Response(
            {
                "calls": DoubtSerializer(page.doubts, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class DoubtOne(GuardedView):
    """`GET /api/calls/{id}`: a marked call, in doubt or not; its arguments to who may read words, or say what happened."""

    needs = {"GET": (VIEW_CALL,)}

    @extend_schema(responses=DoubtToldSerializer)
    def get(self, request: Request, call_id: int) -> Response:
        """Show a marked call."""
        with_words = may_read_words(request) or holds(request, SETTLE)
        return Response(told_of(doubt_of(call_id), with_words=with_words))


class CallHappened(GuardedView):
    """`POST /api/calls/{id}/happened`: it did, as who looked at the vendor says."""

    needs = {"POST": (SETTLE,)}

    @extend_schema(request=HappenedInput, responses=SaidSerializer)
    def post(self, request: Request, call_id: int) -> Response:
        """Say that a write of unknown outcome happened."""
        given = HappenedInput(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(
            said_told(
                it_happened(
                    call_id=call_id,
                    result=given.validated_data["result"],
                    actor=request.user.get_username(),
                    reason=given.validated_data["reason"],
                )
            )
        )


class CallDidNot(GuardedView):
    """`POST /api/calls/{id}/did-not`: it did not, as who looked at the vendor says."""

    needs = {"POST": (SETTLE,)}

    @extend_schema(request=ReasonInput, responses=SaidSerializer)
    def post(self, request: Request, call_id: int) -> Response:
        """Say that a write of unknown outcome did not happen."""
        return Response(
            said_told(
                it_did_not(
                    call_id=call_id,
                    actor=request.user.get_username(),
                    reason=reason_of(request),
                )
            )
        )


class CallLookAgain(GuardedView):
    """`POST /api/calls/{id}/look-again`: its vendor is asked within a sweep; nothing is sent again."""

    needs = {"POST": (SETTLE,)}

    @extend_schema(request=ReasonInput, responses=DoubtSerializer)
    def post(self, request: Request, call_id: int) -> Response:
        """Have a write of unknown outcome looked for once more."""
        look_again(call_id=call_id, actor=request.user.get_username(), reason=reason_of(request))
        return Response(DoubtSerializer(doubt_of(call_id)).data)


def reason_of(request: Request) -> str:
    """Return the reason that a body gives."""
    given = ReasonInput(data=request.data)
    given.is_valid(raise_exception=True)
    return str(given.validated_data["reason"])


def said_told(said: Said) -> dict[str, Any]:
    """Return what is answered to a person who settled a call."""
    shown = DoubtSerializer(doubt_of(said.call.id)).data
    return {**shown, "withdrawn": said.withdrawn, "waiting": said.waiting}


def told_of(doubt: Doubt, *, with_words: bool) -> dict[str, Any]:
    """Return all of a marked call, its arguments only where they may be read."""
    told = {
        **DoubtSerializer(doubt).data,
        "decision": doubt.decision,
        "has_reader": has_reader(doubt.call),
    }
    if with_words:
        told["args"], missing = arguments_of(doubt)
        told |= {"args_missing": missing} if missing else {}
    return told
