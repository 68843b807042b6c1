"""What an endpoint's failure means for the step: ask again later, or tell a person what to do."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.plain import NotStorable, parse_json
from liyagent.providers.openai_wire import excerpt
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
    404: "there is no such model or URL; check model, and that base_url ends before /chat/completions",
    413: "the conversation is too large for the endpoint",
    422: "the endpoint does not take this request",
}
MOST_WAIT_SECONDS = 3_600.0

EndpointError = ModelRejected | ModelUnavailable


def from_status(response: httpx2.Response, *, model: str) -> EndpointError:
    """Return the error of an answer that was no success, with the endpoint's own words."""
    status = response.status_code
    said = _words(response)
    if status in LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable(
            f"the model endpoint answered {status}: {said}",
            retry_after_seconds=retry_after(response.headers),
        )
    if response.is_redirect:
        target = excerpt(response.headers.get("location", ""))
        return ModelRejected(
            f"the endpoint moved to {target}; redirects are not followed, set base_url"
        )
    advice = ADVICE.get(status, "the endpoint does not take this request")
    return ModelRejected(f"{advice} (status {status}, model {model!r}). It said: {said}")


def from_error_body(error: Any) -> EndpointError:
    """Return the error that an endpoint put into an answer of status 200."""
    code = error.get("code") if isinstance(error, dict) else None
    said = excerpt(error.get("message") or error if isinstance(error, dict) else error)
    if isinstance(code, int) and 400 <= code < 500 and code not in LATER:
        return ModelRejected(f"{ADVICE.get(code, ADVICE[400])} (code {code}). It said: {said}")
    return ModelUnavailable(f"the model endpoint answered with an error: {said}")


def from_connection(error: BaseException) -> EndpointError:
    """Return the error of a request that got no answer."""
    if isinstance(error, ForbiddenAddress):
        return ModelRejected(f"base_url: {error}")
    if isinstance(
        error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError
    ):
        return ModelRejected(f"the request cannot be made; check base_url and the key: {error}")
    return ModelUnavailable(f"the model endpoint cannot be reached: {excerpt(str(error))}")


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
