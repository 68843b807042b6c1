"""`/api/servers/{key}/tools` and `/api/tools/{server}/{tool}`: look at tools, change contracts, approve."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.gateway.approve import approve_tool, find_tool
from liyagent.gateway.declare import read_contract
from liyagent.gateway.models import Tool
from liyagent.gateway.policies_api import PAGES
from liyagent.gateway.servers import find_server, set_contract
from liyagent.gateway.servers_api import DeclarationInvalid
from liyagent.gateway.servers_serializers import (
    ApproveInput,
    ContractShape,
    ToolItemSerializer,
    ToolPage,
    ToolSerializer,
)

VIEW = "gateway.view_tool"
CHANGE = "gateway.change_tool"


class ServerTools(GuardedView):
    """`GET /api/servers/{key}/tools`: by name, without what the server says of them."""

    needs = {"GET": (VIEW,)}

    @extend_schema(summary="List a server's tools", parameters=PAGES, responses=ToolPage)
    def get(self, request: Request, key: str) -> Response:
        """Answer with a page of them."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        tools = Tool.objects.filter(server=find_server(key)).select_related("server")
        tools = tools.defer("description", "schema", "hints", "approved")
        page = page_by(tools, asked, field="name")
        return Response(
            {
                "tools": ToolItemSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class ToolOne(GuardedView):
    """`GET` and `PATCH /api/tools/{server}/{tool}`."""

    needs = {"GET": (VIEW,), "PATCH": (CHANGE,)}

    @extend_schema(summary="Show a tool", responses=ToolSerializer)
    def get(self, request: Request, server: str, tool: str) -> Response:
        """Answer with the tool, its contract and what changed since it was approved."""
        return Response(ToolSerializer(find_tool(f"{server}/{tool}")).data)

    @extend_schema(
        summary="Change a tool's contract", request=ContractShape, responses=ToolSerializer
    )
    def patch(self, request: Request, server: str, tool: str) -> Response:
        """Set what is given; the rest stays. In force from the next statement of every run."""
        found = find_tool(f"{server}/{tool}")
        body: Any = request.data
        if not isinstance(body, dict) or not body:
            raise BadInput("the body wants an object with what to set")
        try:
            columns = read_contract(body, "contract")
            set_contract(found, columns, actor=request.user.get_username())
        except BadInput as error:
            below = str(found) if str(error).startswith(str(found)) else "contract"
            raise DeclarationInvalid(error, below=below) from error
        return Response(ToolSerializer(find_tool(f"{server}/{tool}")).data)


class ToolApprove(GuardedView):
    """`POST /api/tools/{server}/{tool}/approve`."""

    needs = {"POST": (CHANGE,)}

    @extend_schema(
        summary="Approve a tool as shown", request=ApproveInput, responses=ToolSerializer
    )
    def post(self, request: Request, server: str, tool: str) -> Response:
        """Approve what bears this fingerprint; 409 where the catalogue says something else now."""
        given = ApproveInput(data=request.data)
        given.is_valid(raise_exception=True)
        shown = given.validated_data["fingerprint"]
        found = find_tool(f"{server}/{tool}")
        approve_tool(found, actor=request.user.get_username(), fingerprint=shown)
        return Response(ToolSerializer(find_tool(f"{server}/{tool}")).data)
