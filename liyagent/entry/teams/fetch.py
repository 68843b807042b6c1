"""Ask the cloud: JSON from an address that a row holds, through the guarded client, within bounds of time and size."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_client
from liyagent.core.plain import NotStorable, parse_json

MOST_BYTES = 1 << 20
BEFORE = "liyagent.before_send"
AGENT = "Liyagent-Teams"
_of_thread = threading.local()


class FetchFailed(LiyagentError):
    """The other end could not be asked. `has_left`: bytes of the request may have reached it."""

    code = "teams.fetch_failed"

    def __init__(self, detail: str, *, has_left: bool) -> None:
        """Keep both."""
        super().__init__(detail)
        self.has_left = has_left


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came back; `said` is empty where the body is no JSON object."""

    status: int
    said: dict[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def fetch(
    method: str,
    url: str,
    *,
    seconds: float,
    before_send: Callable[[], None] | None = None,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    form: Mapping[str, str] | None = None,
) -> Fetched:
    """Send one request and read its answer, all within `seconds` once it has left; no redirect is followed.

    `before_send` is called right before the first byte; what it raises is raised. Raises `FetchFailed`.
    """
    has_left = False

    def before() -> None:
        nonlocal has_left
        if before_send is not None:
            before_send()
        has_left = True

    try:
        client = _client()
        request = client.build_request(
            method, url, headers=dict(headers or {}), json=json, data=form,
            timeout=seconds, extensions={BEFORE: before},
        )  # fmt: skip
        until = time.monotonic() + seconds
        answer = client.send(request, stream=True, follow_redirects=False)
        try:
            return Fetched(
                status=answer.status_code, said=_said(answer, until), headers=answer.headers
            )
        finally:
            answer.close()
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise FetchFailed(f"{type(error).__name__}: {error}", has_left=has_left) from error


def _client() -> httpx2.Client:
    """One for each thread: its connections stay open from one request to the next."""
    found = getattr(_of_thread, "client", None)
    if found is None:
        found = guarded_client(before_send=_before, headers={"user-agent": AGENT})
        _of_thread.client = found
    return cast("httpx2.Client", found)


def _before(request: httpx2.Request) -> None:
    request.extensions[BEFORE]()


def _said(answer: httpx2.Response, until: float) -> dict[str, Any]:
    body = b""
    for part in answer.iter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            return {}
        if time.monotonic() > until:
            raise httpx2.ReadTimeout("the answer took too long")
    try:
        said = parse_json(body)
    except NotStorable:
        return {}
    return said if isinstance(said, dict) else {}
