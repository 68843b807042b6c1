"""What an endpoint's failure means for the step: ask again later, or tell a person what to do."""

from __future__ import annotations

import math
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.plain import NotStorable, parse_json
from liyagent.providers.shapes import excerpt
from liyagent.providers.types import ModelRejected, ModelUnavailable

# Beside every 5xx: asked again later, these may well be answered.
LATER = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
ADVICE: dict[int, str] = {
    400: "the endpoint does not take this request",
    401: "the endpoint does not take the key; check the variable named by api_key_env",
    402: "the account has no credit left",
    403: "the key may not use this model; check its rights",
    404: "there is no such model or URL; check model, and that base_url ends before {path}",
    413: "the conversation is too large for the endpoint",
    422: "the endpoint does not take this request",
}
# How an error in an answer of status 200, or in a stream, calls what a status would say.
STATUS_OF_TYPE: dict[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}
MOST_WAIT_SECONDS = 3_600.0

EndpointError = ModelRejected | ModelUnavailable


def from_status(response: httpx2.Response, *, model: str, path: str) -> EndpointError:
    """Return the error of an answer that was no success, with the endpoint's own words.

    `path` is what the client puts behind base_url.
    """
    status = response.status_code
    said = _words(response)
    if status in LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable(
            f"the model endpoint answered {status}: {said}",
            retry_after_seconds=retry_after(response.headers),
            status=status,
        )
    if response.is_redirect:
        target = excerpt(response.headers.get("location", ""))
        return ModelRejected(
            f"the endpoint moved to {target}; redirects are not followed, set base_url",
            status=status,
        )
    advice = ADVICE.get(status, ADVICE[400]).format(path=path)
    return ModelRejected(
        f"{advice} (status {status}, model {model!r}). It said: {said}", status=status
    )


def from_error_body(error: Any, *, path: str) -> EndpointError:
    """Return the error that an endpoint put into an answer of status 200, or into a stream."""
    named = error if isinstance(error, dict) else {}
    code = named.get("code")
    if type(code) is not int:
        kinds = [it for it in (code, named.get("type")) if isinstance(it, str)]
        code = next((STATUS_OF_TYPE[it] for it in kinds if it in STATUS_OF_TYPE), 0)
    said = excerpt(named.get("message") or error)
    if 400 <= code < 500 and code not in LATER:
        advice = ADVICE.get(code, ADVICE[400]).format(path=path)
        return ModelRejected(f"{advice} (code {code}). It said: {said}", status=code)
    return ModelUnavailable(f"the model endpoint answered with an error: {said}", status=code)


def from_connection(error: BaseException) -> EndpointError:
    """Return the error of a request that got no answer."""
    if isinstance(error, ForbiddenAddress):
        return ModelRejected(f"base_url: {error}")
    if isinstance(
        error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError
    ):
        return ModelRejected(f"the request cannot be made; check base_url and the key: {error}")
    advice = ""
    if isinstance(error, httpx2.ConnectError):
        advice = "; check base_url, and that the endpoint runs and can be reached from here"
    if any(isinstance(it, ssl.SSLCertVerificationError) for it in _causes(error)):
        advice = "; its certificate is not trusted here: check the host in base_url"
    elif any(isinstance(it, ssl.SSLError) for it in _causes(error)):
        advice = "; no TLS there: check http or https and the port in base_url"
    return ModelUnavailable(f"the model endpoint cannot be reached: {excerpt(str(error))}{advice}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def retry_after(headers: httpx2.Headers) -> float | None:
    """Return the endpoint's wish in seconds, from `retry-after-ms` or `retry-after` (seconds or a date)."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = headers.get("retry-after", "")
    seconds = _number(text)
    return _until(text) if seconds is None else _bounded(seconds)


def _words(response: httpx2.Response) -> str:
    try:
        body = parse_json(response.content)
    except NotStorable:
        return excerpt(response.text)
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return excerpt(message or error)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _bounded((moment - datetime.now(UTC)).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), MOST_WAIT_SECONDS)
