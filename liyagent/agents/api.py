"""`/api/agents`: to read. Agents are saved on the command line and in the console."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import VIEW_AGENT
from liyagent.access.views import GuardedView
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.agents.serializers import AgentSerializer

MOST_AGENTS = 1000


class AgentList(GuardedView):
    """`GET /api/agents`: by key, at most 1000."""

    needs = {"GET": (VIEW_AGENT,)}

    def get(self, request: Request) -> Response:
        """Answer with the agents."""
        agents = Agent.objects.order_by("key")[:MOST_AGENTS]
        return Response({"agents": AgentSerializer(agents, many=True).data})


class AgentOne(GuardedView):
    """`GET /api/agents/{key}`."""

    needs = {"GET": (VIEW_AGENT,)}

    def get(self, request: Request, key: str) -> Response:
        """Answer with one agent. Raises `AgentUnknown`."""
        agent = Agent.objects.filter(key=key).first()
        if agent is None:
            raise AgentUnknown(f"there is no agent {key!r}")
        return Response(AgentSerializer(agent).data)
