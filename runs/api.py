"""`/api/runs` and the start of a run."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, READ_WORDS, VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each, start_key_of
from liyagent.core.canonical import digest
from liyagent.core.errors import BadInput
from liyagent.core.paging import MOST_PAGE, next_link
from missions.context import current_stamp
from runs.await_end import wait_for_end
from runs.go_on import continuations_of
from runs.head import answer_of, calls_of, lease_of, run_head, takeovers_of
from runs.kin import children_of
from runs.listing import list_runs
from runs.models import Run, RunStatus
from runs.saga_page import saga_beside
from runs.serializers import (
    ChildSerializer,
    RunPageSerializer,
    RunSerializer,
    RunToldSerializer,
    StartedSerializer,
    StartInput,
    StopInput,
    TranscriptSerializer,
)
from runs.start import Started, start_run
from runs.stop import stop_run
from runs.transcript import read_transcript
from runs.waits import waits_of

ENTRY = "api"
MOST_WAIT_SECONDS = 60
NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})?")
MISSION = OpenApiParameter(
    "X-Liyagent-Mission", str, OpenApiParameter.HEADER, description="The mission it is part of."
)
START_PARAMETERS = [
    OpenApiParameter(
        "Idempotency-Key",
        str,
        OpenApiParameter.HEADER,
        description="1 to 255 visible ASCII characters; asked again with it, the same run is told.",
    ),
    MISSION,
    OpenApiParameter(
        "wait",
        {"type": "number", "minimum": 0, "maximum": MOST_WAIT_SECONDS},
        description="Seconds to wait for the end; 200 with the run where it ended, else 202.",
    ),
]
LIST_PARAMETERS = [
    OpenApiParameter("status", str, enum=RunStatus.values),
    *(OpenApiParameter(name, str) for name in ("agent", "entry", "mission", "error", "started_by")),
    OpenApiParameter("parent", OpenApiTypes.UUID, description="The children of this run."),
    OpenApiParameter(
        "since", OpenApiTypes.DATETIME, description="Made then or later; with a zone."
    ),
    OpenApiParameter("until", OpenApiTypes.DATETIME, description="Made before then; with a zone."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]


class RunStart(GuardedView):
    """`POST /api/agents/{key}/runs`: 202 once the row is committed (ruling 29)."""

    needs = {"POST": (OPERATE,)}
    # The way in that its runs came by.
    entry = ENTRY

    @extend_schema(
        parameters=START_PARAMETERS,
        request=StartInput,
        responses={200: RunToldSerializer, 202: StartedSerializer},
    )
    def post(self, request: Request, key: str) -> Response:
        """Start a run, or find the one that the same `Idempotency-Key` started."""
        seconds = wait_asked(request)
        start_key = start_key_of(request)
        given = StartInput(data=request.data)
        given.is_valid(raise_exception=True)
        stamp = current_stamp()
        started = start_run(
            agent_key=key,
            task=given.validated_data["task"],
            history=given.validated_data.get("history"),
            entry=self.entry,
            started_by=request.user.get_username(),
            mission=stamp.mission,
            request_id=stamp.request_id,
            start_key=start_key,
            body_digest=digest(request.data),
        )
        headers = {} if started.is_new else {"Idempotent-Replay": "true"}
        if seconds and wait_for_end(started.run_id, seconds=seconds):
            return Response(
                run_told(started.run_id, with_words=may_read_words(request)), headers=headers
            )
        return Response(accepted(started), status=HTTPStatus.ACCEPTED, headers=headers)


class RunList(GuardedView):
    """`GET /api/runs`: newest first; `next` leads on, with the same filters, until it is null.

    A page can be short, or empty, and yet lead on: for a filter without an index of its own at most 10,000
    runs are looked through for one page.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=LIST_PARAMETERS, responses=RunPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of runs."""
        asked = once_each(request.query_params)
        page = list_runs(asked)
        return Response(
            {
                "runs": RunSerializer(page.runs, many=True, context={"waits": page.waits}).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class RunOne(GuardedView):
    """`GET /api/runs/{id}`: the head, its lease, calls, children and takeovers; the answer to who may read words."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(responses=RunToldSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show a run."""
        return Response(run_told(run_id, with_words=may_read_words(request)))


class RunTranscript(GuardedView):
    """`GET /api/runs/{id}/transcript`: while it runs all so far; after the end what its recording mode keeps."""

    needs = {"GET": (VIEW_RUN, READ_WORDS)}

    @extend_schema(responses=TranscriptSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show the words that are kept of a run."""
        run = run_head(run_id)
        told = read_transcript(run)
        return Response({"run_id": str(run.id), "status": run.status, **told})


class RunStop(GuardedView):
    """`POST /api/runs/{id}/stop`: 202, the run stops at its next statement."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=StopInput, responses={202: RunSerializer})
    def post(self, request: Request, run_id: UUID) -> Response:
        """Ask a run to stop."""
        given = StopInput(data=request.data)
        given.is_valid(raise_exception=True)
        stop_run(
            run_id=run_id,
            actor=request.user.get_username(),
            reason=given.validated_data["reason"],
        )
        return Response(head_told(run_head(run_id)), status=HTTPStatus.ACCEPTED)


def run_told(run_id: UUID, *, with_words: bool) -> dict[str, Any]:
    """Return all of a run, its words only where they may be read. Raises `RunNotFound`."""
    run = run_head(run_id)
    calls, is_truncated = calls_of(run)
    children, has_more = children_of(run)
    return {
        **head_told(run),
        **(answer_of(run) if with_words else {}),
        "lease": lease_of(run),
        "calls": calls,
        "calls_truncated": is_truncated,
        "children": ChildSerializer(children, many=True).data,
        "children_truncated": has_more,
        "continued_by": [str(it.id) for it in continuations_of(run)],
        "takeovers": takeovers_of(run),
        "saga": _saga_of(run),
        "url": url_of(run.id),
    }


def _saga_of(run: Run) -> dict[str, Any] | None:
    saga = saga_beside(run)
    return None if saga is None else {**saga, "url": reverse("saga-one", args=[saga["run_id"]])}


def head_told(run: Run) -> dict[str, Any]:
    """Return the facts of a run's head, and what it waits for."""
    return dict(RunSerializer(run, context={"waits": waits_of([run])}).data)


def accepted(started: Started) -> dict[str, Any]:
    """Return what a start answers: the same whenever it is asked again with the same key."""
    mission = Run.objects.values_list("mission", flat=True).get(id=started.run_id)
    return {
        "id": str(started.run_id),
        "status": RunStatus.QUEUED.value,
        "correlation_id": str(started.correlation_id),
        "mission": mission,
        "url": url_of(started.run_id),
    }


def url_of(run_id: UUID) -> str:
    """Return the run's address, relative, so that it holds on whichever process is asked next."""
    return reverse("run-one", args=[run_id])


def wait_asked(request: Request) -> float:
    """Return `?wait=` in seconds, 0 where it is not given. Raises `BadInput`."""
    asked = once_each(request.query_params)
    unknown = [name for name in asked if name != "wait"]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is not known here; the known one is wait")
    text = asked.get("wait", "0")
    if not NUMBER.fullmatch(text) or float(text) > MOST_WAIT_SECONDS:
        raise BadInput(f"wait is {text!r}; it wants seconds from 0 to {MOST_WAIT_SECONDS}")
    return float(text)
