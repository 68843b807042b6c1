"""`/api/agents`: read, save, contain and release."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import VIEW_AGENT, holds
from liyagent.access.views import GuardedView
from liyagent.agents.containment import contain_agent, release_agent
from liyagent.agents.definitions import replace_agent, save_compensations
from liyagent.agents.errors import AgentInvalid
from liyagent.agents.listing import (
    find_agent,
    find_version,
    list_agents,
    list_versions,
)
from liyagent.agents.models import Agent
from liyagent.agents.serializers import (
    AgentInput,
    AgentPage,
    AgentSerializer,
    CompensationsInput,
    CompensationsSerializer,
    ContainInput,
    VersionPage,
    VersionSerializer,
)
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.files import Place
from liyagent.core.paging import MOST_PAGE, next_link

ADD_AGENT = "agents.add_agent"
CHANGE_AGENT = "agents.change_agent"
EXPECTED = "expected_version"
PAGE_PARAMETERS = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]
FILTER_PARAMETERS = [OpenApiParameter(name, bool) for name in ("contained", "enabled")]


class AgentList(GuardedView):
    """`GET /api/agents`: by key; `next` leads on."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(
        summary="List agents",
        parameters=[*FILTER_PARAMETERS, *PAGE_PARAMETERS],
        responses=AgentPage,
    )
    def get(self, request: Request) -> Response:
        """Show a page of agents."""
        asked = once_each(request.query_params)
        page = list_agents(asked)
        return Response(
            {
                "agents": AgentSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class AgentOne(GuardedView):
    """`GET` and `PUT /api/agents/{key}`."""

    needs = {"GET": (VIEW_AGENT,), "PUT": (CHANGE_AGENT,)}

    @extend_schema(summary="Show an agent", responses=AgentSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show one agent."""
        return Response(AgentSerializer(find_agent(key)).data)

    @extend_schema(
        summary="Create or replace an agent",
        request=AgentInput,
        responses={HTTPStatus.OK: AgentSerializer, HTTPStatus.CREATED: AgentSerializer},
    )
    def put(self, request: Request, key: str) -> Response:
        """Save a definition; what it leaves out has its default. 201 where the agent is new."""
        definition, expected = _definition(request.data, key)
        is_new = not Agent.objects.filter(key=key).exists()
        if is_new and not holds(request, ADD_AGENT):
            raise PermissionDenied(f"This needs the permission {ADD_AGENT}.")
        saved = replace_agent(
            definition, expected_version=expected, actor=request.user.get_username()
        )
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(AgentSerializer(saved).data, status=status)


class AgentCompensations(GuardedView):
    """`GET` and `PUT /api/agents/{key}/compensations`: how its own writes are undone (SG-02)."""

    needs = {"GET": (VIEW_AGENT,), "PUT": (CHANGE_AGENT,)}

    @extend_schema(
        summary="Show how an agent's writes are undone", responses=CompensationsSerializer
    )
    def get(self, request: Request, key: str) -> Response:
        """Show the map as it stands."""
        return Response(_undos(find_agent(key)))

    @extend_schema(
        summary="Say how an agent's writes are undone",
        request=CompensationsInput,
        responses=CompensationsSerializer,
    )
    def put(self, request: Request, key: str) -> Response:
        """Set the map, all of it or nothing; a tool that it does not name is not undone."""
        compensations, expected = _compensations(request.data)
        saved = save_compensations(
            key, compensations, expected_version=expected, actor=request.user.get_username()
        )
        return Response(_undos(saved))


class AgentVersions(GuardedView):
    """`GET /api/agents/{key}/versions`: newest first."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(
        summary="List an agent's versions", parameters=PAGE_PARAMETERS, responses=VersionPage
    )
    def get(self, request: Request, key: str) -> Response:
        """Show a page of versions."""
        asked = once_each(request.query_params)
        page = list_versions(key, asked)
        return Response(
            {
                "versions": VersionSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class AgentVersionOne(GuardedView):
    """`GET /api/agents/{key}/versions/{number}`."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(summary="Show one version of an agent", responses=VersionSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        """Show what the agent was."""
        return Response(VersionSerializer(find_version(key, number)).data)


class AgentContain(GuardedView):
    """`POST /api/agents/{key}/contain`."""

    needs = {"POST": (CHANGE_AGENT,)}

    @extend_schema(summary="Contain an agent", request=ContainInput, responses=AgentSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let nothing of the agent start, resume or send, from each run's next statement on."""
        given = ContainInput(data=request.data)
        given.is_valid(raise_exception=True)
        contain_agent(key, actor=request.user.get_username(), reason=given.validated_data["reason"])
        return Response(AgentSerializer(find_agent(key)).data)


class AgentRelease(GuardedView):
    """`POST /api/agents/{key}/release`."""

    needs = {"POST": (CHANGE_AGENT,)}

    @extend_schema(summary="Release a contained agent", request=None, responses=AgentSerializer)
    def post(self, request: Request, key: str) -> Response:
        """End the containment."""
        release_agent(key, actor=request.user.get_username())
        return Response(AgentSerializer(find_agent(key)).data)


def _undos(agent: Agent) -> dict[str, Any]:
    return {
        "agent": agent.key,
        "version": agent.version,
        "compensations": agent.compensations,
    }


def _compensations(body: Any) -> tuple[Any, int | None]:
    """Return the map that a body holds, and the version it expects. Raises `BadInput`, `AgentInvalid`."""
    if not isinstance(body, dict) or "compensations" not in body:
        raise BadInput('the body wants an object: {"compensations": {"server/tool": undo}}')
    known = ("compensations", EXPECTED)
    problems: dict[Place, str] = {
        (name,): f"is not known; the known fields are {', '.join(known)}"
        for name in body
        if name not in known
    }
    expected = body.get(EXPECTED)
    if expected is not None and (type(expected) is not int or expected < 1):
        problems[EXPECTED,] = "wants a whole number, at least 1"
    if problems:
        raise AgentInvalid(problems)
    return body["compensations"], expected


def _definition(body: Any, key: str) -> tuple[dict[str, Any], int | None]:
    """Return the definition that a body holds, and the version it expects. Raises `BadInput`, `AgentInvalid`."""
    if not isinstance(body, dict):
        raise BadInput("the body wants an object: the agent's definition")
    definition = {name: value for name, value in body.items() if name != EXPECTED}
    expected = body.get(EXPECTED)
    if expected is not None and (type(expected) is not int or expected < 0):
        raise AgentInvalid(
            {(EXPECTED,): "wants a whole number, 0 for an agent that is not there yet"}
        )
    if definition.setdefault("key", key) != key:
        raise AgentInvalid({("key",): f"is not the {key!r} of the address; leave it out"})
    return definition, expected
