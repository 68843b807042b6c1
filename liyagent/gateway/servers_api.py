"""`/api/servers`: declare, read, switch and remove tool servers."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.gateway.declare import ServerDeclaration, read_server
from liyagent.gateway.models import ToolServer
from liyagent.gateway.policies_api import PAGES
from liyagent.gateway.servers import find_server, remove_server, save_server, switch_server
from liyagent.gateway.servers_serializers import (
    RemovedSerializer,
    ServerInput,
    ServerPage,
    ServerSerializer,
    SyncedSerializer,
)
from liyagent.gateway.sync import sync_server

VIEW = "gateway.view_toolserver"
ADD = "gateway.add_toolserver"
CHANGE = "gateway.change_toolserver"
CHANGE_TOOL = "gateway.change_tool"
DELETE = "gateway.delete_toolserver"
DECLARED = "server"


class DeclarationInvalid(BadInput):
    """What was declared cannot be used."""

    code = "declaration.invalid"

    def __init__(self, error: BadInput, *, below: str) -> None:
        """Take the path that `error` begins with, as it stands below `below`."""
        path, _, said = str(error).partition(": ")
        field = path.removeprefix(below).lstrip(".")
        self.errors = [{"field": field or "body", "detail": said or path}]
        super().__init__(f"{field}: {said}" if field and said else said or path)


class ServerUnreadable(LiyagentError):
    """The server's catalogue cannot be read; the last one stands."""

    code = "server.unreadable"
    http_status = HTTPStatus.CONFLICT


class Servers(GuardedView):
    """`GET /api/servers`: by key."""

    needs = {"GET": (VIEW,)}

    @extend_schema(summary="List the tool servers", parameters=PAGES, responses=ServerPage)
    def get(self, request: Request) -> Response:
        """Answer with a page of them."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(ToolServer.objects.all(), asked, field="key")
        return Response(
            {
                "servers": ServerSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class ServerOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/servers/{key}`."""

    needs = {"GET": (VIEW,), "PUT": (CHANGE,), "DELETE": (DELETE,)}

    @extend_schema(summary="Show a tool server", responses=ServerSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Answer with one."""
        return Response(ServerSerializer(find_server(key)).data)

    @extend_schema(
        summary="Declare a tool server",
        request=ServerInput,
        responses={HTTPStatus.OK: ServerSerializer, HTTPStatus.CREATED: ServerSerializer},
    )
    def put(self, request: Request, key: str) -> Response:
        """Keep what is declared, as in YAML: what is left out stays. Nothing is read from the server."""
        declared = _declared(request.data, key)
        is_new = not ToolServer.objects.filter(key=key).exists()
        if is_new and not holds(request, ADD):
            raise PermissionDenied(f"This needs the permission {ADD}.")
        if declared.tools and not holds(request, CHANGE_TOOL):
            raise PermissionDenied(f"To set contracts needs the permission {CHANGE_TOOL}.")
        try:
            server = save_server(declared, actor=request.user.get_username())
        except BadInput as error:
            raise DeclarationInvalid(error, below=DECLARED) from error
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(ServerSerializer(server).data, status=status)

    @extend_schema(summary="Remove a tool server", responses=RemovedSerializer)
    def delete(self, request: Request, key: str) -> Response:
        """Forget it with its tools and their contracts; 409 while a write of a run is in doubt at it."""
        lost = remove_server(key, actor=request.user.get_username())
        return Response({"lost": list(lost)})


class ServerSync(GuardedView):
    """`POST /api/servers/{key}/sync`."""

    needs = {"POST": (CHANGE,)}

    @extend_schema(summary="Read a server's catalogue", request=None, responses=SyncedSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Read what it offers now; 409 where it cannot be read."""
        synced = sync_server(find_server(key), actor=request.user.get_username())
        if synced.error:
            raise ServerUnreadable(synced.error)
        return Response(SyncedSerializer(asdict(synced)).data)


class ServerEnable(GuardedView):
    """`POST /api/servers/{key}/enable`."""

    needs = {"POST": (CHANGE,)}

    @extend_schema(summary="Enable a tool server", request=None, responses=ServerSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let calls reach it, from each run's next statement on."""
        actor = request.user.get_username()
        return Response(ServerSerializer(switch_server(key, to_enabled=True, actor=actor)).data)


class ServerDisable(GuardedView):
    """`POST /api/servers/{key}/disable`."""

    needs = {"POST": (CHANGE,)}

    @extend_schema(summary="Disable a tool server", request=None, responses=ServerSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let no call reach it, from each run's next statement on."""
        actor = request.user.get_username()
        return Response(ServerSerializer(switch_server(key, to_enabled=False, actor=actor)).data)


def _declared(body: Any, key: str) -> ServerDeclaration:
    if not isinstance(body, dict):
        raise BadInput("the body wants an object: what YAML declares below the server")
    if body.get("key", key) != key:
        raise BadInput(f"key is not the {key[:80]!r} of the address; leave it out")
    try:
        return read_server({**body, "key": key}, DECLARED)
    except BadInput as error:
        raise DeclarationInvalid(error, below=DECLARED) from error
