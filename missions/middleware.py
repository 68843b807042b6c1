"""Each request gets a request id and, where the client named one, a mission."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from liyagent.core.client_address import client_address
from liyagent.core.logs import REQUEST_ID, log_context
from liyagent.core.traceparent import TRACEPARENT, clean_traceparent
from missions.carry import BAGGAGE_HEADER, MISSION_HEADER, mission_named
from missions.context import Stamp, stamped
from missions.names import clean_mission

REQUEST_HEADER = "X-Request-ID"


class MissionMiddleware:
    """Reads the headers by the mission's rule and answers with what it took (MI-01, ruling 41).

    A value that does not fit is dropped: the request id is then our own, the mission that of the baggage or none. A header
    sent twice reaches us joined by a comma and does not fit. First of the middleware, so that every answer, also a refusal
    of a later one, bears its request id. Nothing else of the baggage goes any further.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request under its stamp."""
        stamp = stamp_of(request)
        # For lines that Django logs about the request after we have answered.
        request.META[REQUEST_ID] = stamp.request_id
        with stamped(stamp), log_context(request_id=stamp.request_id):
            response = self.get_response(request)
        response[REQUEST_HEADER] = stamp.request_id
        if stamp.mission:
            response[MISSION_HEADER] = stamp.mission
        return response


def stamp_of(request: HttpRequest) -> Stamp:
    """Return the ids that a request names, or ours, and who sent it."""
    headers = request.headers
    return Stamp(
        request_id=clean_mission(headers.get(REQUEST_HEADER)) or str(uuid.uuid4()),
        mission=mission_named(headers.get(MISSION_HEADER), headers.get(BAGGAGE_HEADER)),
        address=client_address(request.META),
        traceparent=clean_traceparent(headers.get(TRACEPARENT)),
    )
