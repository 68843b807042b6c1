"""Web addresses, each a document: fetched by the guarded client, never led elsewhere (ruling 35)."""

from __future__ import annotations

import time
from http import HTTPStatus

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.outbound import guarded_client
from liyagent.jobs.sources.errors import Gone, Unreadable
from liyagent.jobs.sources.origin import Content
from liyagent.jobs.sources.text import MOST_BYTES

SECONDS, LONGEST_SECONDS = 15.0, 60.0
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
HTML = ("text/html", "application/xhtml+xml")
PLAIN = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")


class Addresses:
    """The addresses that the source names."""

    def __init__(self, urls: list[str]) -> None:
        """One client for all of them."""
        self._urls = urls
        self._client = guarded_client(timeout_seconds=SECONDS, headers={"Accept": "text/html, text/*, application/json"})  # fmt: skip

    def paths(self) -> list[str]:
        """Return the addresses in order."""
        return sorted(self._urls)

    def read(self, path: str) -> Content:
        """Return what stands at an address. Raises `Unreadable`, and `Gone` for 404 and 410."""
        try:
            with self._client.stream("GET", path) as answer:
                _check(answer)
                content = _bounded(answer)
                kind = _type_of(answer)
        except ForbiddenAddress as error:
            raise Unreadable(f"may not be fetched: {error}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unreadable(f"cannot be fetched: {type(error).__name__}") from None
        return Content(content=content, is_html=kind in HTML, title=path)


def _check(answer: httpx2.Response) -> None:
    status = answer.status_code
    if status in GONE:
        raise Gone
    if answer.is_redirect:
        raise Unreadable(
            f"leads to {answer.headers.get('location', '')[:100]!r}; name that address instead"
        )
    if status != HTTPStatus.OK:
        raise Unreadable(f"answered with HTTP status {status}")
    kind = _type_of(answer)
    if kind not in HTML and not kind.startswith(PLAIN):
        raise Unreadable(f"is no text, but {kind[:60]!r}")


def _type_of(answer: httpx2.Response) -> str:
    told: str = answer.headers.get("content-type", "text/plain")
    return told.partition(";")[0].strip().lower()


def _bounded(answer: httpx2.Response) -> bytes:
    until = time.monotonic() + LONGEST_SECONDS
    parts, size = [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise Unreadable(f"has more than {MOST_BYTES} bytes")
        if time.monotonic() > until:
            raise Unreadable(f"takes longer than {LONGEST_SECONDS:g} s")
    return b"".join(parts)
