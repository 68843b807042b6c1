"""`/a2a/{agent}` and the agent's card."""

from __future__ import annotations

import io
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.authentication import ApiKeyAuthentication
from liyagent.access.permissions import DECIDE, OPERATE, VIEW_RUN, holds, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.api import TryLater
from liyagent.core.bodies import StrictJSONParser
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes
from liyagent.core.streams import hand_over
from liyagent.entry.a2a.caller import Asked, Caller
from liyagent.entry.a2a.card import card_of, open_agent
from liyagent.entry.a2a.errors import (
    BadParams,
    Inside,
    NotARequest,
    NotParsed,
    RpcError,
    UnknownMethod,
    WrongVersion,
    error_told,
)
from liyagent.entry.a2a.methods import METHODS, Method, Reply
from liyagent.entry.a2a.wire import Version
from missions.context import current_stamp
from runs.stream import Rights

JSON, EVENT_STREAM = "application/json", "text/event-stream"
VERSION_HEADER = "A2A-Version"
LATER_SECONDS = 5
LONGEST_RPC_ID = 255
LONGEST_NUMBER = 18
METHODS_BY_NAME: Mapping[str, tuple[Version, Method]] = {
    name: (version, method) for version, known in METHODS.items() for name, method in known.items()
}


@extend_schema(exclude=True)
class Card(GuardedView):
    """`GET /a2a/{agent}/.well-known/agent-card.json`, for anybody; 404 for an agent that is not open to other agents."""

    # Open to anybody (ruling 36): a caller reads it to learn how to log in.
    authentication_classes = ()
    permission_classes = ()
    needs = {"GET": ()}

    def get(self, request: Request, agent: str) -> Response:
        """Show the card."""
        card = card_of(open_agent(agent), url=_address(request, agent))
        return Response(card, headers={"Cache-Control": "no-cache"})


@extend_schema(exclude=True)
class Endpoint(GuardedView):
    """`POST /a2a/{agent}`: JSON-RPC 2.0, by an API key whose user may operate agents.

    Refused before the protocol begins, as over the API: 401, 403, 404 (no such agent, or not open), 413, 429, 503. All else
    is answered with 200, errors of the protocol too.
    """

    authentication_classes = (ApiKeyAuthentication,)
    needs = {"POST": (OPERATE,)}

    def post(self, request: Request, agent: str) -> HttpResponse:
        """Carry out one request of the protocol."""
        open_agent(agent)
        version, rpc_id = Version.V10, None
        try:
            body = _body(request)
            rpc_id = _rpc_id(body)
            version, method = _method(request, body)
            asked = self._asked(request, agent, version, rpc_id, body)
            return self._answered(request, asked, method(asked))
        except RpcError as error:
            return _refused(rpc_id, error, version)
        except LiyagentError as error:
            if error.http_status == HTTPStatus.SERVICE_UNAVAILABLE:
                raise TryLater(error.title, seconds=LATER_SECONDS) from error
            return _refused(rpc_id, Inside(error.title, code=error.code), version)
        except (DatabaseError, InterfaceError) as error:
            raise TryLater("The database is away.", seconds=LATER_SECONDS) from error

    def _asked(
        self,
        request: Request,
        agent: str,
        version: Version,
        rpc_id: str | int | None,
        body: Mapping[str, Any],
    ) -> Asked:
        params = body.get("params", {})
        if not isinstance(params, dict):
            raise BadParams("params wants an object")
        stamp = current_stamp()
        return Asked(
            agent_key=agent,
            caller=_caller(request),
            version=version,
            rpc_id=rpc_id,
            params=params,
            mission=stamp.mission,
            request_id=stamp.request_id,
            traceparent=request.headers.get("traceparent", ""),
            last_event=_last_event(request),
            rights_now=lambda: self._rights(request),
            base_url=_address(request, agent),
        )

    def _rights(self, request: Request) -> Rights:
        return Rights(may_listen=self.asked_again(request) is not None, with_words=False)

    def _answered(self, request: Request, asked: Asked, reply: Reply) -> HttpResponse:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        if reply.is_stream:
            if reply.source is None or not hand_over(request._request, reply.source):
                raise TryLater("This server cannot stream.", seconds=LATER_SECONDS)
            return HttpResponse(content_type=EVENT_STREAM, headers=headers)
        if reply.source is not None and hand_over(request._request, reply.source):
            return HttpResponse(content_type=JSON, headers=headers)
        result = reply.now() if reply.now else reply.result
        told = {"jsonrpc": "2.0", "id": asked.rpc_id, "result": result}
        return HttpResponse(json_bytes(told), content_type=JSON, headers=headers)


def _body(request: Request) -> dict[str, Any]:
    """Return the request as it came, made storable. Raises `NotParsed`, `NotARequest`."""
    try:
        body = StrictJSONParser().parse(io.BytesIO(request._request.body))
    except ParseError as error:
        raise NotParsed(str(error.detail)) from None
    if isinstance(body, list):
        raise NotARequest("Batches are not taken.")
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise NotARequest('It wants an object with "jsonrpc": "2.0".')
    return body


def _rpc_id(body: Mapping[str, Any]) -> str | int | None:
    rpc_id = body.get("id")
    is_id = isinstance(rpc_id, str | int) and not isinstance(rpc_id, bool)
    if not is_id or len(str(rpc_id)) > LONGEST_RPC_ID:
        raise NotARequest("id wants text or a whole number: the protocol has no notifications.")
    return rpc_id


def _method(request: Request, body: Mapping[str, Any]) -> tuple[Version, Method]:
    """Return the method and the version whose name it is; where the request names a version, it has to be that one."""
    name = body.get("method")
    if not isinstance(name, str) or not name:
        raise NotARequest("method is missing.")
    named = request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER) or ""
    wanted = _version(named.strip()) if named.strip() else None
    if name not in METHODS_BY_NAME:
        raise UnknownMethod(f"There is no {name[:100]!r}.")
    version, method = METHODS_BY_NAME[name]
    if wanted not in (None, version):
        raise WrongVersion(f"{name} is a name of {version.value}, and not of {wanted}.")
    return version, method


def _version(named: str) -> Version:
    """Return the version that a header names, its patch aside."""
    short = ".".join(named.split(".")[:2])
    if short not in set(Version):
        raise WrongVersion(f"{named[:40]!r} is not spoken here; 1.0 and 0.3 are.")
    return Version(short)


def _caller(request: Request) -> Caller:
    return Caller(
        username=request.user.get_username(),
        sees_all=holds(request, VIEW_RUN),
        reads_words=may_read_words(request),
        decides=holds(request, DECIDE),
    )


def _last_event(request: Request) -> int | None:
    """Return the number of the event that a caller saw last; what is no number counts as none."""
    text = request.headers.get("Last-Event-ID", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return int(text) if is_number else None


def _address(request: Request, agent: str) -> str:
    """Return where the agent is asked: below LIYAGENT_PUBLIC_URL, else below what the request named."""
    path = reverse("a2a-endpoint", args=[agent])
    origin = settings.LIYAGENT.public_url
    return f"{origin}{path}" if origin else str(request._request.build_absolute_uri(path))


def _refused(rpc_id: str | int | None, error: RpcError, version: Version) -> HttpResponse:
    told = error_told(error, with_info=version is Version.V10)
    return HttpResponse(
        json_bytes({"jsonrpc": "2.0", "id": rpc_id, "error": told}), content_type=JSON
    )
