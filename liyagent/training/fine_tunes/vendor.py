"""An OpenAI-compatible endpoint as fine-tuning asks it: files and jobs, each request made once, answers told by what they prove."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput
from liyagent.core.outbound import guarded_client
from liyagent.core.plain import NotStorable, parse_json
from liyagent.providers.openai import OPENAI_URL
from liyagent.providers.shapes import excerpt
from liyagent.training.fine_tunes.errors import Busy, NotSent, Refused, Unclear

JOBS = "/fine_tuning/jobs"
CONNECT_SECONDS, ANSWER_SECONDS, UPLOAD_SECONDS = 10.0, 30.0, 300.0
MOST_ANSWER_BYTES = 4 << 20
# Newest first: what is looked for is young.
PAGE, MOST_PAGES = 100, 20
# An id becomes a piece of an address.
ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.:~-]{0,199}")
BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY)

MayLeave = Callable[[], None]


class Vendor:
    """One endpoint with one key, named as an agent names them. Nothing is retried here."""

    def __init__(self, *, base_url: str, api_key_env: str, may_leave: MayLeave) -> None:
        """`may_leave` is called right before the first byte of a request that writes; what it raises stops it."""
        self._base = (base_url or OPENAI_URL).rstrip("/")
        self._key_env = api_key_env
        self._may_leave = may_leave
        self._has_left = False

    def upload(self, name: str, content: bytes) -> str:
        """Upload a file of examples and return its id. Raises `NotSent`, `Refused`, `Busy`, `Unclear`."""
        files = {"file": (name, content, "application/jsonl")}
        said = self._write("/files", UPLOAD_SECONDS, files=files, data={"purpose": "fine-tune"})
        return id_of(said)

    def create(self, body: dict[str, Any]) -> str:
        """Create a fine-tuning job and return its id. Raises as `upload`."""
        return id_of(self._write(JOBS, ANSWER_SECONDS, json=body))

    def cancel(self, job_id: str) -> None:
        """Cancel a job; one that has ended is refused. Raises as `upload`."""
        self._write(f"{JOBS}/{job_id}/cancel", ANSWER_SECONDS, json={})

    def delete_file(self, file_id: str) -> None:
        """Have a file deleted; one that is gone is no matter. Raises as `upload`."""
        with self._client(self._leaving) as client:
            self._has_left = False
            request = client.build_request("DELETE", f"{self._base}/files/{file_id}", timeout=_patience(ANSWER_SECONDS))  # fmt: skip
            with suppress(Refused):
                self._said(client, request)

    def job(self, job_id: str) -> dict[str, Any]:
        """Return a job as it stands. Raises `NotSent`, `Refused`, `Busy`, `Unclear`."""
        return self._read(f"{JOBS}/{job_id}", {})

    def files(self) -> Iterator[dict[str, Any]]:
        """Yield the files, the newest 2,000."""
        yield from self._listed("/files", {"purpose": "fine-tune", "order": "desc"})

    def jobs(self) -> Iterator[dict[str, Any]]:
        """Yield the jobs, the newest 2,000."""
        yield from self._listed(JOBS, {})

    def _listed(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = self._read(path, {**query, **after, "limit": str(PAGE)})
            rows = page.get("data")
            if not isinstance(rows, list):
                raise Unclear(f"{path} lists nothing: {excerpt(page)}")
            found = [it for it in rows if isinstance(it, dict)]
            yield from found
            if not page.get("has_more") or not found:
                return
            after = {"after": str(found[-1].get("id", ""))}
        raise Unclear(f"{path} lists more than {PAGE * MOST_PAGES}")

    def _read(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        with self._client() as client:
            return self._said(client, client.build_request("GET", f"{self._base}{path}", params=query, timeout=_patience(ANSWER_SECONDS)))  # fmt: skip

    def _write(self, path: str, seconds: float, **body: Any) -> dict[str, Any]:
        with self._client(self._leaving) as client:
            self._has_left = False
            return self._said(client, client.build_request("POST", f"{self._base}{path}", timeout=_patience(seconds), **body))  # fmt: skip

    def _leaving(self, _request: httpx2.Request) -> None:
        self._may_leave()
        self._has_left = True

    def _client(self, before_send: Callable[[httpx2.Request], None] | None = None) -> httpx2.Client:
        try:
            key = read_secret(self._key_env) if self._key_env else ""
        except BadInput as error:
            raise NotSent(str(error)) from None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return guarded_client(before_send=before_send, headers=headers)

    def _said(self, client: httpx2.Client, request: httpx2.Request) -> dict[str, Any]:
        is_write = request.method != "GET"
        try:
            answer = client.send(request, stream=True)
            try:
                content = _bounded(answer)
            finally:
                answer.close()
        except ForbiddenAddress as error:
            raise Refused(f"the endpoint may not be called: {error}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            told = f"{request.url.path}: {type(error).__name__}: {excerpt(str(error))}"
            raise (Unclear if not is_write or self._has_left else NotSent)(told) from None
        return _read_answer(answer, content, path=request.url.path)


def _read_answer(answer: httpx2.Response, content: bytes, *, path: str) -> dict[str, Any]:
    status = answer.status_code
    told = f"{path} answered {status}: {excerpt(content.decode(errors='replace'))}"
    if status in BUSY:
        raise Busy(told)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        raise Unclear(told)
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        raise Refused(told)
    try:
        said = parse_json(content, limit_bytes=MOST_ANSWER_BYTES)
    except NotStorable:
        said = None
    if not isinstance(said, dict):
        raise Unclear(told)
    return said


def _bounded(answer: httpx2.Response) -> bytes:
    parts, size = [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_ANSWER_BYTES:
            raise Unclear(f"an answer has more than {MOST_ANSWER_BYTES} bytes")
    return b"".join(parts)


def id_of(said: dict[str, Any]) -> str:
    """Return the id that an answer names, fit to stand in an address. Raises `Unclear`."""
    found = said.get("id")
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise Unclear(f"an answer names no id that can be used: {excerpt(said)}")
    return found


def _patience(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=CONNECT_SECONDS)
