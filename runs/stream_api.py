"""`/api/runs/{id}/stream`: a run's events as server-sent events."""

from __future__ import annotations

import re
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from events.models import EventHead
from liyagent.access.permissions import VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.api import TryLater
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import check_names
from liyagent.core.readiness import STATE
from liyagent.core.streams import hand_over
from runs.head import run_head
from runs.models import Run
from runs.stream import Listening, Rights, is_full, tell_events

EVENT_STREAM = "text/event-stream"
NUMBER = re.compile(r"[0-9]{1,18}")
LATER_SECONDS = 5
EVENT = {
    "type": "object",
    "properties": {
        "id": {
            "type": "string",
            "description": "The event's number; the last one, `end`, has none.",
        },
        "event": {"type": "string", "description": "Its kind, or `end`."},
        "data": {
            "type": "string",
            "description": "JSON: number, at, run_id, kind, content; of `end` the run's status.",
        },
    },
}
CURSOR = "The number of the last event that was seen; 0 for all."


class RunStream(GuardedView):
    """`GET /api/runs/{id}/stream`: each event once, `id` its number, `event` its kind, `data` JSON, until the run ended.

    After a broken connection ask again, any process, with the last `id` as `Last-Event-ID` (browsers do so of
    themselves): nothing is missed and nothing told twice. 204 where nothing will follow. Words for those alone who
    may read them. A right that was taken away ends the stream within half a minute.
    """

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(
        parameters=[
            OpenApiParameter("cursor", {"type": "integer", "minimum": 0}, description=CURSOR),
            OpenApiParameter(
                "Last-Event-ID", str, OpenApiParameter.HEADER, description=f"Goes first. {CURSOR}"
            ),
        ],
        responses={(200, EVENT_STREAM): EVENT, 204: None},
    )
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """Tell a run's events as they come."""
        after = _cursor(request)
        run = run_head(run_id)
        if after is not None and _is_all_told(run, after):
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        if STATE.is_draining or is_full():
            raise TryLater("This process takes no further streams.", seconds=LATER_SECONDS)
        listening = Listening(
            run_id=run.id,
            correlation_id=run.correlation_id,
            after=after or 0,
            with_words=may_read_words(request),
            rights_now=lambda: self._rights(request),
        )
        if request.method == "GET" and not hand_over(
            request._request, lambda: tell_events(listening)
        ):
            raise TryLater("This server cannot stream.", seconds=LATER_SECONDS)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return HttpResponse(content_type=EVENT_STREAM, headers=headers)

    def _rights(self, request: Request) -> Rights:
        now = self.asked_again(request)
        return Rights(
            may_listen=now is not None, with_words=now is not None and may_read_words(now)
        )


def _cursor(request: Request) -> int | None:
    """Return the number after which to tell, None where none is named. Raises `BadInput`."""
    asked = once_each(request.query_params)
    check_names(asked, ("cursor",))
    text = request.headers.get("Last-Event-ID", asked.get("cursor"))
    if text is None:
        return None
    if not NUMBER.fullmatch(text):
        raise BadInput("cursor and Last-Event-ID want the number of an event, in digits")
    return int(text)


def _is_all_told(run: Run, after: int) -> bool:
    """Whether the run has ended, so that nothing will follow what was told."""
    if not run.is_ended:
        return False
    count = EventHead.objects.filter(correlation_id=run.correlation_id).values_list(
        "count", flat=True
    )
    return after >= (count.first() or 0)
