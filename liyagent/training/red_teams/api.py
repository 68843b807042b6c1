"""`/api/red-teams`: try an agent, and read what was found."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT, may_read_words
from liyagent.access.views import GuardedView
from liyagent.jobs.serializers import AskedSerializer, JobSerializer
from liyagent.training.red_teams.ask import ask_red_team
from liyagent.training.red_teams.report import find_red_team, findings_of
from liyagent.training.red_teams.serializers import (
    FindingSerializer,
    RedTeamInput,
    RedTeamReport,
)
from missions.context import current_stamp


class RedTeams(GuardedView):
    """`POST /api/red-teams`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=RedTeamInput, responses={HTTPStatus.ACCEPTED: AskedSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a red team; 202 once it is stored. One against this agent that goes on already is told instead."""
        given = RedTeamInput(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        stamp = current_stamp()
        asked = ask_red_team(
            values["agent"],
            asked_by=request.user.get_username(),
            only=values["kinds"],
            most_calls=values["most_calls"],
            most_tokens=values["most_tokens"],
            mission=stamp.mission or stamp.request_id,
        )
        told = {"job": JobSerializer(asked.job).data, "is_new": asked.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)


class RedTeamOne(GuardedView):
    """`GET /api/red-teams/{job}`."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(responses=RedTeamReport)
    def get(self, request: Request, job_id: str) -> Response:
        """Tell what was found so far; the evidence is for who may read words."""
        job = find_red_team(job_id)
        context = {"may_read": may_read_words(request)}
        findings = FindingSerializer(findings_of(job), many=True, context=context)
        return Response({"job": JobSerializer(job).data, "findings": findings.data})
