"""What can go wrong with agents."""

from __future__ import annotations

from http import HTTPStatus

from liyagent.core.errors import LiyagentError


class AgentUnknown(LiyagentError):
    """There is no agent with this key."""

    code = "agent.unknown"
    http_status = HTTPStatus.NOT_FOUND


class AgentNotContained(LiyagentError):
    """This agent is not contained."""

    code = "agent.not_contained"
    http_status = HTTPStatus.CONFLICT
