"""A query that no database takes is refused before any page looks at it."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


class StorableQueryMiddleware:
    """Answers 400 where a query holds U+0000, on which every filter of a list would fail."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("the query holds U+0000 (%00), which nothing here contains")
        return self.get_response(request)
