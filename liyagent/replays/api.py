"""`/api/agents/{key}/cohort-replays` and `/api/cohort-replays`: try another model on past runs, and read what moves (RP-01, RP-06)."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, READ_WORDS, holds
from liyagent.access.views import GuardedView
from liyagent.agents.api import CHANGE_AGENT
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import check_names, next_link
from liyagent.gateway.policies_api import PAGES
from liyagent.replays.ask import MOST_BASELINE, ask_replay, wanted_replay
from liyagent.replays.cancel import cancel_replay
from liyagent.replays.errors import ResultUnknown
from liyagent.replays.listing import find_replay, list_replays, result_of, results_of
from liyagent.replays.serializers import (
    AskedReplaySerializer,
    CohortReplayInput,
    CohortReplayPage,
    CohortReplaySerializer,
    CohortReplayToldSerializer,
    EstimateSerializer,
    ResultToldSerializer,
)
from missions.context import current_stamp

# What users said is sent to a model again, and told.
NEEDS = (OPERATE, READ_WORDS)
LANE = OpenApiParameter(
    "lane", {"type": "integer", "minimum": 0, "maximum": MOST_BASELINE}, description="0 by default."
)


class CohortReplays(GuardedView):
    """`GET` and `POST /api/agents/{key}/cohort-replays`."""

    needs = {"GET": NEEDS, "POST": NEEDS}

    @extend_schema(parameters=PAGES, responses=CohortReplayPage)
    def get(self, request: Request, key: str) -> Response:
        """List an agent's cohort replays, the newest first."""
        asked = once_each(request.query_params)
        page = list_replays(key, asked)
        return Response(
            {
                "replays": CohortReplaySerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )

    @extend_schema(
        request=CohortReplayInput,
        responses={
            HTTPStatus.OK: EstimateSerializer,
            HTTPStatus.ACCEPTED: AskedReplaySerializer,
        },
    )
    def post(self, request: Request, key: str) -> Response:
        """Ask for a cohort replay; 202 once it is stored. With `estimate_only` it tells what that would cost, and stores nothing."""
        given = CohortReplayInput(data=request.data)
        given.is_valid(raise_exception=True)
        values = dict(given.validated_data)
        is_estimate = values.pop("estimate_only")
        wanted = wanted_replay(key, **values, may_choose_endpoint=holds(request, CHANGE_AGENT))
        if is_estimate:
            return Response(EstimateSerializer(wanted).data)
        stamp = current_stamp()
        asked = ask_replay(
            wanted,
            asked_by=request.user.get_username(),
            mission=stamp.mission or stamp.request_id,
        )
        context = {"results": results_of(asked.replay), "is_new": asked.is_new}
        told = AskedReplaySerializer(asked.replay, context=context).data
        return Response(told, status=HTTPStatus.ACCEPTED)


class CohortReplayOne(GuardedView):
    """`GET /api/cohort-replays/{id}`."""

    needs = {"GET": NEEDS}

    @extend_schema(responses=CohortReplayToldSerializer)
    def get(self, request: Request, replay_id: str) -> Response:
        """Show a cohort replay with what came of each run so far."""
        replay = find_replay(replay_id)
        context = {"results": results_of(replay)}
        return Response(CohortReplayToldSerializer(replay, context=context).data)


class CohortReplayCancel(GuardedView):
    """`POST /api/cohort-replays/{id}/cancel`."""

    needs = {"POST": NEEDS}

    @extend_schema(request=None, responses=CohortReplaySerializer)
    def post(self, request: Request, replay_id: str) -> Response:
        """End a cohort replay: what was replayed stays, without a verdict. 409 where it has ended."""
        replay = cancel_replay(replay_id, actor=request.user.get_username())
        return Response(CohortReplaySerializer(replay).data)


class CohortReplayRun(GuardedView):
    """`GET /api/cohort-replays/{id}/runs/{run}`."""

    needs = {"GET": NEEDS}

    @extend_schema(parameters=[LANE], responses=ResultToldSerializer)
    def get(self, request: Request, replay_id: str, run_id: UUID) -> Response:
        """Show what came of one run with its words: both answers, the steps, the calls."""
        asked = once_each(request.query_params)
        check_names(asked, ("lane",))
        text = asked.get("lane", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 3):
            raise BadInput(f"lane is {text[:80]!r}; it wants a number from 0 to {MOST_BASELINE}")
        replay = find_replay(replay_id)
        result = result_of(replay, run_id, int(text))
        if result is None:
            raise ResultUnknown(f"cohort replay {replay.id} has no result of run {run_id} in lane {int(text)}")  # fmt: skip
        return Response(ResultToldSerializer(result).data)
