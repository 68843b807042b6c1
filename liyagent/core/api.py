"""Every error of the API as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from liyagent.core.errors import LiyagentError
from liyagent.core.logs import without_secrets
from liyagent.core.plain import json_bytes
from liyagent.core.problems import PROBLEM, BodyTooLarge, problem_of, problem_response

logger = logging.getLogger(__name__)

API_PATHS = ("/api/", "/a2a/", "/hooks/", "/health/")


class TryLater(exceptions.APIException):
    """This process cannot take it on now; `Retry-After` says when to ask again."""

    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    default_detail = "This process cannot take it on now."
    default_code = "busy"

    def __init__(self, detail: str, *, seconds: int) -> None:
        """`seconds`: what `Retry-After` says."""
        super().__init__(detail)
        self.wait = seconds


# Of DRF's own codes, those that would not read well.
CODES: Mapping[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.NotAuthenticated: ("auth.missing", "This needs an API key or a session."),
    exceptions.AuthenticationFailed: ("auth.failed", "The API key or session is not accepted."),
    exceptions.PermissionDenied: ("permission.denied", "You lack the permission this needs."),
    exceptions.NotFound: ("not_found", "No such thing, or not for you."),
    exceptions.MethodNotAllowed: ("method.not_allowed", "This address does not know the method."),
    exceptions.UnsupportedMediaType: ("body.media_type", "The body must be application/json."),
    exceptions.ParseError: ("body.bad", "The body cannot be read."),
    exceptions.ValidationError: ("input.bad", "What was given cannot be used."),
    exceptions.Throttled: ("throttled", "Too many requests."),
    TryLater: ("busy", "This process cannot take it on now; ask again later."),
}


def handle_exception(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every error becomes a problem; the unexpected ones are logged, not shown."""
    set_rollback()
    headers: dict[str, str] = {}
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, RequestDataTooBig):
        error = BodyTooLarge()
    if isinstance(error, exceptions.APIException):
        problem, headers = _of_drf(error), _headers(error)
    elif isinstance(error, LiyagentError) and (
        error.http_status < HTTPStatus.INTERNAL_SERVER_ERROR
        or error.http_status == HTTPStatus.SERVICE_UNAVAILABLE
    ):
        problem = _of_ours(error)
    elif isinstance(error, SuspiciousOperation):
        problem = _cannot_be_used(error)
    else:
        problem = _unexpected(error, context["request"].path)
    return Response(problem, status=problem["status"], headers=headers, content_type=PROBLEM)


def _of_ours(error: LiyagentError) -> dict[str, Any]:
    return problem_of(
        status=error.http_status,
        code=error.code,
        title=error.title,
        detail=error.detail,
        facts={name: str(value) for name, value in error.facts.items()},
        errors=error.errors,
    )


def _of_drf(error: exceptions.APIException) -> dict[str, Any]:
    code, title = CODES.get(type(error), ("request.refused", str(error.default_detail)))
    if isinstance(error, exceptions.ValidationError):
        errors = list(_field_errors(error.detail))
        said = "; ".join(f"{it['field']}: {it['detail']}" for it in errors)
        return problem_of(
            status=error.status_code, code=code, title=title, detail=said, errors=errors
        )
    said = "" if error.detail == error.default_detail else str(error.detail)
    return problem_of(status=error.status_code, code=code, title=title, detail=said)


def _field_errors(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Yield each thing wrong with the path of its field, `body` for the whole."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            is_whole = name == "non_field_errors"
            yield from _field_errors(inner, path if is_whole else f"{path}.{name}".lstrip("."))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            yield from _field_errors(inner, f"{path}.{index}" if nested else path)
    else:
        yield {"field": path or "body", "detail": str(detail)}


def _headers(error: exceptions.APIException) -> dict[str, str]:
    challenge, wait = getattr(error, "auth_header", None), getattr(error, "wait", None)
    headers = {"WWW-Authenticate": str(challenge)} if challenge else {}
    return {**headers, "Retry-After": str(math.ceil(wait))} if wait else headers


def _cannot_be_used(error: Exception) -> dict[str, Any]:
    """Django's own refusals, such as of a thousand and one parameters."""
    return problem_of(
        status=HTTPStatus.BAD_REQUEST,
        code="request.bad",
        title="The request cannot be used.",
        detail=without_secrets(str(error)),
    )


def _unexpected(error: Exception, path: str) -> dict[str, Any]:
    logger.error("unexpected error at %s: %s", path, error, exc_info=error)
    return problem_of(
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        code="unexpected",
        title="Something went wrong here; the log names the request id.",
    )


def is_api(request: HttpRequest) -> bool:
    """Whether a request is answered in JSON."""
    return request.path.startswith(API_PATHS)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400."""
    if not is_api(request):
        return defaults.bad_request(request, exception)
    if isinstance(exception, RequestDataTooBig):
        return problem_response(
            status=BodyTooLarge.http_status, code=BodyTooLarge.code, title=BodyTooLarge().title
        )
    problem = _cannot_be_used(exception)
    return HttpResponse(json_bytes(problem), status=problem["status"], content_type=PROBLEM)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403."""
    if not is_api(request):
        return defaults.permission_denied(request, exception)
    code, title = CODES[exceptions.PermissionDenied]
    return problem_response(status=HTTPStatus.FORBIDDEN, code=code, title=title)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404."""
    if not is_api(request):
        return defaults.page_not_found(request, exception)
    code, title = CODES[exceptions.NotFound]
    return problem_response(status=HTTPStatus.NOT_FOUND, code=code, title=title)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; Django has logged the error."""
    if not is_api(request):
        return defaults.server_error(request)
    return problem_response(
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        code="unexpected",
        title="Something went wrong here; the log names the request id.",
    )
