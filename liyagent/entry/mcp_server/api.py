"""`/mcp`: who asks is judged as everywhere; the protocol is answered once Django has let go of the request."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotAcceptable, ParseError, UnsupportedMediaType
from rest_framework.request import Request

from liyagent.access.authentication import ApiKeyAuthentication
from liyagent.access.permissions import OPERATE, VIEW_RUN, holds, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.api import TryLater
from liyagent.core.bodies import StrictJSONParser
from liyagent.core.plain import json_bytes
from liyagent.entry.mcp_server.asked import Asked, Caller
from liyagent.entry.mcp_server.mount import hand_over_mcp
from missions.context import current_stamp

JSON, EVENTS = "application/json", "text/event-stream"
LATER_SECONDS = 5
NOT_PARSED, NO_REQUEST = -32700, -32600


@extend_schema(exclude=True)
class Endpoint(GuardedView):
    """`POST /mcp`: JSON-RPC 2.0 of the Model Context Protocol, by an API key whose user may operate agents.

    Refused before the protocol begins, as over the API: 401, 403, 405, 406, 413, 415, 429; 421 for a host that is not ours;
    400 with the protocol's own error for what is no JSON, or bears an id that no answer can. There are no sessions, so
    nothing to GET or DELETE.
    """

    authentication_classes = (ApiKeyAuthentication,)
    needs = {"POST": (OPERATE,)}

    def post(self, request: Request) -> HttpResponse:
        """Let the request in, made storable; its answer comes from `endpoint`."""
        _check_forms(request)
        try:
            body = StrictJSONParser().parse(io.BytesIO(request._request.body))
        except ParseError as error:
            return _refused(NOT_PARSED, f"Parse error: {error.detail}")
        if not _has_answerable_id(body):
            return _refused(NO_REQUEST, "Invalid Request: its id wants a string or a whole number")
        asked = Asked(
            caller=_caller(request),
            stamp=current_stamp(),
            caller_now=lambda: self._caller_now(request),
        )
        if not hand_over_mcp(request._request, asked, json_bytes(body)):
            raise TryLater("This server does not speak MCP.", seconds=LATER_SECONDS)
        return HttpResponse()

    def _caller_now(self, request: Request) -> Caller | None:
        fresh = self.asked_again(request)
        return None if fresh is None else _caller(fresh)


def _caller(request: Request) -> Caller:
    return Caller(
        username=request.user.get_username(),
        sees_all=holds(request, VIEW_RUN),
        reads_words=may_read_words(request),
    )


def _check_forms(request: Request) -> None:
    """Raise `UnsupportedMediaType` for a body that says it is no JSON, `NotAcceptable` for who takes no answer of ours."""
    if _form(request.content_type) != JSON:
        raise UnsupportedMediaType(request.content_type)
    taken = {_form(it) for it in request.headers.get("Accept", "").split(",")}
    if not (taken & {JSON, "application/*", "*/*"} and taken & {EVENTS, "text/*", "*/*"}):
        raise NotAcceptable


def _form(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _has_answerable_id(body: Any) -> bool:
    """Whether a request, if it is one, can be answered by its id: with any other it would pass for a notification."""
    if not isinstance(body, dict) or "method" not in body or "id" not in body:
        return True
    return isinstance(body["id"], str | int) and not isinstance(body["id"], bool)


def _refused(code: int, why: str) -> HttpResponse:
    told = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}}
    return HttpResponse(json_bytes(told), content_type=JSON, status=HTTPStatus.BAD_REQUEST)
