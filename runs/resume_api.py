"""`POST /api/runs/{id}/resume`: go on from a run that ended without an answer."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import start_key_of
from liyagent.core.canonical import digest
from missions.context import current_stamp
from runs.api import MISSION, START_PARAMETERS, accepted, run_told, wait_asked
from runs.await_end import wait_for_end
from runs.go_on import GoingOn, continue_run
from runs.serializers import ResumeInput, RunToldSerializer, StartedSerializer


class RunResume(GuardedView):
    """`POST /api/runs/{id}/resume`: a new run with the same task and what was said so far, once its row is committed (ruling 29).

    It is of the first one's mission and channel, and started by who asks. 409 says why nothing can go on: the run has not
    ended, or has answered, or another goes on from it; nothing of it is kept; or writes of it are of unknown outcome,
    which `errors` lists. With `despite_unknown` it goes on all the same, and the audit log says so.
    """

    needs = {"POST": (OPERATE, VIEW_RUN)}

    @extend_schema(
        parameters=[it for it in START_PARAMETERS if it is not MISSION],
        request=ResumeInput,
        responses={200: RunToldSerializer, 202: StartedSerializer},
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """Go on from a run, or find the one that the same `Idempotency-Key` started."""
        seconds = wait_asked(request)
        start_key = start_key_of(request)
        given = ResumeInput(data=request.data)
        given.is_valid(raise_exception=True)
        started = continue_run(
            GoingOn(
                run_id=run_id,
                started_by=request.user.get_username(),
                word=given.validated_data.get("word", ""),
                despite_unknown=given.validated_data["despite_unknown"],
                request_id=current_stamp().request_id,
                start_key=start_key,
                body_digest=digest(["resume", str(run_id), request.data]),
            )
        )
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if seconds and wait_for_end(started.run_id, seconds=seconds):
            told = run_told(started.run_id, with_words=may_read_words(request))
            return Response(told, headers=headers)
        return Response(accepted(started), status=HTTPStatus.ACCEPTED, headers=headers)
