"""`/api/workflows`: read, save, validate and remove definitions."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import MOST_PAGE, next_link
from liyagent.workflows.errors import DefinitionWrong
from liyagent.workflows.listing import (
    find_version,
    find_workflow,
    list_versions,
    list_workflows,
)
from liyagent.workflows.models import Workflow
from liyagent.workflows.remove import remove_workflow
from liyagent.workflows.save import agent_of, definition_problems, save_given
from liyagent.workflows.serializers import (
    Validated,
    ValidateInput,
    WorkflowInput,
    WorkflowPage,
    WorkflowRow,
    WorkflowSerializer,
    WorkflowVersionPage,
    WorkflowVersionRow,
    WorkflowVersionSerializer,
)
from liyagent.workflows.shape import MOST_PROBLEMS, published_schema

VIEW = "workflows.view_workflow"
ADD = "workflows.add_workflow"
CHANGE = "workflows.change_workflow"
DELETE = "workflows.delete_workflow"
EXPECTED = "expected_version"
MOST_EXPECTED = 2**31 - 1
PAGE_PARAMETERS = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]
FILTERS = [OpenApiParameter("agent", str), OpenApiParameter("enabled", bool)]
SAVED = {HTTPStatus.OK: WorkflowSerializer, HTTPStatus.CREATED: WorkflowSerializer}


class WorkflowList(GuardedView):
    """`GET` and `POST /api/workflows`: by key; `next` leads on."""

    needs = {"GET": (VIEW,), "POST": (ADD,)}

    @extend_schema(
        summary="List workflows", parameters=[*FILTERS, *PAGE_PARAMETERS], responses=WorkflowPage
    )
    def get(self, request: Request) -> Response:
        """Show a page of workflows, without their definitions."""
        asked = once_each(request.query_params)
        page = list_workflows(asked)
        shown = WorkflowRow(page.rows, many=True).data
        return Response({"workflows": shown, "next": next_link(request.path, asked, page.next_cursor)})  # fmt: skip

    @extend_schema(
        summary="Create a workflow",
        request=WorkflowInput,
        responses={HTTPStatus.CREATED: WorkflowSerializer},
    )
    def post(self, request: Request) -> Response:
        """Save a workflow that is new; 409 where there is one of its key."""
        given, expected = _read(request.data)
        if expected not in (None, 0):
            raise DefinitionWrong(
                [(EXPECTED, f"is {expected}; a workflow that is created has none")]
            )
        saved = save_given(given, actor=request.user.get_username(), expected_version=0)
        return Response(WorkflowSerializer(saved).data, status=HTTPStatus.CREATED)


class WorkflowOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/workflows/{key}`."""

    needs = {"GET": (VIEW,), "PUT": (CHANGE,), "DELETE": (DELETE,)}

    @extend_schema(summary="Show a workflow", responses=WorkflowSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show one workflow with its definition."""
        return Response(WorkflowSerializer(find_workflow(key)).data)

    @extend_schema(summary="Create or replace a workflow", request=WorkflowInput, responses=SAVED)
    def put(self, request: Request, key: str) -> Response:
        """Save a workflow as a whole; 201 where it is new. Runs under way keep what they were started with."""
        given, expected = _read(request.data)
        if given.setdefault("key", key) != key:
            raise DefinitionWrong([("key", f"is not the {key!r} of the address; leave it out")])
        is_new = not Workflow.objects.filter(key=key).exists()
        if is_new and not holds(request, ADD):
            raise PermissionDenied(f"This needs the permission {ADD}.")
        saved = save_given(given, actor=request.user.get_username(), expected_version=expected)
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(WorkflowSerializer(saved).data, status=status)

    @extend_schema(summary="Remove a workflow", responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Remove it with its versions; 409 while runs of it have not ended."""
        remove_workflow(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class WorkflowVersions(GuardedView):
    """`GET /api/workflows/{key}/versions`: newest first."""

    needs = {"GET": (VIEW,)}

    @extend_schema(
        summary="List a workflow's versions",
        parameters=PAGE_PARAMETERS,
        responses=WorkflowVersionPage,
    )
    def get(self, request: Request, key: str) -> Response:
        """Show a page of versions, without their definitions."""
        asked = once_each(request.query_params)
        page = list_versions(key, asked)
        shown = WorkflowVersionRow(page.rows, many=True).data
        return Response({"versions": shown, "next": next_link(request.path, asked, page.next_cursor)})  # fmt: skip


class WorkflowVersionOne(GuardedView):
    """`GET /api/workflows/{key}/versions/{number}`."""

    needs = {"GET": (VIEW,)}

    @extend_schema(summary="Show one version of a workflow", responses=WorkflowVersionSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        """Show what the workflow was."""
        return Response(WorkflowVersionSerializer(find_version(key, number)).data)


class WorkflowSchema(GuardedView):
    """`GET /api/workflows/schema`."""

    needs = {"GET": (VIEW,)}

    @extend_schema(
        summary="Show the JSON Schema of definitions",
        responses={HTTPStatus.OK: {"type": "object", "additionalProperties": True}},
    )
    def get(self, request: Request) -> Response:
        """Show it."""
        return Response(published_schema())


class WorkflowValidate(GuardedView):
    """`POST /api/workflows/validate`."""

    needs = {"POST": (VIEW,)}

    @extend_schema(
        summary="Say what is wrong with a definition", request=ValidateInput, responses=Validated
    )
    def post(self, request: Request) -> Response:
        """Answer with each problem and its JSON path; nothing is saved."""
        given = ValidateInput(data=request.data)
        given.is_valid(raise_exception=True)
        agent, problems = agent_of(given.validated_data)
        problems += definition_problems(given.validated_data["definition"], agent)
        told = [{"path": path, "detail": said} for path, said in problems[:MOST_PROBLEMS]]
        return Response({"valid": not told, "problems": told})


def _read(body: Any) -> tuple[dict[str, Any], int | None]:
    """Return the workflow that a body holds, and the version it expects. Raises `BadInput`."""
    if not isinstance(body, dict):
        raise BadInput("the body wants an object: name, agent and definition")
    given = {name: value for name, value in body.items() if name != EXPECTED}
    expected = body.get(EXPECTED)
    if expected is not None and (type(expected) is not int or not 0 <= expected <= MOST_EXPECTED):
        said = "wants a whole number, 0 for a workflow that is not there yet"
        raise DefinitionWrong([(EXPECTED, said)])
    return given, expected
