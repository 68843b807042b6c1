"""`/api/routines/{id}/adopt`, `/dismiss`, `/parameters`: what people do with routines (RT-05)."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE
from liyagent.access.views import GuardedView
from routines.adopt import adopt_routine
from routines.api import routines_told
from routines.decide_serializers import (
    AdoptInput,
    DismissInput,
    ParameterInput,
    RoutineFiledSerializer,
)
from routines.dismiss import dismiss_routine
from routines.listing import find_routine
from routines.make_parameter import make_parameter
from routines.serializers import RoutineSerializer

FILED = {HTTPStatus.OK: RoutineFiledSerializer, HTTPStatus.CREATED: RoutineFiledSerializer}


class RoutineAdopt(GuardedView):
    """`POST /api/routines/{id}/adopt`: 201 with the request that was filed; asked again while that is open, 200 with the same one.

    Nothing is saved before a person approves it: `POST /api/approvals/{approval}/approve`. 409 under a code of its own:
    `routine.adopted`, `routine.dismissed`, `routine.filed`, `routine.moved`, `routine.stale`, `routine.unfit`, `routine.withheld`.
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=AdoptInput, responses=FILED)
    def post(self, request: Request, routine_id: str) -> Response:
        """Ask a person to have a routine saved as a workflow."""
        given = AdoptInput(data=request.data)
        given.is_valid(raise_exception=True)
        found = find_routine(routine_id)
        filed = adopt_routine(
            routine_id=found.id, actor=request.user.get_username(), **given.validated_data
        )
        (told,) = routines_told(request, [filed.routine])
        answer = {"routine": told, "approval": filed.approval.id, "digest": filed.routine.digest, "is_new": filed.is_new}  # fmt: skip
        return Response(answer, status=HTTPStatus.CREATED if filed.is_new else HTTPStatus.OK)


class RoutineDismiss(GuardedView):
    """`POST /api/routines/{id}/dismiss`: for good. What is asked about it is withdrawn; dismissed before, it stays as it is.

    409 `routine.adopted` while the workflow that it was saved as is there.
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=DismissInput, responses=RoutineSerializer)
    def post(self, request: Request, routine_id: str) -> Response:
        """Drop the pattern: mining never suggests it again."""
        given = DismissInput(data=request.data)
        given.is_valid(raise_exception=True)
        found = find_routine(routine_id)
        dismissed = dismiss_routine(
            routine_id=found.id, actor=request.user.get_username(), **given.validated_data
        )
        (told,) = routines_told(request, [dismissed])
        return Response(told)


class RoutineParameters(GuardedView):
    """`POST /api/routines/{id}/parameters`: turn the literal at a place into a parameter, which makes a new digest.

    400 `routine.place_unknown` and `routine.name_unfit`; 409 where it is asked about, adopted, dismissed, or another by now.
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=ParameterInput, responses=RoutineSerializer)
    def post(self, request: Request, routine_id: str) -> Response:
        """Have a value given with each run; kept for all minings to come."""
        given = ParameterInput(data=request.data)
        given.is_valid(raise_exception=True)
        found = find_routine(routine_id)
        made = make_parameter(
            routine_id=found.id, actor=request.user.get_username(), **given.validated_data
        )
        (told,) = routines_told(request, [made])
        return Response(told)
