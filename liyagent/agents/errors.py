"""What can go wrong with agents."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.files import Place
from liyagent.core.json_path import json_path


class AgentUnknown(LiyagentError):
    """There is no agent with this key."""

    code = "agent.unknown"
    http_status = HTTPStatus.NOT_FOUND


class AgentNotContained(LiyagentError):
    """This agent is not contained."""

    code = "agent.not_contained"
    http_status = HTTPStatus.CONFLICT


class NothingContained(LiyagentError):
    """There is no containment of everything to end."""

    code = "agents.not_contained"
    http_status = HTTPStatus.CONFLICT


class ChannelClosed(LiyagentError):
    """This agent does not permit runs that come in this way."""

    code = "agent.channel_closed"
    http_status = HTTPStatus.FORBIDDEN


class VersionUnknown(LiyagentError):
    """This agent has no version of this number."""

    code = "agent.version_unknown"
    http_status = HTTPStatus.NOT_FOUND


class VersionMoved(LiyagentError):
    """The agent is no longer at the version that was expected."""

    code = "agent.version_moved"
    http_status = HTTPStatus.CONFLICT


class ReplayWanted(LiyagentError):
    """This agent takes such a change only as a cohort replay tried it."""

    code = "agent.replay_wanted"
    http_status = HTTPStatus.CONFLICT


class AgentInvalid(BadInput):
    """The definition has fields that are wrong."""

    code = "agent.invalid"

    def __init__(self, problems: Mapping[Place, str]) -> None:
        """`problems`: what is wrong at each place. A field is told by its name, what lies within one by its JSON path."""
        told = {
            str(it[0]) if len(it) == 1 else json_path(it): said for it, said in problems.items()
        }
        self.errors = [{"field": name, "detail": said} for name, said in told.items()]
        super().__init__("; ".join(f"{name} {said}" for name, said in told.items()))
