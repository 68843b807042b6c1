"""`POST /api/tools/{server}/{tool}/call`."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, holds
from liyagent.access.views import GuardedView
from liyagent.entry.inspector.call import Caller, call_tool
from liyagent.entry.inspector.serializers import CalledSerializer, CallInput
from missions.context import current_stamp

CALL_TOOL = "gateway.call_tool"
MISSION = OpenApiParameter(
    "X-Liyagent-Mission", str, OpenApiParameter.HEADER, description="The mission it is part of."
)


class ToolCall(GuardedView):
    """`POST /api/tools/{server}/{tool}/call`: one call by hand, through every gate, under a fresh key.

    200 whatever became of it: see `fate`. It is never sent a second time, and a tool that writes needs
    `agents.operate` too. What a gate refuses is 403 and names the gate. Every call is in the audit log.
    """

    needs = {"POST": (CALL_TOOL,)}

    @extend_schema(parameters=[MISSION], request=CallInput, responses=CalledSerializer)
    def post(self, request: Request, server: str, tool: str) -> Response:
        """Call a tool."""
        given = CallInput(data=request.data)
        given.is_valid(raise_exception=True)
        stamp = current_stamp()
        outcome = call_tool(
            server=server,
            tool=tool,
            args=given.validated_data["args"],
            agent_key=given.validated_data.get("agent", ""),
            caller=Caller(
                username=request.user.get_username(),
                may_write=holds(request, OPERATE),
                mission=stamp.mission or stamp.request_id,
                request_id=stamp.request_id,
            ),
        )
        return Response(
            {
                "fate": outcome.fate.value,
                "result": outcome.result,
                "error": outcome.error,
                "key": outcome.key,
                "duration_ms": outcome.duration_ms,
            }
        )
